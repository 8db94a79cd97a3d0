"""The site as files: both languages have the same pages and places, and links lead somewhere."""

from pathlib import Path

import pytest

from tests.site.tree import ALL, LANGUAGES, PAGES, REDIRECTS, Address, addresses, broken_links, ids

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
