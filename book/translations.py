"""Bring the Chinese catalogues up to date with the English pages: `python book/translations.py`.

New messages come out empty, changed ones fuzzy, in book/locale/zh_TW/LC_MESSAGES/**.po; titles of
exercises and what `check` prints are filled in, for the exercises know them in both languages.
"""

import sys

from build import BUILD, ROOT, build
from extensions.exercise_list import link
from sphinx_intl.basic import update
from sphinx_intl.catalog import dump_po, load_po

TEMPLATES = BUILD / "gettext"
LOCALE = ROOT / "book" / "locale"


def exercise_words() -> dict[str, str]:
    """Titles, and what `check` prints for an open exercise and for a solution, in Chinese."""
    # Imported late: with torch in the process, sphinx_external_toc raises warnings of torch's.
    from transformer_lib.exercises import catalog, messages
    from transformer_lib.exercises.engine import Trial

    texts = [messages.NOT_ATTEMPTED.format(name=name) for name in catalog]
    texts += [Trial(exercise, exercise.reference).praise() for exercise in catalog.values()]
    links = {link(e.title.en, e.name): link(e.title.zh, e.name) for e in catalog.values()}
    chapters = {f"Chapter {e.chapter}": f"第 {e.chapter} 章" for e in catalog.values()}
    return {text.en: text.zh for text in texts} | links | chapters


def fill_in() -> None:
    """Fill in what needs no translator, and a header without placeholders."""
    known = exercise_words()
    for path in (LOCALE / "zh_TW").rglob("*.po"):
        pages = load_po(str(path))
        pages.header_comment, pages.fuzzy = "# Traditional Chinese (Taiwan) of the book.", False
        pages.msgid_bugs_address = pages.last_translator = pages.language_team = (
            "see CONTRIBUTING.md"
        )
        for message in pages:
            if message.id in known:
                message.string = known[message.id]
                message.flags.discard("fuzzy")
        dump_po(str(path), pages, width=76)


def main() -> int:
    if not build("en", TEMPLATES, builder="gettext"):
        return 1
    update(str(LOCALE), str(TEMPLATES), ["zh_TW"], ignore_obsolete=True)
    fill_in()
    return 0


if __name__ == "__main__":
    sys.exit(main())
