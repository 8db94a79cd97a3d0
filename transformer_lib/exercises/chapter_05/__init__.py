"""Exercises of chapter 5, in the order of the chapter: each in the file of its name."""

NAMES = (
    "pencil-heads",
    "multi-head-parameters",
    "split-heads",
    "merge-heads",
    "multi-head-attention",
)
