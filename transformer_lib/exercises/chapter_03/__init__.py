"""Exercises of chapter 3, in the order of the chapter: each in the file of its name."""

NAMES = (
    "pencil-wavelength",
    "pencil-encoding-product",
    "one-hot-embedding",
    "positional-encoding",
    "shift-matrix",
)
