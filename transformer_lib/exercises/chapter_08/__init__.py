"""Exercises of chapter 8, in the order of the chapter: each in the file of its name."""

NAMES = (
    "pencil-causal",
    "pencil-cached-pairs",
    "shift-right",
    "causal-mask",
    "padding-mask",
    "masked-softmax",
    "cross-attention",
)
