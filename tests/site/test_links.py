"""The site as files: both languages have the same pages and places, and links lead somewhere."""

import re
from functools import cache
from pathlib import Path

import pytest

from tests.site.tree import (
    ALL,
    CHAPTERS,
    LANGUAGES,
    PAGES,
    REDIRECTS,
    Address,
    addresses,
    broken_links,
    ids,
    read,
)

EQUATION = re.compile("#equation-")

each = pytest.mark.parametrize("address", PAGES, ids=str)


def test_site_is_built() -> None:
    assert ALL, "there is no site in _build/html: run `python book/build.py` first"


def test_both_languages_have_the_same_pages() -> None:
    english, chinese = ({a.name for a in addresses(language)} for language in LANGUAGES)
    assert english == chinese


@each
def test_links_lead_somewhere(address: Address) -> None:
    broken = broken_links(address.path)
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize("address", REDIRECTS, ids=str)
def test_redirects_lead_somewhere(address: Address) -> None:
    content = address.soup.find("meta", attrs={"http-equiv": "refresh"})["content"]
    assert (address.path.parent / content.partition("url=")[2]).is_file()


@each
def test_language_is_declared(address: Address) -> None:
    assert address.soup.html["lang"] == address.language
    links = address.soup.find_all("link", rel="alternate", hreflang=True)
    assert {link["hreflang"] for link in links} == set(LANGUAGES)


@pytest.mark.parametrize("address", [p for p in PAGES if p.language == "en"], ids=str)
def test_places_have_the_same_ids(address: Address) -> None:
    """So that a link into a page works in both languages."""
    ours, theirs = (
        ids(page.soup.find("article") or page.soup) for page in (address, address.other)
    )
    assert ours == theirs


@cache
def equation_numbers(page: Path) -> dict[str, str]:
    """The number that stands beside each equation, by the equation's id."""
    labels = read(page).find_all("span", class_="eqno")
    return {label.parent["id"]: next(label.strings) for label in labels}


@pytest.mark.parametrize("address", CHAPTERS, ids=str)
def test_equations_and_exercises_are_numbered_by_chapter(address: Address) -> None:
    chapter = int(address.path.name.partition("_")[0])
    equations = list(equation_numbers(address.path).values())
    assert equations == [f"({chapter}.{i + 1})" for i in range(len(equations))]
    captions = address.soup.find_all("span", class_="caption-number")
    exercises = [caption.get_text().split()[-1] for caption in captions]
    assert exercises == [f"{chapter}.{i + 1}" for i in range(len(exercises))]
    assert equations and exercises


@each
def test_a_reference_gives_the_number_of_its_equation(address: Address) -> None:
    for link in address.soup.find_all("a", class_="reference", href=EQUATION):
        page, _, place = link["href"].partition("#")
        target = (address.path.parent / page).resolve() if page else address.path
        assert link.get_text() == equation_numbers(target)[place]


@each
def test_tab_says_each_thing_once(address: Address) -> None:
    """The page's title in plain text, and the book's where that is another."""
    title = address.soup.title.get_text()
    parts = title.split(" — ")
    assert len(set(parts)) == len(parts)
    assert not set("\\$") & set(title)


BROKEN = {
    "no such file": '<a href="gone.html">x</a>',
    "no such place": '<a href="#gone">x</a>',
    "no such place elsewhere": '<a href="good.html#gone">x</a>',
    "no such image": '<img src="gone.svg">',
    "no such script": '<script src="gone.js"></script>',
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_link_is_found(case: str, tmp_path: Path) -> None:
    (tmp_path / "good.html").write_text('<p id="here">x</p><a href="#here">y</a>')
    (tmp_path / "bad.html").write_text(BROKEN[case])
    assert broken_links(tmp_path / "good.html") == []
    assert broken_links(tmp_path / "bad.html")
