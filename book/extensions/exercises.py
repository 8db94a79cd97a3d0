"""Two things that sphinx-exercise leaves undone: titles to translate, and ids that are unique."""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.locale import get_translation
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx_exercise.directive import ExerciseDirective, ExerciseStartDirective
from sphinx_exercise.nodes import (
    exercise_subtitle,
    exercise_title,
    is_exercise_node,
    is_extension_node,
)
from sphinx_exercise.post_transforms import ResolveTitlesInExercises

translate = get_translation("exercise")


def mark_titles(directive: ExerciseDirective, result: list[nodes.Node]) -> list[nodes.Node]:
    """Let gettext see an exercise's own title, not the one with "Exercise" in front."""
    for exercise in result:
        for title in exercise.findall(exercise_title):
            title["translatable"] = False
        for subtitle in exercise.findall(exercise_subtitle):
            subtitle.rawsource = directive.arguments[0]
            directive.set_source_info(subtitle)
    return result


class TitledExercise(ExerciseDirective):
    def run(self) -> list[nodes.Node]:
        return mark_titles(self, super().run())


class TitledExerciseStart(ExerciseStartDirective):
    def run(self) -> list[nodes.Node]:
        return mark_titles(self, super().run())


class FinishExercises(SphinxTransform):
    """Tell solutions the translated title, and give each box an id of its own."""

    default_priority = 30  # after the translation (20)

    def apply(self, **kwargs: Any) -> None:
        registry = getattr(self.env, "sphinx_exercise_registry", {})
        for node in self.document.findall(is_extension_node):
            for section in node.findall(nodes.section):
                section["ids"] = [f"{node['label']}-content"]
            if is_exercise_node(node):
                registry[node["label"]]["node"] = node.deepcopy()


class TranslateBrackets(SphinxPostTransform):
    """The brackets around an exercise's title are full-width in Chinese."""

    default_priority = 22  # after sphinx-exercise has put them there (20, 21)
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        for node in self.document.findall(is_exercise_node):
            for text in list(node[0].findall(nodes.Text)):
                if text in (" (", ")"):
                    text.parent.replace(text, nodes.Text(translate(text)))


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("sphinx_exercise")
    app.add_directive("exercise", TitledExercise, override=True)
    app.add_directive("exercise-start", TitledExerciseStart, override=True)
    # Elsewhere the title stays as it was read, so that gettext finds it.
    ResolveTitlesInExercises.formats = ("html", "latex")
    app.add_post_transform(TranslateBrackets)
    app.add_transform(FinishExercises)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
