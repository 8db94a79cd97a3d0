"""Build the book in both languages from the one _config.yml: `python book/build.py`.

English goes to _build/html/, Traditional Chinese to _build/html/zh-tw/.
"""

import shutil
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from jupyter_book.sphinx import build_sphinx
from sphinx.util.console import color_terminal, nocolor

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "_build"
OUTPUT = {"en": BUILD / "html", "zh_TW": BUILD / "html" / "zh-tw"}


def build(language: str, outdir: Path, builder: str = "html") -> bool:
    """Run Sphinx once, warnings as errors; True if it succeeded."""
    if not color_terminal():
        nocolor()
    status = build_sphinx(
        ROOT,
        outdir,
        noconfig=True,
        path_config=ROOT / "_config.yml",
        confoverrides={
            "language": language,
            "external_toc_path": "_toc.yml",
            "latex_individualpages": False,
        },
        doctreedir=BUILD / f"doctrees-{builder}-{language}",
        builder=builder,
        freshenv=True,
        quiet=True,
        warningiserror=True,
        keep_going=True,
    )
    return status == 0


def main() -> int:
    shutil.rmtree(OUTPUT["en"], ignore_errors=True)
    with ProcessPoolExecutor() as pool:
        succeeded = dict(zip(OUTPUT, pool.map(build, OUTPUT, OUTPUT.values()), strict=True))
    for language, outdir in OUTPUT.items():
        place = (outdir / "index.html").as_uri()
        print(f"{language:6}", place if succeeded[language] else "FAILED, see the warnings above")
    return 0 if all(succeeded.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
