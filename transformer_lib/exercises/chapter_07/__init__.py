"""Exercises of chapter 7, in the order of the chapter: each in the file of its name."""

NAMES = (
    "pencil-layer-norm",
    "count-paths",
    "direct-path",
    "layer-norm",
    "layer-norm-gradient",
    "post-norm",
    "pre-norm",
)
