"""Exercises of chapter 4, in the order of the chapter: each in the file of its name."""

NAMES = (
    "pencil-weights",
    "score-spread",
    "project-qkv",
    "attention-scores",
    "scaled-scores",
    "softmax",
    "softmax-jacobian",
    "attention-output",
    "scaled-dot-product-attention",
)
