"""The project keeps its own rules: dependencies, layers, size of functions, nothing remote."""

import ast
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests import NOTEBOOKS, ROOT
from tests.markdown import tokens

LIBRARY = ROOT / "transformer_lib"
MODULES = sorted(LIBRARY.rglob("*.py"))
SOURCES = [
    *MODULES,
    *sorted((ROOT / "book").rglob("*.py")),
    *sorted((ROOT / "tests").rglob("*.py")),
]
MAX_FUNCTION_LINES = 40

PYPROJECT_TEXT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
PROJECT = tomllib.loads(PYPROJECT_TEXT)["project"]
DIRECT = [
    Requirement(line)
    for lines in [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]
    for line in lines
    if not line.startswith(PROJECT["name"])  # a group that includes another group
]
LOCK_TEXT = (ROOT / "requirements.txt").read_text(encoding="utf-8")
LOCK = [Requirement(line) for line in LOCK_TEXT.splitlines() if re.match("[A-Za-z]", line)]


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


# Dependencies


@pytest.mark.parametrize("requirement", DIRECT, ids=str)
def test_dependency_is_locked(requirement: Requirement) -> None:
    """The lock holds one version of it, and one that pyproject.toml allows."""
    name = canonicalize_name(requirement.name)
    locked = [r for r in LOCK if canonicalize_name(r.name) == name]
    assert locked, f"{requirement} is not in requirements.txt; run `make lock`"
    for pin in locked:
        (version,) = [specifier.version for specifier in pin.specifier]
        assert requirement.specifier.contains(version), f"{pin} is locked, {requirement} asked for"


def test_lock_is_exact_and_portable() -> None:
    """Every version exact; no address of an index; nothing that only a GPU needs."""
    loose = [str(r) for r in LOCK if [s.operator for s in r.specifier] != ["=="]]
    gpu_only = [r.name for r in LOCK if re.match("nvidia|triton|cuda", r.name)]
    assert (loose, gpu_only) == ([], [])
    assert not re.search(r"^-|://| @ ", LOCK_TEXT, re.MULTILINE)


@pytest.mark.parametrize("requirement", DIRECT, ids=str)
def test_dependency_says_why(requirement: Requirement) -> None:
    """A comment beside it, or on the line above."""
    lines = PYPROJECT_TEXT.splitlines()
    places = [i for i, line in enumerate(lines) if f'"{requirement.name}' in line.strip()[:60]]
    assert any("#" in lines[i] or lines[i - 1].strip().startswith("#") for i in places)


# Layers: formulas < PyTorch < what is for people; imports only go down


def layer(module: str) -> int:
    part = module.removeprefix("transformer_lib").strip(".").partition(".")[0]
    people = dict.fromkeys(("plots", "listing", "exercises", "commands", "__main__"), 3)
    return ({"formulas": 1} | people).get(part, 2)


