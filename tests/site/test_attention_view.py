"""The attention view in a browser: by mouse, keyboard and finger, alone and beside others."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.site.browser import NARROW, visit
from tests.site.checks import axe_violations
from tests.site.test_checks import write_page
from tests.site.tree import LANGUAGES
from transformer_lib.plots import attention_view

TOKENS_Q, TOKENS_K = ["⟨s⟩", "dog", "bites", "man"], ["狗", "咬", "人"]
WEIGHTS = np.random.default_rng(3).dirichlet(np.ones(3), size=(2, 3, 4)).round(2)
FIGURE = attention_view(TOKENS_Q, TOKENS_K, WEIGHTS, alt="A view", caption="Weights.").html
MEAN = WEIGHTS.mean(axis=1)
LABELS = {"en": ("queries", "keys"), "zh-TW": ("查詢", "鍵")}

# What JupyterLab does with an output: HTML written into the page, its scripts made anew.
AS_JUPYTERLAB = """html => {
    const output = document.createElement("div");
    output.innerHTML = html;
    for (const script of output.querySelectorAll("script")) {
        const clone = document.createElement("script");
        clone.textContent = script.textContent;
        script.replaceWith(clone);
    }
    document.querySelector("main").append(output);
}"""


@pytest.fixture
def open_page(tmp_path: Path, samples: str) -> Iterator[Callable[..., Page]]:
    """Opens a page that holds the view so many times."""
    opened = []

    def open_in(context: BrowserContext, copies: int = 1) -> Page:
        write_page(tmp_path, "<h1>Views</h1>" + copies * FIGURE)
        seen = visit(context, f"{samples}page.html")
        assert seen.troubles == []
        opened.append(seen.page)
        return seen.page

    yield open_in
    for page in opened:
        page.close()


def numbers(view: Locator, side: str) -> list[str | None]:
    """The weights that stand beside the tokens of one side."""
    buttons = view.locator(f".{side} button").all()
    return [button.get_attribute("data-weight") for button in buttons]


def written(weights: np.ndarray) -> list[str]:
    return [f"{np.rint(100 * weight) / 100:.2f}" for weight in weights]


def query(view: Locator, name: str) -> Locator:
    return view.locator(".queries").get_by_text(name, exact=True)


def key(view: Locator, name: str) -> Locator:
    return view.locator(".keys").get_by_text(name, exact=True)


def test_without_a_script_it_is_the_picture_that_the_script_begins_with(
    context: BrowserContext, open_page: Callable[..., Page]
) -> None:
    drawing = """view => [
        ...[...view.querySelectorAll("path")].map(path => [
            path.parentNode.tagName,
            path.getAttribute("d"),
            +path.getAttribute("stroke-width"),
            +path.getAttribute("stroke-opacity"),
        ]),
        ...[...view.querySelectorAll("button")].map(button => [
            button.textContent,
            button.dataset.weight,
            button.getAttribute("aria-pressed"),
            getComputedStyle(button).backgroundColor,
        ]),
        view.querySelector(".readout").textContent,
    ]"""
    still = context.browser.new_context(java_script_enabled=False)
    silent, running = (open_page(c).locator(".attention-view") for c in (still, context))
    assert running.evaluate(drawing) == silent.evaluate(drawing)
    expect(silent.locator("select").first).to_be_disabled()
    expect(running.locator("select").first).to_be_enabled()
    expect(silent.locator(".hint")).to_be_hidden()
    still.close()


def test_by_mouse(context: BrowserContext, open_page: Callable[..., Page]) -> None:
    """Pointing shows, clicking keeps, clicking again shows all."""
    page = open_page(context)
    view = page.locator(".attention-view")
    query(view, "bites").hover()
    assert numbers(view, "keys") == written(MEAN[0, 2])
    key(view, "人").hover()
    assert numbers(view, "queries") == written(MEAN[0, :, 2])
    page.mouse.move(0, 0)
    assert numbers(view, "keys") == written(MEAN[0, 0])  # as at the beginning
    query(view, "man").click()
    page.mouse.move(0, 0)
    assert numbers(view, "keys") == written(MEAN[0, 3])
    query(view, "man").click()
    assert numbers(view, "keys") == [None] * 3
    assert view.locator("svg > path").count() == (MEAN[0] >= 0.095).sum()


def test_by_keyboard(context: BrowserContext, open_page: Callable[..., Page]) -> None:
    """Tab: layer, head, one query, one key; arrows go on from there; Enter keeps, Escape frees."""
    page = open_page(context)
    view = page.locator(".attention-view")
    page.locator("h1").click()
    for stop in (view.locator(".layer"), view.locator(".head"), query(view, "⟨s⟩")):
        page.keyboard.press("Tab")
        expect(stop).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(query(view, "dog")).to_be_focused()
    assert numbers(view, "keys") == written(MEAN[0, 1])
    assert "→" in view.locator(".readout[aria-live=polite]").text_content()
    page.keyboard.press("Enter")
    expect(query(view, "dog")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("End")
    expect(query(view, "man")).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(key(view, "人")).to_be_focused()  # the last: there are only three
    assert numbers(view, "queries") == written(MEAN[0, :, 2])
    page.keyboard.press("Shift+Tab")
    expect(query(view, "man")).to_be_focused()  # where one was, not the first
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert numbers(view, "keys") == written(MEAN[0, 1])  # outside: what was kept
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Escape")
    assert view.locator("[aria-pressed=true]").count() == 0


def test_the_focus_can_be_seen(context: BrowserContext, open_page: Callable[..., Page]) -> None:
    page = open_page(context)
    page.locator("h1").click()
    for _ in range(3):
        page.keyboard.press("Tab")
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineWidth")
        assert float(outline.removesuffix("px")) >= 2


def test_by_finger_on_a_phone(context: BrowserContext, open_page: Callable[..., Page]) -> None:
    phone = context.browser.new_context(viewport=NARROW, has_touch=True, is_mobile=True)
    page = open_page(phone)
    view = page.locator(".attention-view")
    query(view, "bites").tap()
    assert numbers(view, "keys") == written(MEAN[0, 2])
    key(view, "狗").tap()
    assert numbers(view, "queries") == written(MEAN[0, :, 0])
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
    for button in view.locator("button").all():
        assert min(button.bounding_box()[side] for side in ("width", "height")) >= 24
    phone.close()


def test_layers_and_heads(context: BrowserContext, open_page: Callable[..., Page]) -> None:
    view = open_page(context).locator(".attention-view")
    query(view, "dog").click()
    for layer in range(2):
        view.get_by_label("Layer").select_option(str(layer + 1))
        for head in range(3):
            view.get_by_label("Head").select_option(str(head + 1))
            assert numbers(view, "keys") == written(WEIGHTS[layer, head, 1])
        view.get_by_label("Head").select_option("mean of all")
        assert numbers(view, "keys") == written(MEAN[layer, 1])


def test_two_of_the_same_do_not_disturb_each_other(
    context: BrowserContext, open_page: Callable[..., Page]
) -> None:
    first, second = open_page(context, copies=2).locator(".attention-view").all()
    query(first, "dog").click()
    first.get_by_label("Head").select_option("2")
    query(second, "man").click()
    second.get_by_label("Layer").select_option("2")
    assert numbers(first, "keys") == written(WEIGHTS[0, 1, 1])
    assert numbers(second, "keys") == written(MEAN[1, 3])


def test_in_jupyterlab(context: BrowserContext, open_page: Callable[..., Page]) -> None:
    """The script runs when the output is put into the page, again for each new output."""
    page = open_page(context, copies=0)
    for copy in range(2):
        page.evaluate(AS_JUPYTERLAB, FIGURE)
        view = page.locator(".attention-view").nth(copy)
        query(view, "dog").click()
        assert numbers(view, "keys") == written(MEAN[0, 1])


def test_anybody_can_use_it(context: BrowserContext, open_page: Callable[..., Page]) -> None:
    """axe, with a query chosen and with a key."""
    page = open_page(context)
    view = page.locator(".attention-view")
    for token in query(view, "dog"), key(view, "咬"):
        token.click()
        assert axe_violations(page, "light") == []


def test_on_paper_the_picture_stays(
    context: BrowserContext, open_page: Callable[..., Page]
) -> None:
    page = open_page(context)
    page.emulate_media(media="print")
    expect(page.locator(".attention-view .picture")).to_be_visible()
    expect(page.locator(".attention-view .hint")).to_be_hidden()


CHAPTERS = ["04_self_attention", "05_multi_head_attention", "08_decoder"]


@pytest.mark.parametrize("chapter", CHAPTERS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_in_the_book(language: str, chapter: str, context: BrowserContext, site: str) -> None:
    seen = visit(context, f"{site}{LANGUAGES[language]}notebooks/{chapter}.html")
    view = seen.page.locator(".attention-view.running")
    queries, keys = LABELS[language]
    for side, name in (".queries", queries), (".keys", keys):
        expect(view.locator(side)).to_have_attribute("aria-label", name)
    view.locator(".queries button").last.focus()
    shares = [float(number) for number in numbers(view, "keys")]
    assert abs(sum(shares) - 1) < 0.02
    seen.page.close()
