"""One browser and one local server for all tests of the site that run on the same core."""

from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import BrowserContext, sync_playwright

from tests import IN_CI, SITE
from tests.site.browser import FLAGS, WIDE, find_chromium


@pytest.hookimpl(tryfirst=True)  # before xdist reads the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With ``--dist loadgroup`` a page is opened on one core alone, once for all its checks."""
    for item in items:
        if "address" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group(str(item.callspec.params["address"])))


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing: what went wrong, the browser reports."""


@pytest.fixture(scope="session")
def context() -> Iterator[BrowserContext]:
    """A fresh browser profile without animations, which would blur colours for axe."""
    executable = find_chromium()
    if executable is None:
        stop = pytest.fail if IN_CI else pytest.skip
        stop("no Chromium or Chrome found; install one, or name it in the variable CHROMIUM")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=FLAGS)
        yield browser.new_context(viewport=WIDE, reduced_motion="reduce")
        browser.close()


def serve(folder: Path) -> Iterator[str]:
    """Serve the folder on a free port of this machine alone; yields the address."""
    handler = partial(QuietHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, args=[0.02], daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="session")
def site() -> Iterator[str]:
    yield from serve(SITE)


@pytest.fixture
def samples(tmp_path: Path) -> Iterator[str]:
    """Serves the test's own folder; a new port each time, so the browser's cache knows nothing."""
    yield from serve(tmp_path)
