"""The checks of the site can fail: each finds the fault made for it, and only that."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext

from tests.site import checks
from tests.site.browser import visit
from tests.site.checks import CHECKS

GOOD = "<h1>Title</h1><p>Text with <code>$$</code>.</p><p>Second.</p>"
SVG = '<svg {} viewBox="0 0 100 9"><text x="1" y="8" font-size="{}">a</text></svg>'
FIGURE = f'<figure class="book-figure">{SVG}</figure>'

FAULTS: dict[str, tuple[Callable, str]] = {
    "another host": (checks.nothing_goes_wrong, '<script src="http://127.0.0.2:9/a.js"></script>'),
    "a missing file": (checks.nothing_goes_wrong, '<script src="gone.js"></script>'),
    "console error": (checks.nothing_goes_wrong, "<script>console.error('no')</script>"),
    "uncaught error": (checks.nothing_goes_wrong, "<script>undefined_name()</script>"),
    "raw inline TeX": (checks.mathematics_is_set, r"<p>so \(x\) is</p>"),
    "raw dollars": (checks.mathematics_is_set, "<p>$$x$$</p>"),
    "not typeset": (checks.mathematics_is_set, '<span class="math">x</span>'),
    "TeX error": (checks.mathematics_is_set, "<mjx-merror>Undefined control sequence</mjx-merror>"),
    "image without alt": (checks.pictures_can_be_seen_and_heard, '<img src="dot.svg">'),
    "image not there": (checks.pictures_can_be_seen_and_heard, '<img src="no.svg" alt="a dot">'),
    "nameless drawing": (
        checks.pictures_can_be_seen_and_heard,
        f"<figure>{SVG.format('', 9)}</figure>",
    ),
    "too wide": (checks.fits_a_phone, '<div style="width: 500px">wide</div>'),
    "tiny label": (checks.fits_a_phone, FIGURE.format('role="img" aria-label="a"', 1)),
    "pale text": (checks.is_accessible, '<p style="color: #ccc; background: #fff">pale</p>'),
    "pale in the dark": (
        checks.is_accessible,
        "<style>[data-theme=dark] p {color: #333; background: #222}</style>",
    ),
    "link without text": (checks.is_accessible, '<a href="good.html"></a>'),
    "heavy": (checks.is_light, '<script src="heavy.js"></script>'),
}


def write_page(folder: Path, body: str) -> None:
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    head += '<title>A page</title><link rel="icon" href="data:,">'
    html = f'<!doctype html><html lang="en"><head>{head}</head><body><main>{body}</main></body>'
    (folder / "page.html").write_text(html, encoding="utf-8")
    (folder / "dot.svg").write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'
    )
    (folder / "heavy.js").write_text(" " * (checks.MAX_PAGE_BYTES + 1))


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_good_page_passes(
    check: Callable, tmp_path: Path, samples: str, context: BrowserContext
) -> None:
    write_page(tmp_path, GOOD)
    seen = visit(context, f"{samples}page.html")
    assert check(seen) == []
    seen.page.close()


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_is_found(fault: str, tmp_path: Path, samples: str, context: BrowserContext) -> None:
    check, body = FAULTS[fault]
    write_page(tmp_path, GOOD + body)
    seen = visit(context, f"{samples}page.html")
    assert check(seen)
    seen.page.close()


CHINESE = {
    "<nav>目錄</nav><article><p>Attention is all you need 這篇論文</p></article>": True,
    "<nav>Contents</nav>": False,
    '<nav><button title="Search">搜尋</button></nav>': False,
    '<article><p class="admonition-title">Exercise 1</p></article>': False,
    "<article><p>权重</p></article>": False,
    '<nav lang="en">English</nav><kbd>Ctrl</kbd>': True,
}


@pytest.mark.parametrize("body", CHINESE)
def test_left_over_words_are_found(
    body: str, tmp_path: Path, samples: str, context: BrowserContext
) -> None:
    write_page(tmp_path, f"<h1>標題</h1>{body}")
    seen = visit(context, f"{samples}page.html")
    assert (not checks.speaks_chinese(seen.page)) == CHINESE[body]
    seen.page.close()
