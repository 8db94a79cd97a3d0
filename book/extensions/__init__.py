"""The book's own Sphinx extensions, each of which does one thing."""

from sphinx.application import Sphinx

MODULES = (
    "accessible",
    "bilingual",
    "chapter_numbers",
    "chinese_search",
    "exercise_list",
    "exercises",
    "hidden_words",
    "offline",
)


def setup(app: Sphinx) -> dict[str, bool]:
    for module in MODULES:
        app.setup_extension(f"extensions.{module}")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
