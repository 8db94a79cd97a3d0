"""Exercises of chapter 2, in the order of the chapter: each in the file of its name."""

NAMES = (
    "attention-parameters",
    "feed-forward-parameters",
    "cross-attention-weights",
    "parameter-count",
)
