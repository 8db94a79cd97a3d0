"""Exercise cross-attention-weights of chapter 2: how many attention weights?."""

import torch

from transformer_lib.exercises.data import Exercise, Text, mistakes
from transformer_lib.exercises.inputs import by_hand

MISTAKES = mistakes(
    ("source-meets-source", 392,
     "392 = 2 · 4 · 7 · 7 is the encoder's self-attention. In cross-attention who asks, and who answers?",
     "392 = 2 · 4 · 7 · 7 是編碼器的自注意力機制。交叉注意力裡，是誰發問、誰回答？"),
    ("target-meets-target", 200,
     "200 = 2 · 4 · 5 · 5 is the decoder's self-attention. In cross-attention who asks, and who answers?",
     "200 = 2 · 4 · 5 · 5 是解碼器的自注意力機制。交叉注意力裡，是誰發問、誰回答？"),
    ("heads-forgotten", 70,
     "70 = 2 · 5 · 7: each of the four heads has weights of its own.",
     "70 = 2 · 5 · 7：四個頭各有自己的權重。"),
    ("batch-forgotten", 140,
     "140 = 4 · 5 · 7 is one sentence pair. There are two in the batch.",
     "140 = 4 · 5 · 7 是一對句子的份。批次裡有兩對。"),
    ("one-head-of-one-sentence", 35,
     "35 = 5 · 7 is one matrix of weights. How many are there: sentences, heads?",
     "35 = 5 · 7 是一個權重矩陣。總共有幾個？有幾個句子、幾個頭？"),
    ("lengths-added", 96,
     "96 = 2 · 4 · (5 + 7): every query meets every key. That is a product, not a sum.",
     "96 = 2 · 4 · (5 + 7)：每個查詢都會碰到每個鍵，要相乘，不是相加。"),
    ("everything-meets-everything", 1152,
     "1152 = 2 · 4 · 12 · 12: you let both sentences look at both. Here only the target asks, and only the source answers.",
     "1152 = 2 · 4 · 12 · 12：你讓兩個句子互相看，連自己也看。這裡只有目標發問，只有來源回答。"),
)  # fmt: skip

EXERCISE = Exercise(
    name="cross-attention-weights",
    chapter=2,
    title=Text("How many attention weights?", "有多少個注意力權重？"),
    difficulty=2,
    minutes=4,
    reference=lambda: 280,
    cases=by_hand,
    alternatives=(lambda: 2 * 4 * 5 * 7, lambda: 280.0, lambda: torch.tensor(280)),
    mistakes=MISTAKES,
)
