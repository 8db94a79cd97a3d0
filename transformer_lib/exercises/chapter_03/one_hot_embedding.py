"""Exercise one-hot-embedding of chapter 3: embedding."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from transformer_lib.exercises.data import Case, Exercise, Text, mistakes
from transformer_lib.exercises.families import TOKENS_AS_COLUMNS
from transformer_lib.exercises.inputs import A_BATCH, ONE_SEQUENCE, normal


def one_hot_embedding(token_ids, W_E):
    return W_E[token_ids]


def _embedding_cases():
    randn = normal(31)
    return [
        Case(ONE_SEQUENCE, (torch.tensor([4, 0, 6, 4]), randn(7, 5))),
        Case(A_BATCH, (torch.tensor([[1, 5, 2], [0, 3, 3]]), randn(7, 5))),
        Case(
            Text("a batch of batches", "批次裡還有批次"),
            (torch.tensor([[[2, 0], [1, 1]]]), randn(6, 3)),
        ),
        Case(
            Text("a vocabulary as large as d_model", "詞彙表大小剛好等於 d_model"),
            (torch.tensor([3, 1, 0]), randn(4, 4)),
        ),
    ]


def _one_hot(token_ids: Tensor, W_E: Tensor) -> Tensor:
    return F.one_hot(token_ids, W_E.size(0)).to(W_E.dtype)


def _rows_one_by_one(token_ids, W_E):
    rows = torch.stack([W_E[w] for w in token_ids.flatten().tolist()])
    return rows.view(*token_ids.shape, -1)


MISTAKES = mistakes(
    ("weights-transposed", lambda token_ids, W_E: _one_hot(token_ids, W_E) @ W_E.mT,
     "W_E is transposed. With one-hot vectors as rows the product is O W_E; transposed it only fits when V = d_model, and then gives columns of W_E instead of rows.",
     "你把 W_E 轉置了。one-hot 向量是列的時候，要算的是 O W_E；轉置之後只有 V = d_model 時才對得上，而且得到的是 W_E 的行，不是列。"),
    ("columns", lambda token_ids, W_E: W_E[:, token_ids],
     "you take columns of W_E. A token owns a row: its id is an index of the first dimension.",
     "你取的是 W_E 的行。每個標記對應的是一列：編號要用在第一個維度。"),
    ("scaled-already", lambda token_ids, W_E: W_E[token_ids] * math.sqrt(W_E.size(-1)),
     "these are multiplied by √d_model already. Here the plain rows are asked for.",
     "你已經先乘上 √d_model 了。這一題要的是還沒縮放的列。"),
    ("divided", lambda token_ids, W_E: W_E[token_ids] / math.sqrt(W_E.size(-1)),
     "these are divided by √d_model. That belongs to scores, in chapter 4; embeddings are multiplied by it, and here not even that.",
     "你除以 √d_model 了。那是第 4 章算分數時才做的事；嵌入要用乘的，而且這一題連乘都不必。"),
    ("one-hot-returned", _one_hot,
     "these are the one-hot vectors. The second step is missing: what does W_E do with them?",
     "這是 one-hot 向量，還少第二步：W_E 要怎麼用在它們上面？"),
    ("vocabulary-guessed", lambda token_ids, W_E: F.one_hot(token_ids).to(W_E.dtype) @ W_E,
     "F.one_hot guesses the size of the vocabulary from the largest id it sees, so it fails where the last token does not occur. Tell it how many rows W_E has.",
     "F.one_hot 會從看到的最大編號去猜詞彙表的大小，最後一個標記沒出現時就會出錯。請告訴它 W_E 有幾列。"),
    ("ids-from-one", lambda token_ids, W_E: W_E[token_ids - 1],
     "you take the row before the right one. Ids count from 0, like rows. (Id 0 got the last row: Python counts -1 from the end.)",
     "你取到前一列了。編號和列一樣都從 0 開始。（編號 0 取到了最後一列，因為 Python 的 -1 是倒數第一個。）"),
    ("positions-instead-of-ids",
     lambda token_ids, W_E: W_E[torch.arange(token_ids.size(-1))].expand(*token_ids.shape, -1),
     "token i gets row i, whatever its id is. Positions come later; here only the id counts.",
     "不管編號是多少，第 i 個標記都拿到第 i 列。位置是之後的事，這裡只看編號。"),
    ("id-zero-as-padding",
     lambda token_ids, W_E: F.embedding(token_ids, W_E) * (token_ids != 0)[..., None],
     "the token with id 0 gets zeros. There is no padding here: 0 is an id like any other.",
     "編號 0 的標記變成全 0 了。這裡沒有填充，0 和其他編號一樣。"),
    ("id-zero-without-gradient", lambda token_ids, W_E: F.embedding(token_ids, W_E, padding_idx=0),
     "the numbers are right, but row 0 gets no gradient: padding_idx=0 holds it fixed. There is no padding here.",
     "數值是對的，但第 0 列沒有梯度：padding_idx=0 會讓它固定不變。這裡沒有填充。"),
    ("bag-of-words", lambda token_ids, W_E: W_E[token_ids].sum(-2),
     "you add up all tokens of a sentence. Each token keeps a row of its own.",
     "你把句子裡的標記全部加起來了。每個標記都要保留自己的一列。"),
    ("tokens-as-columns", lambda token_ids, W_E: W_E[token_ids].mT,
     TOKENS_AS_COLUMNS),
    ("batch-flattened", lambda token_ids, W_E: W_E[token_ids.flatten()],
     "right for one sequence, but a batch is flattened. The result has the dimensions of token_ids, and d_model after them.",
     "單一序列時是對的，但有批次時就攤平了。結果應該保留 token_ids 的維度，後面再接 d_model。"),
    ("detached", lambda token_ids, W_E: W_E.detach()[token_ids],
     "the numbers are right, but no gradient reaches W_E: it could never be learned. Leave out .detach(), .data and no_grad().",
     "數值是對的，但梯度傳不到 W_E，它永遠學不到東西。請拿掉 .detach()、.data 和 no_grad()。"),
)  # fmt: skip

EXERCISE = Exercise(
    name="one-hot-embedding",
    chapter=3,
    title=Text("Embedding", "嵌入"),
    difficulty=1,
    minutes=6,
    reference=one_hot_embedding,
    cases=_embedding_cases,
    alternatives=(
        lambda token_ids, W_E: F.embedding(token_ids, W_E),
        lambda token_ids, W_E: _one_hot(token_ids, W_E) @ W_E,
        lambda token_ids, W_E: F.linear(_one_hot(token_ids, W_E), W_E.mT),
        lambda token_ids, W_E: torch.einsum("...v,vd->...d", _one_hot(token_ids, W_E), W_E),
        lambda token_ids, W_E: torch.eye(len(W_E), dtype=W_E.dtype)[token_ids] @ W_E,
        _rows_one_by_one,
    ),
    mistakes=MISTAKES,
)
