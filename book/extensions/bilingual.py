"""One book, two languages: the switch between them, and the Chinese words that are not ours.

Sphinx translates the pages from locale/<language>. What the theme and other extensions print is
in locale/theme, one catalogue for each of them, and goes before what they bring along; therefore
this extension is loaded before them.
"""

import re
from pathlib import Path
from typing import Any, NamedTuple

from babel.messages.pofile import read_po
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.locale import get_translation
from sphinx.transforms import i18n
from sphinx.transforms.i18n import publish_msgstr
from sphinx.util.i18n import CatalogRepository
from sphinx_external_toc.events import InsertToctrees

THEME_WORDS = Path(__file__).parents[1] / "locale" / "theme"
SCRIPTS = ("_static/copybutton.js", "_static/togglebutton.js")
READER_SETTINGS = ("html_title", "author", "copyright")
_ = get_translation("book")


class Language(NamedTuple):
    tag: str  # for HTML
    name: str  # what its readers call it
    folder: str  # of the site


LANGUAGES = {
    "en": Language("en", "English", ""),
    "zh_TW": Language("zh-TW", "中文", "zh-tw/"),
}


def theme_catalogs(app: Sphinx) -> CatalogRepository:
    return CatalogRepository(
        app.srcdir, [str(THEME_WORDS)], app.config.language, app.config.source_encoding
    )


def load_theme_words(app: Sphinx) -> None:
    """Compile and load each catalogue of locale/theme."""
    for catalog in theme_catalogs(app).catalogs:
        catalog.write_mo(app.config.language)
        app.add_message_catalog(catalog.domain, str(THEME_WORDS))


def translate_settings(_app: Sphinx, config: Config) -> None:
    """Say in this build's language what _config.yml says in English."""
    for name in READER_SETTINGS:
        config[name] = str(_(config[name]))
    search = config.html_theme_options["search_bar_text"]
    config.html_theme_options["search_bar_text"] = str(_(search))


def add_language_links(
    app: Sphinx, pagename: str, _template: str, context: dict, _doctree: nodes.document | None
) -> None:
    """Give templates `languages`: each language's tag and name, and this page's address in it."""
    here = LANGUAGES[app.config.language].folder + pagename
    context["languages"] = [
        language._asdict() | {"url": app.builder.get_relative_uri(here, language.folder + pagename)}
        for language in LANGUAGES.values()
    ]


def hard_coded_words(app: Sphinx) -> dict[str, str]:
    """The English that templates and scripts hold as literals, with its translation."""
    words = {}
    for catalog in theme_catalogs(app).catalogs:
        if catalog.domain == "hard_coded":
            with Path(catalog.po_path).open(encoding="utf-8") as file:
                words = {message.id: message.string for message in read_po(file) if message.id}
    return words


def translate_literals(app: Sphinx, exception: Exception | None) -> None:
    """Replace those words, where they stand in quotes or between tags, in the built site."""
    words = hard_coded_words(app)
    if exception or app.builder.name != "html" or not words:
        return
    site = Path(app.outdir)
    literal = re.compile(f"""(?<=["'>])({"|".join(map(re.escape, words))})(?=["'<])""")
    for path in [*site.rglob("*.html"), *(site / script for script in SCRIPTS)]:
        text = path.read_text(encoding="utf-8")
        path.write_text(literal.sub(lambda match: words[match[0]], text), encoding="utf-8")


def publish_as_text(app: Sphinx, source: str, *context: Any) -> nodes.Element:
    """Parse a translated message; "4. 自注意力機制" is a heading's text, not an item of a list."""
    return publish_msgstr(app, re.sub(r"^(\d+)\.", r"\1\.", source), *context)


def setup(app: Sphinx) -> dict[str, bool]:
    load_theme_words(app)
    i18n.publish_msgstr = publish_as_text
    # The parts' captions in _toc.yml are messages of the root page if they are in it in time:
    # before Sphinx keeps the original messages (10) and translates (20).
    InsertToctrees.default_priority = 5
    app.connect("config-inited", translate_settings)
    app.connect("html-page-context", add_language_links)
    app.connect("build-finished", translate_literals)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
