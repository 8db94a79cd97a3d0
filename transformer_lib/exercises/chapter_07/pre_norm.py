"""Exercise pre-norm of chapter 7: pre-norm."""

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
    ("post-norm", post_norm,
     "that is post-norm: the norm comes last, on the highway itself. In pre-norm it stands inside the branch, before the sublayer.",
     "這是 post-norm：norm 在最後，擋在主幹道上。pre-norm 的 norm 在分支裡，子層之前。"),
    ("short-cut-detached", lambda x, sublayer, norm: x.detach() + sublayer(norm(x)),
     SHORT_CUT_DETACHED),
    ("change-detached", lambda x, sublayer, norm: x + sublayer(norm(x)).detach(),
     SUBLAYER_DETACHED),
    ("minus-for-plus", lambda x, sublayer, norm: x - sublayer(norm(x)),
     "you subtract what the sublayer returns. It is a plus sign.",
     "你減去子層的結果了。應該用加號。"),
    ("norm-before-and-after-the-sublayer", lambda x, sublayer, norm: x + norm(sublayer(norm(x))),
     "the sublayer's result is normalised once more. Only its input is.",
     "子層的結果又正規化了一次。只有子層的輸入要正規化。"),
    ("x-twice", lambda x, sublayer, norm: 2 * x + sublayer(norm(x)), "x is added twice.", "x 加了兩次。"),
)  # fmt: skip

EXERCISE = Exercise(
    name="pre-norm",
    chapter=7,
    title=Text("Pre-norm", "pre-norm"),
    difficulty=1,
    minutes=4,
    reference=pre_norm,
    cases=residual_cases,
    alternatives=(
        lambda x, sublayer, norm: sublayer(norm(x)) + x,
        lambda x, sublayer, norm: torch.add(x, sublayer(norm(x))),
        lambda x, sublayer, norm: torch.stack([x, sublayer(norm(x))]).sum(0),
    ),
    mistakes=MISTAKES,
)
