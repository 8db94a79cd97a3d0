"""The tests of the book: ``python -m tests`` runs them all, ``python -m tests nbval`` one stage."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
SITE = ROOT / "_build" / "html"
IN_CI = bool(os.environ.get("CI"))
