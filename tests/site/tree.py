"""The built site as files: its pages, found on disk so that nothing is listed twice."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

from bs4 import BeautifulSoup

from tests import SITE

LANGUAGES = {"en": "", "zh-TW": "zh-tw/"}  # the site's folder for each language
MACHINE_FOLDERS = {"_static", "_sources", "_images", "_downloads", "jupyter_execute"}


@dataclass(frozen=True)
class Address:
    """One page of the built site: ``Address("zh-TW", "book/intro.html")``."""

    language: str
    name: str

    @property
    def path(self) -> Path:
        return SITE / self.url

    @property
    def url(self) -> str:
        """Relative to the root of the site."""
        return LANGUAGES[self.language] + self.name

    @property
    def soup(self) -> BeautifulSoup:
        return read(self.path)

    @property
    def other(self) -> "Address":
        """The same page in the other language."""
        (language,) = set(LANGUAGES) - {self.language}
        return Address(language, self.name)

    def __str__(self) -> str:
        return self.url


@cache
def read(path: Path) -> BeautifulSoup:
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


def addresses(language: str) -> list[Address]:
    """Every HTML page of a language, redirects too."""
    folder = SITE / LANGUAGES[language]
    names = [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*.html"))]
    skipped = MACHINE_FOLDERS | {other.rstrip("/") for other in LANGUAGES.values() if other}
    return [Address(language, name) for name in names if name.split("/")[0] not in skipped]


def is_redirect(address: Address) -> bool:
    return address.soup.find("meta", attrs={"http-equiv": "refresh"}) is not None


ALL = [address for language in LANGUAGES for address in addresses(language)]
REDIRECTS = [address for address in ALL if is_redirect(address)]
PAGES = [address for address in ALL if address not in REDIRECTS]
CHAPTERS = [page for page in PAGES if page.name.startswith("notebooks/")]


def ids(soup: BeautifulSoup) -> set[str]:
    return {tag["id"] for tag in soup.find_all(id=True)}


def broken_links(page: Path) -> list[str]:
    """The page's links, images, scripts and styles that lead to no file, or to no id in it."""
    broken = []
    for tag in read(page).find_all(lambda t: t.has_attr("href") or t.has_attr("src")):
        target = tag.get("href", tag.get("src"))
        parts = urlsplit(target)
        if parts.scheme or parts.netloc:
            continue
        path = page.parent / unquote(parts.path) if parts.path else page
        anchor = unquote(parts.fragment)
        if not path.is_file() or (anchor and anchor not in ids(read(path.resolve()))):
            broken.append(f"<{tag.name}> leads to {target!r}, which is not there")
    return broken
