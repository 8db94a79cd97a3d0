"""Exercise post-norm of chapter 7: post-norm."""

import torch

from transformer_lib.exercises.chapter_07.shared import (
    SHORT_CUT_DETACHED,
    SUBLAYER_DETACHED,
    post_norm,
    pre_norm,
    residual_cases,
    residual_mistakes,
)
from transformer_lib.exercises.data import Exercise, Text

MISTAKES = residual_mistakes(
    ("pre-norm", pre_norm,
     "that is pre-norm: the norm stands before the sublayer. In post-norm it comes last.",
     "這是 pre-norm：norm 在子層之前。post-norm 的 norm 在最後。"),
    ("short-cut-detached", lambda x, sublayer, norm: norm(x.detach() + sublayer(x)),
     SHORT_CUT_DETACHED),
    ("change-detached", lambda x, sublayer, norm: norm(x + sublayer(x).detach()),
     SUBLAYER_DETACHED),
    ("x-twice", lambda x, sublayer, norm: norm(2 * x + sublayer(x)), "x is added twice.", "x 加了兩次。"),
    ("halved", lambda x, sublayer, norm: norm((x + sublayer(x)) / 2),
     "you take the mean of x and the sublayer's result. It is their sum (the norm hides most of the difference, but not ε's).",
     "你取了 x 和子層結果的平均。應該是相加（正規化會遮掉大部分的差別，但 ε 的影響還在）。"),
)  # fmt: skip

EXERCISE = Exercise(
    name="post-norm",
    chapter=7,
    title=Text("Post-norm", "post-norm"),
    difficulty=1,
    minutes=4,
    reference=post_norm,
    cases=residual_cases,
    alternatives=(
        lambda x, sublayer, norm: norm(sublayer(x) + x),
        lambda x, sublayer, norm: norm(torch.add(x, sublayer(x))),
        lambda x, sublayer, norm: norm(torch.stack([x, sublayer(x)]).sum(0)),
    ),
    mistakes=MISTAKES,
)
