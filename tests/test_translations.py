"""繁體中文 is complete, up to date, and says the same as the English with the same mathematics."""

import dataclasses
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import polib
import pytest

from tests import NOTEBOOKS, ROOT, translation
from tests.translation import (
    MESSAGE_CHECKS,
    Check,
    is_traditional,
    keeps_placeholders,
    problems,
)
from transformer_lib import exercises
from transformer_lib.exercises import Text, messages

LOCALE = ROOT / "book" / "locale"
CATALOGUES = LOCALE / "zh_TW" / "LC_MESSAGES"
PO_FILES = sorted(LOCALE.rglob("*.po"))
SOURCES = [*ROOT.glob("*.md"), *(ROOT / "book").glob("*.md"), *NOTEBOOKS]
# Run in book/, where build.py lies; on its own, because Sphinx leaves its marks on a process.
EXTRACT = """
import sys
from pathlib import Path
from build import build
sys.exit(not build("en", Path(sys.argv[1]), "gettext"))
"""


def name_of(path: Path) -> str:
    return path.relative_to(LOCALE).as_posix()


@pytest.fixture(scope="session")
def templates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, polib.POFile]:
    """What Sphinx extracts from the pages now: one catalogue a page, by its name."""
    folder = tmp_path_factory.mktemp("gettext")
    command = [sys.executable, "-c", EXTRACT, str(folder)]
    run = subprocess.run(command, cwd=ROOT / "book", capture_output=True, encoding="utf-8")
    if run.returncode:
        pytest.fail(f"the English pages do not build:\n{run.stderr}", pytrace=False)
    paths = folder.rglob("*.pot")
    return {p.relative_to(folder).with_suffix("").as_posix(): polib.pofile(p) for p in paths}


@pytest.mark.slow
def test_every_page_has_an_up_to_date_catalogue(templates: dict[str, polib.POFile]) -> None:
    """`make translations` has been run since the last change of the English."""
    found = []
    for page, template in sorted(templates.items()):
        path = CATALOGUES / f"{page}.po"
        known = {e.msgid for e in polib.pofile(path)} if path.exists() else set()
        wanted = {e.msgid for e in template if e.msgid}  # a contents list without title is empty
        found += [f"{page}.po: new message {msgid[:60]!r}" for msgid in sorted(wanted - known)]
        found += [f"{page}.po: {msgid[:60]!r} is gone" for msgid in sorted(known - wanted)]
    assert not found, "run `make translations`, then translate:\n" + "\n".join(found)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_the_chinese_in_english_sources_is_traditional(path: Path) -> None:
    lines = enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
    found = [f"{path.name}:{n}: {p}" for n, line in lines for p in is_traditional("", line)]
    assert not found, "\n".join(found)


@pytest.mark.slow
def test_no_catalogue_without_a_page(templates: dict[str, polib.POFile]) -> None:
    pages = {p.relative_to(CATALOGUES).with_suffix("").as_posix() for p in CATALOGUES.rglob("*.po")}
    assert pages - set(templates) == set()


@pytest.mark.parametrize("path", PO_FILES, ids=name_of)
def test_catalogue(path: Path) -> None:
    found = [
        f"{name_of(path)}:{entry.linenum}: {problem}\n    in {entry.msgid[:70]!r}"
        for entry in polib.pofile(path)
        for problem in entry_problems(entry)
    ]
    assert not found, "\n".join(found)


def entry_problems(entry: polib.POEntry) -> list[str]:
    if entry.obsolete:
        return ["obsolete: delete it"]
    if entry.fuzzy:
        return ["fuzzy: check the translation, then remove the mark"]
    return problems(entry.msgid, entry.msgstr, MESSAGE_CHECKS)


def texts(value: object) -> Iterator[Text]:
    """Every Text inside a value made of dataclasses and tuples, the labels of cases too."""
    if isinstance(value, Text):
        yield value
    elif isinstance(value, exercises.Exercise):
        yield from texts((value.title, *value.mistakes, *value.cases()))
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield from texts(tuple(getattr(value, field.name) for field in dataclasses.fields(value)))
    elif isinstance(value, tuple):
        for item in value:
            yield from texts(item)


