"""What every page must be. Each check looks at an open page and returns what is wrong with it."""

import copy
import re
from collections.abc import Callable, Iterator

from axe_playwright_python.sync_playwright import Axe
from bs4 import BeautifulSoup
from playwright.sync_api import Page

from tests.site.browser import NARROW, WIDE, Visit
from tests.translation import HAN, is_traditional

MAX_PAGE_BYTES = 6_000_000  # everything one page loads, MathJax (2.3 MB) included
SMALLEST_LABEL = 8  # pixels, in a figure on a phone

Check = Callable[[Visit], list[str]]


def nothing_goes_wrong(seen: Visit) -> list[str]:
    """No error in the console, no request that fails or leaves the site."""
    return seen.troubles


def mathematics_is_set(seen: Visit) -> list[str]:
    """Every formula is typeset, none with an error, no TeX left in the text."""
    return seen.page.evaluate(r"""() => {
        const found = [...document.querySelectorAll(".math")]
            .filter(formula => !formula.querySelector("mjx-container"))
            .map(formula => "not typeset: " + formula.textContent.slice(0, 60));
        for (const error of document.querySelectorAll("mjx-merror, [data-mjx-error]"))
            found.push("MathJax says: " + (error.dataset.mjxError || error.textContent));
        const skip = "script, style, code, pre, mjx-container, .math, svg";
        const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        while (walker.nextNode()) {
            const text = walker.currentNode;
            if (!text.parentElement.closest(skip) && /\\[([]|\$\$|\\begin\{/.test(text.data))
                found.push("TeX shown as text: " + text.data.trim().slice(0, 60));
        }
        return found;
    }""")


def pictures_can_be_seen_and_heard(seen: Visit) -> list[str]:
    """Images load and have alt text; drawings have a name for screen readers."""
    return seen.page.evaluate("""() => {
        const found = [];
        for (const image of document.images) {
            if (!image.naturalWidth) found.push("image does not load: " + image.src);
            if (!image.alt.trim()) found.push("image without alt text: " + image.src);
        }
        for (const svg of document.querySelectorAll("figure svg, .cell_output svg:not(button svg)"))
            if (!svg.getAttribute("aria-label")?.trim() || svg.getAttribute("role") != "img")
                found.push("drawing without a name: " + svg.outerHTML.slice(0, 80));
        return found;
    }""")


def fits_a_phone(seen: Visit) -> list[str]:
    """At 360 px the page does not scroll sideways, and labels in figures can be read."""
    seen.page.set_viewport_size(NARROW)
    found = seen.page.evaluate(
        """smallest => {
        const found = [], width = document.documentElement.clientWidth;
        if (document.documentElement.scrollWidth > width) {
            found.push("wider than the screen: " + document.documentElement.scrollWidth + " px");
            for (const element of document.querySelectorAll("body *"))
                if (element.getBoundingClientRect().right > width + 1)
                    found.push("  reaches out: " + element.outerHTML.slice(0, 80));
        }
        for (const label of document.querySelectorAll(".book-figure svg text")) {
            const size = parseFloat(getComputedStyle(label).fontSize) * label.getScreenCTM().a;
            if (label.getScreenCTM().b == 0 && size < smallest)
                found.push(`label of ${size.toFixed(1)} px: ${label.textContent}`);
        }
        return found.slice(0, 8);
    }""",
        SMALLEST_LABEL,
    )
    seen.page.set_viewport_size(WIDE)
    return found


def is_accessible(seen: Visit) -> list[str]:
    """No violation of any of axe's default rules: on a phone and a wide screen, in both themes."""
    found = []
    for size in NARROW, WIDE:  # the page was opened wide, and stays so for the next check
        seen.page.set_viewport_size(size)
        for theme in "dark", "light":
            found += axe_violations(seen.page, theme)
    return found


def axe_violations(page: Page, theme: str) -> list[str]:
    page.evaluate("theme => document.documentElement.dataset.theme = theme", theme)
    # All rules run. Not to list what passed, node by node, saves a third of the time.
    violations = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [
        f"{rule['id']} ({theme}, {page.viewport_size['width']} px): {rule['help']}: "
        f"{node['target']} {node.get('failureSummary', '')}"
        for rule in violations
        for node in rule["nodes"][:3]
    ]


def is_light(seen: Visit) -> list[str]:
    total = sum(seen.sizes.values())
    largest = sorted(seen.sizes.items(), key=lambda item: -item[1])[:3]
    return [f"loads {total} bytes; the most: {largest}"] if total > MAX_PAGE_BYTES else []


CHECKS: list[Check] = [
    nothing_goes_wrong,
    mathematics_is_set,
    pictures_can_be_seen_and_heard,
    fits_a_phone,
    is_accessible,
    is_light,
]

# Words around the text that are the same in Chinese.
SAME_IN_CHINESE = re.compile(
    r"English|Ctrl|⌘|PDF|\.?(ipynb|pdf|md|py)|GitHub|Jupyter Book|Sphinx|Transformer|softmax|Python"
)
SPOKEN_ATTRIBUTES = ["title", "aria-label", "placeholder", "alt", "data-bs-title", "data-tooltip"]
WORDS_OF_THE_THEME = (
    ".admonition-title, .caption-number, .caption-text, summary, .toggle-button, .copybtn, "
    ".headerlink, .prev-next-info p, .prev-next-subtitle, #search-results > h2, .search-summary"
)


def speaks_chinese(page: Page) -> list[str]:
    """On a Chinese page: no English words left around the text, nothing simplified."""
    soup = BeautifulSoup(page.content(), "html.parser")
    not_prose = "script, style, noscript, mjx-container, .math, code, pre, body [lang=en]"
    for code in soup.select(not_prose):
        code.decompose()
    found = [f"left in English: {text!r}" for text in spoken_by_the_theme(soup) if is_english(text)]
    return found + list(is_traditional("", soup.get_text()))


def spoken_by_the_theme(soup: BeautifulSoup) -> Iterator[str]:
    """Texts outside the article, and in it what the theme and the extensions add."""
    for tag in soup.select(":not(.reference)"):  # the title of a citation stays English
        yield from (tag[name] for name in SPOKEN_ATTRIBUTES if tag.has_attr(name))
    for tag in soup.select(WORDS_OF_THE_THEME):
        yield tag.get_text(" ", strip=True)
    frame = copy.copy(soup)
    for article in frame("article"):
        article.decompose()
    yield from frame.body.stripped_strings


def is_english(text: str) -> bool:
    rest = SAME_IN_CHINESE.sub("", text)
    return re.search("[A-Za-z]{2,}", rest) is not None and re.search(HAN, text) is None
