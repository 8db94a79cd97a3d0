"""Run every check of the project, stage by stage: ``python -m tests [STAGE ...]``.

The first stage that fails ends the run; the last line printed says what passed, with counts.
The stage ``quick`` stands by itself: a verdict within a minute on what was changed since the last
commit.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

from tests import NOTEBOOKS, ROOT, changes

NBVAL_OPTIONS = [
    "--nbval",
    "--nbval-current-env",  # this Python, whatever kernel the notebook was saved with
    f"--nbval-sanitize-with={ROOT / 'tests' / 'nbval_sanitize.cfg'}",
    "--nbval-cell-timeout=300",  # a hang guard, not a speed limit
]
# On all cores, each with the next test as it gets free; a notebook or a page stays whole.
IN_PARALLEL = ["-n", "auto", "--dist", "worksteal"]
NOTEBOOKS_IN_PARALLEL = ["-n", "auto", "--dist", "loadfile"]
PAGES_IN_PARALLEL = ["-n", "auto", "--dist", "loadgroup"]
# A port nobody listens on: a notebook that reaches for the network fails here, not at a reader's.
PROXIES = ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"]
NO_NETWORK = dict.fromkeys(PROXIES, "http://127.0.0.1:9")


class StageFailed(Exception):
    """A stage's command ended with an exit code that is not 0."""


def python(*arguments: str, **environment: str) -> None:
    """Run this Python with the arguments, output streaming through; raise if it fails."""
    command = [sys.executable, *arguments]
    print("+ python", *arguments, flush=True)
    # UTF-8 mode: without it Windows reads and prints the Chinese in its old code page.
    env = os.environ | {"PYTHONUTF8": "1"} | environment
    if code := subprocess.run(command, cwd=ROOT, env=env).returncode:
        raise StageFailed(f"exit code {code} from: python {' '.join(arguments)}")


def pytest(*arguments: str, **environment: str) -> int:
    """Run pytest, say why tests were skipped, and return how many passed."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "junit.xml"
        options = ["-q", "-rs", f"--junitxml={report}", "-o", "junit_family=xunit1"]
        python("-m", "pytest", *options, *arguments, **environment)
        suites = ElementTree.parse(report).getroot().iter("testsuite")
        return sum(int(s.get("tests", 0)) - int(s.get("skipped", 0)) for s in suites)


def lint() -> str:
    python("-m", "ruff", "check", ".")
    python("-m", "ruff", "format", "--check", ".")
    return "lint"


def unit() -> str:
    return f"pytest {pytest(*IN_PARALLEL, 'tests', '--ignore=tests/site')}"


def nbval(notebooks: list[Path] = NOTEBOOKS) -> str:
    paths = [str(path.relative_to(ROOT)) for path in notebooks]
    # After a failed setup cell every cell fails; ten are enough to see it.
    options = [*NBVAL_OPTIONS, *NOTEBOOKS_IN_PARALLEL, "--maxfail=10"]
    return f"nbval {pytest(*options, *paths, **NO_NETWORK)} cells"


def build() -> str:
    python("book/build.py")
    return "build en zh-tw"


def site() -> str:
    return f"site {pytest(*PAGES_IN_PARALLEL, 'tests/site')}"


def quick() -> str:
    """Lint, the library's quick tests, and the exercises and notebooks that were changed."""
    changed = changes.since_last_commit()
    exercises, notebooks = changes.exercises(changed), changes.notebooks(changed)
    lint()
    tests = pytest(
        *IN_PARALLEL, "tests", "--ignore=tests/site", "-m", "not slow",
        f"--only-exercises={','.join(exercises)}",
    )  # fmt: skip
    passed = f"quick: lint · pytest {tests} · exercises: {', '.join(exercises) or 'none changed'}"
    passed += f" · {nbval(notebooks)}" if notebooks else " · notebooks: none changed"
    return f"{passed}\nleft out: {changes.left_out(changed)}"


STAGES: dict[str, Callable[[], str]] = {
    "lint": lint,
    "pytest": unit,
    "nbval": nbval,
    "build": build,
    "site": site,
}
ALL = list(STAGES)
STAGES["quick"] = quick  # only where it is asked for


def main() -> int:
    """Run the stages asked for (all of them by default) and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests", description=__doc__)
    parser.add_argument("stage", nargs="*", help=f"one or more of {', '.join(STAGES)}")
    names = parser.parse_args().stage or ALL
    if unknown := [name for name in names if name not in STAGES]:
        parser.error(f"no stage is called {unknown[0]!r}; the stages are {', '.join(STAGES)}")
    passed = []
    for name in names:
        print(f"== {name}", flush=True)
        start = time.perf_counter()
        try:
            passed.append(STAGES[name]())
        except StageFailed as failure:
            print(f"FAILED: {name} ({failure})")
            return 1
        print(f"== {name}: {time.perf_counter() - start:.0f} s", flush=True)
    print("passed:", " · ".join(passed))
    return 0


if __name__ == "__main__":
    sys.exit(main())
