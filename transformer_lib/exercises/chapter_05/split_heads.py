"""Exercise split-heads of chapter 5: split the heads."""

import torch

from transformer_lib.exercises.chapter_05.shared import (
    AS_MANY_TOKENS_AS_HEADS,
    INTERLEAVED,
    ONE_BATCH_DIMENSION,
    ONE_HEAD,
    split_by_view,
    split_heads,
    split_interleaved,
)
from transformer_lib.exercises.data import Case, Exercise, Text, mistakes
from transformer_lib.exercises.inputs import A_BATCH, ONE_SEQUENCE, TWO_BATCHES, normal

_ONE_SEQUENCE_ONLY = Text(
    "right without a batch. With one, the heads stand in the first dimension; they belong after all batch dimensions.",
    "沒有批次時是對的。有批次時，頭跑到第一個維度了；頭應該排在所有批次維度之後。",
)


def _split_cases():
    randn = normal(51)
    return [
        Case(ONE_SEQUENCE, (randn(5, 6), 2)),
        Case(A_BATCH, (randn(2, 5, 12), 3)),
        Case(TWO_BATCHES, (randn(2, 3, 4, 10), 5)),
        Case(AS_MANY_TOKENS_AS_HEADS, (randn(2, 3, 12), 3)),
        Case(ONE_HEAD, (randn(3, 4), 1)),
    ]


def _split_by_slices(x, n_heads):
    d_k = x.size(-1) // n_heads
    return torch.stack([x[..., i * d_k : (i + 1) * d_k] for i in range(n_heads)], dim=-3)


def _split_tokens(x, n_heads):
    return x.unflatten(-2, (n_heads, -1))


MISTAKES = mistakes(
    ("view-without-transpose", split_by_view,
     "the shape is right, its numbers are not: view and reshape only cut the same row of numbers differently, so a head gets whole tokens, chopped up, instead of its columns of every token. Cut first; then two dimensions have to change places.",
     "形狀對了，但裡面的數不對：view 和 reshape 只是把同一串數字重新切段，結果一個頭拿到的是切碎的幾個標記，而不是每個標記裡屬於它的那幾行。先切開，再讓兩個維度對調。"),
    ("heads-not-moved", lambda x, n_heads: x.unflatten(-1, (n_heads, -1)),
     "cut correctly, but the heads stand after the tokens: (…, n, n_heads, d_k). Attention works on the last two dimensions, so those must be n and d_k.",
     "切得沒錯，但頭排在標記後面：(…, n, n_heads, d_k)。注意力只看最後兩個維度，所以這兩個必須是 n 和 d_k。"),
    ("interleaved", split_interleaved, INTERLEAVED),
    ("n_heads-and-d_k-exchanged", lambda x, n_heads: x.unflatten(-1, (-1, n_heads)).transpose(-3, -2),
     "you get d_k heads of n_heads columns each. It should be n_heads heads of d_k columns.",
     "你切成了 d_k 個頭，每個頭 n_heads 行。應該是 n_heads 個頭，每個頭 d_k 行。"),
    ("one-batch-dimension", lambda x, n_heads: x.unflatten(-1, (n_heads, -1)).transpose(1, 2),
     ONE_BATCH_DIMENSION),
    ("one-sequence-only", lambda x, n_heads: torch.stack(x.chunk(n_heads, dim=-1)), _ONE_SEQUENCE_ONLY),
    ("transposed-heads", lambda x, n_heads: x.unflatten(-1, (n_heads, -1)).movedim(-3, -1),
     "each head lies on its side, (d_k, n). Within a head, too, a token is a row.",
     "每個頭的列和行都對調了，變成 (d_k, n)。在一個頭裡，一個標記仍然是一列。"),
    ("tokens-split", _split_tokens,
     "you cut the sequence: each head gets some of the tokens. Each head should see all tokens, and some of the columns.",
     "你切的是序列：每個頭只拿到一部分的標記。每個頭應該看到所有標記，只分到一部分的行。"),
    ("copies", lambda x, n_heads: x.unsqueeze(-3).expand(*x.shape[:-2], n_heads, *x.shape[-2:]),
     "every head gets all d_model columns. They should share them out: d_model / n_heads each.",
     "每個頭都拿到全部 d_model 行。這些行應該分給各個頭，每個頭 d_model / n_heads 行。"),
    ("heads-into-the-batch", lambda x, n_heads: split_heads(x, n_heads).flatten(0, -3),
     "the heads are right, but they have melted into one dimension with the batch. Keep the batch dimensions in front.",
     "頭切對了，但和批次混成同一個維度了。前面的批次維度要保留。"),
    ("backwards", lambda x, n_heads: split_heads(x, n_heads).flip(-3),
     "the heads come in reverse order: the first d_k columns belong to head 0.",
     "頭的順序反了：最前面的 d_k 行屬於第 0 個頭。"),
)  # fmt: skip

EXERCISE = Exercise(
    name="split-heads",
    chapter=5,
    title=Text("Split the heads", "切成好幾個頭"),
    difficulty=1,
    minutes=8,
    reference=split_heads,
    cases=_split_cases,
    alternatives=(
        _split_by_slices,
        lambda x, n_heads: torch.stack(x.chunk(n_heads, dim=-1), dim=-3),
        lambda x, n_heads: x.reshape(*x.shape[:-1], n_heads, -1).movedim(-2, -3),
        lambda x, n_heads: torch.einsum("...nhd->...hnd", x.unflatten(-1, (n_heads, -1))),
    ),
    mistakes=MISTAKES,
)
