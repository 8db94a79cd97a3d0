"""Exercise rnn-step of chapter 1: A recurrent step."""

import torch
import torch.nn.functional as F

from transformer_lib.exercises.data import Case, Exercise, Text, mistakes
from transformer_lib.exercises.inputs import normal


def rnn_step(x_t, h, W_x, W_h, b):
    return torch.tanh(x_t @ W_x + h @ W_h + b)


def _rnn_cases():
    randn = normal(11)
    weights = randn(5, 4), randn(4, 4), randn(4)
    return [
        Case(Text("a single token", "單一標記"), (randn(5), randn(4), *weights)),
        Case(Text("a batch of tokens", "一個批次的標記"), (randn(3, 5), randn(3, 4), *weights)),
        Case(
            Text("two batch dimensions", "兩個批次維度"),
            (randn(2, 3, 5), randn(2, 3, 4), *weights),
        ),
        Case(
            Text("tokens as wide as the state", "標記和狀態一樣寬"),
            (randn(4), randn(4), randn(4, 4), randn(4, 4), randn(4)),
        ),
    ]


def _rnn_by_concatenation(x_t, h, W_x, W_h, b):
    return (torch.cat([x_t, h], -1) @ torch.cat([W_x, W_h]) + b).tanh()


MISTAKES = mistakes(
    ("no-tanh", lambda x_t, h, W_x, W_h, b: x_t @ W_x + h @ W_h + b,
     "the sum is right, but it is not yet the state: something presses it into the interval from −1 to 1.",
     "總和是對的，但還不是狀態：還要有個函數把它壓到 −1 和 1 之間。"),
    ("no-bias", lambda x_t, h, W_x, W_h, b: torch.tanh(x_t @ W_x + h @ W_h),
     "b is missing from your sum.",
     "你的總和少了 b。"),
    ("no-memory", lambda x_t, h, W_x, W_h, b: torch.tanh(x_t @ W_x + b),
     "the old state has no influence on your result: the network forgets everything at each step.",
     "舊的狀態對你的結果沒有影響：這個網路每走一步就全部忘光。"),
    ("no-input", lambda x_t, h, W_x, W_h, b: torch.tanh(h @ W_h + b),
     "the token has no influence on your result. Two things enter the state.",
     "標記對你的結果沒有影響。進到狀態裡的有兩樣東西。"),
    ("state-unweighted", lambda x_t, h, W_x, W_h, b: torch.tanh(x_t @ W_x + h + b),
     "you add the old state as it is. A matrix decides what becomes of it first.",
     "你直接把舊的狀態加進去了。要先由一個矩陣決定它變成什麼。"),
    ("W_h-transposed", lambda x_t, h, W_x, W_h, b: torch.tanh(x_t @ W_x + h @ W_h.mT + b),
     "W_h is transposed. It is square, so nothing crashes. Here vectors are rows; look at the side on which the matrix stands.",
     "W_h 轉置了。它是方陣，所以程式不會出錯。這裡的向量是列，看看矩陣該在哪一邊。"),
    ("both-transposed", lambda x_t, h, W_x, W_h, b: torch.tanh(x_t @ W_x.mT + h @ W_h.mT + b),
     "both matrices are transposed. nn.RNNCell stores them that way; here they fit as they are.",
     "兩個矩陣都轉置了。nn.RNNCell 是那樣存的；這裡的矩陣不必轉置就對得上。"),
    ("matrices-exchanged", lambda x_t, h, W_x, W_h, b: torch.tanh(x_t @ W_h + h @ W_x + b),
     "W_x and W_h have changed places. It fits only where the token is as wide as the state.",
     "W_x 和 W_h 對調了。只有標記和狀態一樣寬時才對得上。"),
    ("bias-outside", lambda x_t, h, W_x, W_h, b: torch.tanh(x_t @ W_x + h @ W_h) + b,
     "b comes too late: your state can leave the interval from −1 to 1.",
     "b 加得太晚了：你的狀態會跑出 −1 到 1 的範圍。"),
    ("tanh-of-each", lambda x_t, h, W_x, W_h, b: torch.tanh(x_t @ W_x) + torch.tanh(h @ W_h + b),
     "you take tanh of two parts and add them. Look at where the bracket closes.",
     "你對兩個部分分別取 tanh 再相加。看看公式裡 tanh 的括號括到哪裡。"),
    ("state-added-afterwards", lambda x_t, h, W_x, W_h, b: h + torch.tanh(x_t @ W_x + h @ W_h + b),
     "you add the old state to the new one. That is a residual connection, and it comes in a later chapter.",
     "你把舊的狀態加到新的狀態上了。那是殘差連接，後面的章節才會用到。"),
    ("sigmoid", lambda x_t, h, W_x, W_h, b: torch.sigmoid(x_t @ W_x + h @ W_h + b),
     "your state lies between 0 and 1. It should be able to become negative.",
     "你的狀態落在 0 和 1 之間。它應該也可以是負的。"),
    ("relu", lambda x_t, h, W_x, W_h, b: torch.relu(x_t @ W_x + h @ W_h + b),
     "negative sums are cut off at 0, and positive ones are not limited. This network uses another function.",
     "負的總和被截成 0，正的又沒有上限。這個網路用的是另一個函數。"),
    ("one-token-only",
     lambda x_t, h, W_x, W_h, b: torch.tanh(torch.mv(W_x.mT, x_t) + torch.mv(W_h.mT, h) + b),
     "right for a single token, but torch.mv takes exactly one vector. The operator @ takes any number of batch dimensions.",
     "單一標記時是對的，但 torch.mv 只接受剛好一個向量。用 @ 的話，批次維度再多都可以。"),
    ("one-batch-only",
     lambda x_t, h, W_x, W_h, b: torch.tanh(torch.mm(x_t, W_x) + torch.mm(h, W_h) + b),
     "right for one batch dimension, but torch.mm takes exactly two dimensions. The operator @ takes any number.",
     "一個批次維度時是對的，但 torch.mm 只接受剛好兩個維度。用 @ 就不限維度。"),
)  # fmt: skip

EXERCISE = Exercise(
    name="rnn-step",
    chapter=1,
    title=Text("A recurrent step", "遞迴的一步"),
    difficulty=1,
    minutes=5,
    reference=rnn_step,
    cases=_rnn_cases,
    alternatives=(
        lambda x_t, h, W_x, W_h, b: torch.tanh(F.linear(x_t, W_x.mT, b) + F.linear(h, W_h.mT)),
        lambda x_t, h, W_x, W_h, b: (
            torch.einsum("...i,ij->...j", x_t, W_x) + torch.einsum("...i,ij->...j", h, W_h) + b
        ).tanh(),
        lambda x_t, h, W_x, W_h, b: 2 * torch.sigmoid(2 * (x_t @ W_x + h @ W_h + b)) - 1,
        _rnn_by_concatenation,
    ),
    mistakes=MISTAKES,
)