def imported(path: Path) -> Iterator[str]:
    """The modules a file imports, anywhere in it."""
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name_of(path)}:{node.lineno}: import by the full name"
            yield node.module
            if node.module == "transformer_lib":
                yield from (f"transformer_lib.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_go_down(path: Path) -> None:
    own = layer(path.relative_to(ROOT).with_suffix("").as_posix().replace("/", "."))
    for module in imported(path):
        top = module.partition(".")[0]
        if top == "transformer_lib" and module != "transformer_lib":
            assert layer(module) <= own, f"{name_of(path)} must not import {module}"
        assert not (top == "matplotlib" and own < 3), f"{name_of(path)} must not import matplotlib"
        assert not (top == "torch" and own < 2), f"{name_of(path)} is NumPy only"


@pytest.mark.slow
def test_library_loads_without_matplotlib() -> None:
    """What is for people is loaded only when it is asked for."""
    program = "import sys, transformer_lib; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT).returncode == 0


# Functions


def definitions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    yield from (node for node in ast.walk(parse(path)) if isinstance(node, kinds))


def lines_of_code(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The lines a function takes, its docstring left aside."""
    docstring = function.body[0] if ast.get_docstring(function) else None
    spoken = docstring.end_lineno - docstring.lineno + 1 if docstring else 0
    return function.end_lineno - function.lineno + 1 - spoken


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_functions_are_short(path: Path) -> None:
    long = [
        f"{name_of(path)}:{node.lineno}: {node.name} has {lines} lines"
        for node in definitions(path)
        if not isinstance(node, ast.ClassDef)
        and (lines := lines_of_code(node)) > MAX_FUNCTION_LINES
    ]
    assert not long, "\n".join(long)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_public_names_are_documented(path: Path) -> None:
    """Every module; and each public function and class, but for the inside of the exercises."""
    tree = parse(path)
    assert ast.get_docstring(tree), f"{name_of(path)} does not say what it is for"
    public = [node for node in tree.body if not getattr(node, "name", "_").startswith("_")]
    silent = [f"{name_of(path)}:{n.lineno}: {n.name}" for n in public if not ast.get_docstring(n)]
    assert "exercises" in path.parts or not silent, "no docstring:\n" + "\n".join(silent)


# Files


def test_readme_commands_exist() -> None:
    """Each command a reader is told to type is one that this project has."""
    shells = ("sh", "bash", "console", "shell", "powershell")
    fences = [
        t for t in tokens((ROOT / "README.md").read_text(encoding="utf-8")) if t.info in shells
    ]
    commands = [shlex.split(line, comments=True) for t in fences for line in t.content.splitlines()]
    missing = [word for command in commands for word in missing_parts(command)]
    assert commands and not missing, f"README.md tells to use {missing}"


def missing_parts(command: list[str]) -> list[str]:
    """The make targets, Python modules and files of a command that do not exist."""
    match [Path(word).name if i == 0 else word for i, word in enumerate(command)]:
        case ["make", *words]:
            makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
            targets = [word for word in words if "=" not in word]
            return [t for t in targets if not re.search(rf"^{re.escape(t)}:", makefile, re.M)]
        case ["python" | "python3" | "py", "-m", module, *_]:
            return [] if find_spec(module) else [module]
        case ["python" | "python3" | "py" | "bash" | "pytest", path, *_]:
            return [] if (ROOT / path).exists() else [path]
    return []


def table_of_contents() -> list[str]:
    """Every document named in _toc.yml, at any depth."""
    text = (ROOT / "_toc.yml").read_text(encoding="utf-8")
    return re.findall(r"(?:file|root): *(\S+)", text)


@pytest.mark.parametrize("document", table_of_contents())
def test_contents_exist(document: str) -> None:
    assert any((ROOT / f"{document}{suffix}").exists() for suffix in (".md", ".ipynb"))


def test_every_notebook_is_in_the_contents() -> None:
    assert {f"notebooks/{path.stem}" for path in NOTEBOOKS} <= set(table_of_contents())


WORKFLOWS = sorted((ROOT / ".github").rglob("*.yml"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=name_of)
def test_workflow_uses_what_is_there(path: Path) -> None:
    """Valid YAML; the commands and the actions of our own that it calls exist."""
    steps = list(find_steps(yaml.safe_load(path.read_text(encoding="utf-8"))))
    lines = [line for step in steps for line in step.get("run", "").splitlines()]
    missing = [part for line in lines for part in missing_parts(shlex.split(line, comments=True))]
    own = [step["uses"] for step in steps if step.get("uses", "").startswith("./")]
    assert steps and not missing
    assert all((ROOT / action / "action.yml").is_file() for action in own)


def find_steps(value: object) -> Iterator[dict]:
    """The steps of a workflow or an action, wherever they stand in it."""
    if isinstance(value, dict):
        yield from value.get("steps", [])
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from find_steps(item)


def test_site_sources_load_nothing_remote() -> None:
    """A reader without network sees the same pages. (Names of XML namespaces are no requests.)"""
    folders = [ROOT / "book" / name for name in ("_static", "_templates")]
    files = [path for folder in folders for path in folder.rglob("*.*")]
    remote = re.compile(r"(?:https?:|[\"'(])//(?!www\.w3\.org)[\w-]+\.\w+")
    found = [
        f"{name_of(path)}: {match[0]}"
        for path in files
        for match in remote.finditer(path.read_text(encoding="utf-8", errors="ignore"))
    ]
    assert not found, "\n".join(found)
