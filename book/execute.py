"""Run notebooks and store their outputs, without clutter: `python book/execute.py [NOTEBOOK ...]`.

Without arguments it runs them all.
"""

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def execute(path: Path) -> None:
    """Run one notebook on a fresh kernel; it is written only if every cell succeeds."""
    notebook = nbformat.read(path, as_version=4)
    # What a cell prints in one go stays in one piece (coalesce_streams).
    options = {"timeout": 120, "record_timing": False, "coalesce_streams": True}
    resources = {"metadata": {"path": str(path.parent)}}
    NotebookClient(notebook, resources=resources, **options).execute()
    notebook.metadata = METADATA  # not the version of this machine's Python
    nbformat.write(notebook, path)


def main() -> None:
    for path in map(Path, sys.argv[1:] or sorted(NOTEBOOKS.glob("*.ipynb"))):
        print(path.name)
        execute(path)


if __name__ == "__main__":
    main()
