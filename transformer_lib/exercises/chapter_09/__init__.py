"""Exercises of chapter 9, in the order of the chapter: each in the file of its name."""

NAMES = (
    "pencil-online-softmax",
    "pencil-bytes-moved",
    "attention-flops",
    "online-log-sum-exp",
    "flash-attention",
    "flash-attention-backward",
    "sliding-window-mask",
    "linear-attention",
    "causal-linear-attention",
)
