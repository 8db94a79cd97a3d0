"""Every page of both languages in a real browser."""

import re
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.site.browser import NARROW, WIDE, Visit, visit
from tests.site.checks import CHECKS, Check, mathematics_is_set, nothing_goes_wrong, speaks_chinese
from tests.site.tree import CHAPTERS, LANGUAGES, PAGES, REDIRECTS, Address

SEARCHES = {"en": ["softmax", "attention weight"], "zh-TW": ["注意力權重", "softmax"]}


@pytest.fixture(scope="module", params=PAGES, ids=str)
def address(request: pytest.FixtureRequest) -> Address:
    return request.param


@pytest.fixture(scope="module")
def seen(address: Address, context: BrowserContext, site: str) -> Iterator[Visit]:
    """The page, opened once for all the checks."""
    visited = visit(context, site + address.url)
    yield visited
    visited.page.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    page = context.new_page()
    yield page
    page.close()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_page(check: Check, seen: Visit) -> None:
    problems = check(seen)
    assert not problems, "\n".join(problems)


def test_chinese_page_speaks_chinese(address: Address, seen: Visit) -> None:
    problems = speaks_chinese(seen.page) if address.language == "zh-TW" else []
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=lambda size: f"{size['width']} px")
def test_language_switch(address: Address, size: dict, page: Page, site: str) -> None:
    """It can be seen and clicked, and leads to the same place on the same page."""
    places = [section["id"] for section in address.soup.select("article section[id]")]
    hash_ = f"#{places[-1]}" if places else ""
    page.set_viewport_size(size)
    page.goto(site + address.url + hash_)
    page.click(f"a[hreflang='{address.other.language}']:visible", timeout=3000)
    expect(page).to_have_url(site + address.other.url + hash_)
    for place in places[-1:]:
        expect(page.locator(f"[id='{place}']")).to_be_attached()


@pytest.mark.parametrize("address", REDIRECTS, ids=str)
def test_front_door(address: Address, page: Page, site: str) -> None:
    page.goto(site + address.url)
    expect(page).to_have_url(re.compile(f"/{LANGUAGES[address.language]}book/intro.html$"))


@pytest.mark.parametrize(("language", "words"), [(k, w) for k, ws in SEARCHES.items() for w in ws])
def test_search_finds_the_chapter(language: str, words: str, page: Page, site: str) -> None:
    page.goto(f"{site}{LANGUAGES[language]}search.html?q={quote(words)}")
    results = page.locator("#search-results li a[href*='04_self_attention.html']")
    expect(results.first).to_be_visible()
    assert language == "en" or speaks_chinese(page) == []


@pytest.mark.parametrize("address", CHAPTERS, ids=str)
def test_opens_from_disk(address: Address, context: BrowserContext) -> None:
    """Without any server: a reader who unpacked the site somewhere."""
    seen = visit(context, address.path.as_uri())
    problems = nothing_goes_wrong(seen) + mathematics_is_set(seen)
    assert seen.page.locator(".math").count() and not problems, "\n".join(problems)
    seen.page.close()
