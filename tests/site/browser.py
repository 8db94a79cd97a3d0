"""A headless Chromium: finding it, and opening a page while listening for what goes wrong."""

import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, ConsoleMessage, Page, Request, Response

ON_PATH = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"]
USUAL_PLACES = [
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
]
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WIDE = {"width": 1400, "height": 900}
NARROW = {"width": 360, "height": 740}

# Resolves when all mathematics on the page is set; at once where MathJax is not loaded.
TYPESET = "window.MathJax?.startup?.promise"
UNFOLD = """() => document
    .querySelectorAll("details:not([open]) > summary, button.toggle-button-hidden")
    .forEach(fold => fold.click())"""


def find_chromium() -> str | None:
    """The browser to use: $CHROMIUM, else one on the PATH, else one where it usually is."""
    named = [os.environ.get("CHROMIUM"), *map(shutil.which, ON_PATH)]
    return next((path for path in [*named, *USUAL_PLACES] if path and Path(path).is_file()), None)


@dataclass
class Visit:
    """An open page and what was noticed while it loaded."""

    page: Page
    host: str
    troubles: list[str] = field(default_factory=list)
    sizes: dict[str, int] = field(default_factory=dict)

    def on_console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.troubles.append(f"console: {message.text} ({message.location['url']})")

    def on_request(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "blob") and parts.netloc != self.host:
            self.troubles.append(f"asks another host: {request.url}")

    def on_response(self, response: Response) -> None:
        self.sizes[response.url] = int(response.headers.get("content-length", 0))


def visit(context: BrowserContext, url: str) -> Visit:
    """Open the page, wait for its mathematics, and unfold what is folded."""
    seen = Visit(context.new_page(), urlsplit(url).netloc)
    complain = seen.troubles.append
    seen.page.on("console", seen.on_console)
    seen.page.on("pageerror", lambda error: complain(f"uncaught error: {error}"))
    seen.page.on("requestfailed", lambda r: complain(f"failed: {r.url} ({r.failure})"))
    seen.page.on("request", seen.on_request)
    seen.page.on("response", seen.on_response)
    seen.page.goto(url)
    seen.page.evaluate(TYPESET)
    seen.page.evaluate(UNFOLD)
    return seen
