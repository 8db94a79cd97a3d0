"""Exercises of chapter 6, in the order of the chapter: each in the file of its name."""

NAMES = (
    "pencil-feed-forward",
    "hat-units",
    "feed-forward",
    "gelu",
    "swiglu",
)
