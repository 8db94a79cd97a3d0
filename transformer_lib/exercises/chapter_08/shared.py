"""What several exercises of chapter 8 share."""

from transformer_lib.exercises.data import Text

SOFTMAX_TWICE = Text(
    "the softmax is applied twice, which flattens the weights.",
    "你做了兩次 softmax，權重變得比較平均了。",
)
