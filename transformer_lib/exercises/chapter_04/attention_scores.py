"""Exercise attention-scores of chapter 4: scores."""

import math

import torch

from transformer_lib.exercises.chapter_04.shared import score_cases, score_mistakes, scores_by_loops
from transformer_lib.exercises.data import Exercise, Text, mistakes


def attention_scores(q, k):
    return q @ k.transpose(-2, -1)


MISTAKES = mistakes(
    *score_mistakes(lambda scores, q: scores),
    ("scaled-already", lambda q, k: q @ k.mT / math.sqrt(q.size(-1)),
     "these are already divided by √d_k. Here the plain dot products are asked for.",
     "你已經先除以 √d_k 了。這一題要的是還沒縮放的內積。"),
    ("softmax-already", lambda q, k: (q @ k.mT).softmax(-1),
     "your rows sum to 1: the softmax has been applied already. Scores come before it.",
     "你的每一列加起來是 1：已經套用 softmax 了。分數是 softmax 之前的東西。"),
    ("absolute-value", lambda q, k: (q @ k.mT).abs(),
     "your scores are never negative. A dot product may be; it says: these two do not match.",
     "你的分數沒有負值。內積可以是負的，代表這兩個向量方向大致相反。"),
)  # fmt: skip

EXERCISE = Exercise(
    name="attention-scores",
    chapter=4,
    title=Text("Scores", "分數"),
    difficulty=1,
    minutes=5,
    reference=attention_scores,
    cases=score_cases,
    alternatives=(
        lambda q, k: torch.einsum("...qd,...kd->...qk", q, k),
        lambda q, k: (k @ q.mT).mT,
        lambda q, k: torch.matmul(q, k.swapaxes(-1, -2)),
        lambda q, k: (q.unsqueeze(-2) * k.unsqueeze(-3)).sum(-1),
        scores_by_loops,
    ),
    mistakes=MISTAKES,
)