SPOKEN = {"messages": tuple(vars(messages).values())} | exercises.catalog


@pytest.mark.parametrize("name", SPOKEN)
def test_exercises_speak_chinese(name: str) -> None:
    found = [
        f"{text.en[:70]!r}: {problem}"
        for text in texts(SPOKEN[name])
        for problem in problems(text.en, text.zh, [*MESSAGE_CHECKS, keeps_placeholders])
    ]
    assert not found, f"{name}:\n" + "\n".join(found)


# The checks themselves.

SOUND = [
    ("Each row sums to $1$; see {ref}`scaling`.", "每一列的和是 $1$，請見 {ref}`scaling`。"),
    ("See {ref}`the proof <scaling>`.", "請見{ref}`證明 <scaling>`。"),
    (
        "Use `softmax(x, dim=-1)` ([source](a.md#b)).",
        "使用 `softmax(x, dim=-1)`（[原始碼](a.md#b)）。",
    ),
    ("**Scale** the scores.", "**縮放**分數。"),
    ("GPT-2, BERT", "GPT-2, BERT"),
    ("$Q$ and $K$ swap: $K Q$.", "$K Q$：$Q$ 與 $K$ 互換。"),
    ("a ratio of 3.5", "比例是 3.5"),
]


@pytest.mark.parametrize(("en", "zh"), SOUND)
def test_sound_translation_is_accepted(en: str, zh: str) -> None:
    assert problems(en, zh, MESSAGE_CHECKS) == []


LONG = "The weights are positive and sum to one, so the output is an average of the values. Why?"
BAD: list[tuple[Check, str, str]] = [
    (translation.is_translated, "Scores", ""),
    (translation.is_translated, "Each row sums to one.", "Each row sums to one."),
    (translation.keeps_markup, "It is $d_k$.", "它是 $d_v$。"),
    (translation.keeps_markup, "$x$ and $x$", "$x$"),
    (translation.keeps_markup, "$$\na\n$$", "$$\nb\n$$"),
    (translation.keeps_markup, "see {eq}`att`", "請見 {eq}`atn`"),
    (translation.keeps_markup, "see {ref}`a <b>`", "請見{ref}`甲 <c>`"),
    (translation.keeps_markup, "see {ref}`a`", "請見{doc}`a`"),
    (translation.keeps_markup, "[here](a.md)", "[這裡](b.md)"),
    (translation.keeps_markup, "call `dim`", "呼叫 `axis`"),
    (translation.keeps_markup, "**all** rows", "所有的列"),
    (translation.markup_is_read, "**“Scale”** it", "它**「縮放」**了"),
    (translation.markup_is_read, "call `dim`", "呼叫 `dim"),
    (translation.is_traditional, "weights", "权重"),
    (translation.is_traditional, "then", "然后"),
    (translation.is_traditional, "inside", "裏面"),
    (translation.is_taiwanese, "data", "數據"),
    (translation.punctuation_is_full_width, "first, then", "先,再"),
    (translation.punctuation_is_full_width, "weight (softmax)", "權重 (softmax)"),
    (translation.punctuation_is_full_width, "$x$, then", "$x$,然後"),
    (translation.punctuation_is_full_width, "It is so.", "就是這樣."),
    (translation.punctuation_is_full_width, "so-called", "所謂“注意力”"),
    (translation.is_whole, LONG, "權重是正的，"),
    (translation.is_whole, LONG, "權重都是正的，總和為一，所以輸出是值的平均。為什麼"),
    (translation.is_whole, LONG, "（中文）" + LONG[:-1] + "？"),
    (keeps_placeholders, "got {shape}", "得到 {size}"),
]  # fmt: skip


@pytest.mark.parametrize(("check", "en", "zh"), BAD)
def test_bad_translation_is_found(check: Check, en: str, zh: str) -> None:
    assert list(check(en, zh))
