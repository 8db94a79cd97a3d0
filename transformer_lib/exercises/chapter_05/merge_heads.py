"""Exercise merge-heads of chapter 5: merge the heads."""

import torch

from transformer_lib.exercises.chapter_05.shared import (
    AS_MANY_TOKENS_AS_HEADS,
    INTERLEAVED,
    ONE_BATCH_DIMENSION,
    ONE_HEAD,
    merge_by_view,
    merge_heads,
)
from transformer_lib.exercises.data import Case, Exercise, Text, mistakes
from transformer_lib.exercises.families import TOKENS_AS_COLUMNS
from transformer_lib.exercises.inputs import A_BATCH, ONE_SEQUENCE, TWO_BATCHES, normal


def _merge_cases():
    randn = normal(52)
    return [
        Case(ONE_SEQUENCE, (randn(2, 5, 3),)),
        Case(A_BATCH, (randn(2, 3, 5, 4),)),
        Case(TWO_BATCHES, (randn(2, 4, 3, 5, 6),)),
        Case(AS_MANY_TOKENS_AS_HEADS, (randn(2, 3, 3, 5),)),
        Case(ONE_HEAD, (randn(2, 1, 3, 4),)),
    ]


def _merge_by_view_of_transposed(x):
    *batch, n_heads, n, d_k = x.shape
    return x.transpose(-3, -2).view(*batch, n, n_heads * d_k)


MISTAKES = mistakes(
    ("merge-without-transpose", merge_by_view,
     "the shape is right, its numbers are not: without a transpose one row is filled with several tokens of the same head. Which two dimensions have to be neighbours before they may melt into one?",
     "形狀對了，但裡面的數不對：沒有先轉置，同一個頭的好幾個標記就塞進了同一列。想一想，哪兩個維度要先相鄰，才能合併成一個？"),
    ("view-after-transpose", _merge_by_view_of_transposed,
     "transposed correctly, but view refuses: after a transpose the numbers no longer lie in memory in the order of the shape. reshape and flatten make a copy where they need one.",
     "轉置對了，但 view 不肯做：轉置之後，記憶體裡的順序和形狀的順序不再一致。reshape 和 flatten 會在需要時自己複製一份。"),
    ("interleaved", lambda x: x.movedim(-3, -1).flatten(-2), INTERLEAVED),
    ("not-flattened", lambda x: x.transpose(-3, -2),
     "the heads now stand next to their token, (…, n, n_heads, d_k). One step is missing: the last two dimensions become one.",
     "頭已經排到各自的標記旁邊了：(…, n, n_heads, d_k)。還差一步：最後兩個維度要合成一個。"),
    ("one-batch-dimension", lambda x: x.transpose(1, 2).flatten(2), ONE_BATCH_DIMENSION),
    ("one-below-the-other", lambda x: x.flatten(-3, -2),
     "the heads stand below each other, as n_heads · n rows. They belong side by side: a row for each token.",
     "頭排成上下了，變成 n_heads · n 列。應該左右並排：一個標記一列。"),
    ("summed", lambda x: x.sum(-3),
     "the heads are added up. Concatenation keeps them apart, side by side; W_O does the mixing later.",
     "你把各個頭加起來了。串接是讓它們並排、各自保留；混合是之後 W_O 的工作。"),
    ("averaged", lambda x: x.mean(-3),
     "the heads are averaged. Concatenation keeps them apart, side by side.",
     "你把各個頭平均了。串接是讓它們並排、各自保留。"),
    ("first-head", lambda x: x[..., 0, :, :], "only the first head is left.", "只剩下第一個頭。"),
    ("on-its-side", lambda x: merge_heads(x).mT,
     TOKENS_AS_COLUMNS),
    ("backwards", lambda x: merge_heads(x.flip(-3)),
     "the heads come in reverse order: head 0 has the first columns.",
     "頭的順序反了：第 0 個頭應該在最前面的幾行。"),
)  # fmt: skip

EXERCISE = Exercise(
    name="merge-heads",
    chapter=5,
    title=Text("Merge the heads", "把頭併回來"),
    difficulty=1,
    minutes=6,
    reference=merge_heads,
    cases=_merge_cases,
    alternatives=(
        lambda x: torch.cat(x.unbind(-3), dim=-1),
        lambda x: x.movedim(-3, -2).reshape(*x.shape[:-3], x.size(-2), -1),
        lambda x: torch.einsum("...hnd->...nhd", x).flatten(-2),
        lambda x: x.transpose(-3, -2).contiguous().view(*x.shape[:-3], x.size(-2), -1),
    ),
    mistakes=MISTAKES,
)
