"""Exercise feed-forward of chapter 6: the feed-forward network."""

import torch
import torch.nn.functional as F

from transformer_lib.exercises.chapter_06.shared import (
    LARGE,
    ONE_TOKEN,
    RESIDUAL,
    SQUARE,
    W_2_TRANSPOSED,
)
from transformer_lib.exercises.data import Case, Exercise, Text, mistakes
from transformer_lib.exercises.families import ONE_SEQUENCE_MM
from transformer_lib.exercises.inputs import A_BATCH, ONE_SEQUENCE, TWO_BATCHES, normal


def feed_forward(x, W_1, b_1, W_2, b_2):
    return (x @ W_1 + b_1).relu() @ W_2 + b_2


def _network_cases():
    randn = normal(61)
    weights = randn(5, 8), randn(8), randn(8, 5), randn(5)
    square = randn(4, 4), randn(4), randn(4, 4), randn(4)
    return [
        Case(ONE_SEQUENCE, (randn(3, 5), *weights)),
        Case(A_BATCH, (randn(2, 3, 5), *weights)),
        Case(TWO_BATCHES, (randn(2, 3, 4, 5), *weights)),
        Case(ONE_TOKEN, (randn(5), *weights)),
        Case(SQUARE, (randn(3, 4), *square)),
        Case(LARGE, (1000 * randn(3, 5), *weights)),
    ]


def _with_activation(act):
    """The network with another function in place of the ReLU."""
    return lambda x, W_1, b_1, W_2, b_2: act(x @ W_1 + b_1) @ W_2 + b_2


def _unit_by_unit(x, W_1, b_1, W_2, b_2):
    units = zip(W_1.mT, b_1, W_2, strict=True)
    return sum((x @ k + b).relu()[..., None] * v for k, b, v in units) + b_2


MISTAKES = mistakes(
    ("no-activation", _with_activation(lambda h: h),
     "the ReLU is missing. Without it both matrices together are just one.",
     "少了 ReLU。沒有它，兩個矩陣合起來就只是一個矩陣。"),
    ("relu-at-the-end", lambda x, W_1, b_1, W_2, b_2: ((x @ W_1 + b_1) @ W_2 + b_2).relu(),
     "the ReLU stands after the second matrix. It belongs between the two.",
     "ReLU 放到第二個矩陣後面了。它應該在兩個矩陣之間。"),
    ("relu-twice", lambda *args: feed_forward(*args).relu(),
     "the hidden layer is right, but there is a ReLU at the end as well. The result may be negative.",
     "隱藏層是對的，但最後又多了一個 ReLU。結果可以是負的。"),
    ("relu-on-the-input", lambda x, W_1, b_1, W_2, b_2: (x.relu() @ W_1 + b_1) @ W_2 + b_2,
     "the ReLU is applied to x. First the matrix W_1 and its bias, then the ReLU.",
     "你對 x 做了 ReLU。要先乘 W_1、加偏置，再做 ReLU。"),
    ("relu-before-the-bias", lambda x, W_1, b_1, W_2, b_2: ((x @ W_1).relu() + b_1) @ W_2 + b_2,
     "b_1 is added after the ReLU. It moves the threshold, so it must come before.",
     "b_1 加在 ReLU 之後了。它的作用是移動門檻，所以要先加。"),
    ("b_1-missing", lambda x, W_1, b_1, W_2, b_2: (x @ W_1).relu() @ W_2 + b_2,
     "b_1 is not used.",
     "b_1 沒有用到。"),
    ("b_2-missing", lambda x, W_1, b_1, W_2, b_2: (x @ W_1 + b_1).relu() @ W_2,
     "b_2 is not used.",
     "b_2 沒有用到。"),
    ("no-biases", lambda x, W_1, b_1, W_2, b_2: (x @ W_1).relu() @ W_2,
     "neither bias is used.",
     "兩個偏置都沒有用到。"),
    ("biases-exchanged", lambda x, W_1, b_1, W_2, b_2: (x @ W_1 + b_2).relu() @ W_2 + b_1,
     "the biases have changed places. It only fits where d_ff equals d_model.",
     "兩個偏置放反了。只有 d_ff 剛好等於 d_model 時才對得上。"),
    ("b_1-twice", lambda x, W_1, b_1, W_2, b_2: (x @ W_1 + b_1).relu() @ W_2 + b_1,
     "b_1 is added at the end, too. Which bias belongs to W_2?",
     "最後加的也是 b_1。跟 W_2 配對的是哪一個偏置？"),
    ("b_1-again-through-W_2", lambda x, W_1, b_1, W_2, b_2: ((x @ W_1 + b_1).relu() + b_1) @ W_2 + b_2,
     "b_1 is added twice, before and after the ReLU.",
     "b_1 加了兩次：ReLU 前、後各一次。"),
    ("biases-subtracted", lambda x, W_1, b_1, W_2, b_2: (x @ W_1 - b_1).relu() @ W_2 - b_2,
     "the biases are subtracted. They are added.",
     "偏置應該用加的，你用減的。"),
    ("b_1-subtracted", lambda x, W_1, b_1, W_2, b_2: (x @ W_1 - b_1).relu() @ W_2 + b_2,
     "b_1 is subtracted. It is added.",
     "b_1 應該用加的，你用減的。"),
    ("negative-part", _with_activation(lambda h: h.clamp(max=0)),
     "you keep the negative numbers: this is min(0, z). The ReLU keeps the positive ones.",
     "你留下的是負數，這是 min(0, z)。ReLU 要留下的是正數。"),
    ("absolute-value", _with_activation(torch.abs),
     "negative numbers lose their sign. The ReLU makes them 0.",
     "負數變成正的了。ReLU 要讓負數變成 0。"),
    ("leaky", _with_activation(F.leaky_relu),
     "a hundredth of each negative number is left: this is the leaky ReLU.",
     "負數還留下百分之一：這是 leaky ReLU。"),
    ("step", _with_activation(lambda h: (h > 0).to(h.dtype)),
     "your hidden layer holds 0 and 1 only. The ReLU lets a positive number through as it is.",
     "你的隱藏層只有 0 和 1。ReLU 會讓正數原樣通過。"),
    ("clipped-at-one", _with_activation(lambda h: h.clamp(0, 1)),
     "your hidden layer stops at 1. The ReLU has no upper limit.",
     "你的隱藏層最大只到 1。ReLU 沒有上限。"),
    ("clipped-at-six", _with_activation(F.relu6),
     "this is ReLU6: your hidden layer stops at 6.",
     "這是 ReLU6：隱藏層最大只到 6。"),
    ("gelu-instead", _with_activation(F.gelu),
     "the activation is GELU. Here ReLU is asked for.",
     "你用的是 GELU，這裡要用 ReLU。"),
    ("silu-instead", _with_activation(F.silu),
     "the activation is SiLU. Here ReLU is asked for.",
     "你用的是 SiLU，這裡要用 ReLU。"),
    ("elu-instead", _with_activation(F.elu),
     "the activation is ELU. Here ReLU is asked for.",
     "你用的是 ELU，這裡要用 ReLU。"),
    ("sigmoid-instead", _with_activation(torch.sigmoid),
     "your hidden layer lies between 0 and 1: that is the sigmoid. Here ReLU is asked for.",
     "你的隱藏層都在 0 和 1 之間：這是 sigmoid，這裡要用 ReLU。"),
    ("tanh-instead", _with_activation(torch.tanh),
     "your hidden layer lies between −1 and 1: that is tanh. Here ReLU is asked for.",
     "你的隱藏層都在 −1 和 1 之間：這是 tanh，這裡要用 ReLU。"),
    ("softmax-instead", _with_activation(lambda h: h.softmax(-1)),
     "your hidden layer sums to 1. The units do not compete: each decides by itself.",
     "你的隱藏層加起來等於 1。這裡的單元不互相競爭，各自決定就好。"),
    ("largest-unit-only", _with_activation(lambda h: h.amax(-1, keepdim=True).relu().expand_as(h)),
     "this is the maximum over all units. max(0, z) compares each number with 0, by itself.",
     "這是所有單元裡的最大值。max(0, z) 是每個數各自跟 0 比。"),
    ("relu-on-the-input-too", lambda x, *weights: feed_forward(x.relu(), *weights),
     "there is a ReLU on x as well. Only the hidden layer has one.",
     "你對 x 也做了 ReLU。只有隱藏層要做。"),
    ("relu-of-the-bias", lambda x, W_1, b_1, W_2, b_2: (x @ W_1 + b_1.relu()) @ W_2 + b_2,
     "the ReLU reaches b_1 only. It is applied to the whole sum: look at the parentheses.",
     "ReLU 只作用在 b_1 上。它要作用在整個和上：檢查一下括號。"),
    ("relu-of-the-negative", _with_activation(lambda h: (-h).relu()),
     "this is max(0, −z): the units answer where they should be silent.",
     "這是 max(0, −z)：該是 0 的單元反而有輸出。"),
    ("bias-on-the-matrix-W_1", lambda x, W_1, b_1, W_2, b_2: feed_forward(x, W_1 + b_1, 0, W_2, b_2),
     "b_1 is added to W_1. First the product x @ W_1, then add b_1.",
     "你把 b_1 加到 W_1 上了。要先算 x @ W_1，再加 b_1。"),
    ("bias-on-the-matrix-W_2", lambda x, W_1, b_1, W_2, b_2: feed_forward(x, W_1, b_1, W_2 + b_2, 0),
     "b_2 is added to W_2, so it gets multiplied by the hidden layer. First the product, then add b_2.",
     "你把 b_2 加到 W_2 上，它就跟著乘上隱藏層了。要先相乘，再加 b_2。"),
    ("scaled", lambda x, W_1, *others: feed_forward(x / W_1.shape[-2] ** 0.5, W_1, *others),
     "you divide by √d_model. That belongs to attention; here nothing is scaled.",
     "你除以 √d_model 了。那是注意力才要做的，這裡不用縮放。"),
    ("mean-over-the-units", lambda x, W_1, b_1, W_2, b_2: (x @ W_1 + b_1).relu() @ W_2 / len(W_2) + b_2,
     "you take the mean over the units. They are added up.",
     "你對各單元取了平均。應該用加的。"),
    ("sum-over-the-tokens", lambda x, W_1, b_1, W_2, b_2: ((x @ W_1 + b_1).relu() @ W_2).sum(-2) + b_2,
     "the tokens are added up. Each keeps its own row.",
     "你把各個標記加起來了。每個標記都要保留自己的一列。"),
    ("softplus-instead", _with_activation(F.softplus),
     "the activation is softplus, a smoothed ReLU. Here ReLU itself is asked for.",
     "你用的是 softplus，也就是磨圓的 ReLU。這裡要用 ReLU 本身。"),
    ("squared", _with_activation(lambda h: h.relu() ** 2),
     "the hidden layer is squared. The ReLU lets a positive number through as it is.",
     "你把隱藏層平方了。ReLU 會讓正數原樣通過。"),
    ("normalised", lambda x, *weights: F.layer_norm(feed_forward(x, *weights), x.shape[-1:]),
     "the result is normalised. The norm comes later, outside the network.",
     "你把結果正規化了。正規化是之後的事，不在這個網路裡面。"),
    ("residual", lambda x, *weights: x + feed_forward(x, *weights), RESIDUAL),
    ("W_1-transposed", lambda x, W_1, b_1, W_2, b_2: (x @ W_1.mT + b_1).relu() @ W_2 + b_2,
     "W_1 is transposed. It has shape (d_model, d_ff), so x @ W_1 fits as it stands. (nn.Linear stores its weight the other way round.)",
     "你把 W_1 轉置了。它的形狀是 (d_model, d_ff)，直接 x @ W_1 就對得上。（nn.Linear 存的權重是轉置過的。）"),
    ("W_2-transposed", lambda x, W_1, b_1, W_2, b_2: (x @ W_1 + b_1).relu() @ W_2.mT + b_2,
     W_2_TRANSPOSED),
    ("both-transposed", lambda x, W_1, b_1, W_2, b_2: (x @ W_1.mT + b_1).relu() @ W_2.mT + b_2,
     "both matrices are transposed; only square ones allow that. Tokens are rows here: x @ W_1.",
     "兩個矩陣都轉置了，只有方陣才算得出來。這裡一個標記是一列：x @ W_1。"),
    ("weights-tied", lambda x, W_1, b_1, W_2, b_2: (x @ W_1 + b_1).relu() @ W_1.mT + b_2,
     "you go back with W_1, transposed. The way back has a matrix of its own.",
     "回程時你用了轉置的 W_1。回程有自己的矩陣。"),
    ("order-exchanged", lambda x, W_1, b_1, W_2, b_2: (x @ W_2 + b_2).relu() @ W_1 + b_1,
     "the layers have changed places: W_1 comes first.",
     "兩層的順序對調了：先用 W_1。"),
    ("one-sequence-only",
     lambda x, W_1, b_1, W_2, b_2: torch.mm(torch.mm(x, W_1).add(b_1).relu(), W_2) + b_2,
     ONE_SEQUENCE_MM),
    ("hidden-layer-only", lambda x, W_1, b_1, W_2, b_2: (x @ W_1 + b_1).relu(),
     "this is the hidden layer, of width d_ff. The way back is missing.",
     "這是寬度 d_ff 的隱藏層，還少了回程的那一步。"),
)  # fmt: skip

EXERCISE = Exercise(
    name="feed-forward",
    chapter=6,
    title=Text("The feed-forward network", "前饋神經網路"),
    difficulty=1,
    minutes=5,
    reference=feed_forward,
    cases=_network_cases,
    alternatives=(
        lambda x, W_1, b_1, W_2, b_2: F.linear(F.linear(x, W_1.mT, b_1).relu(), W_2.mT, b_2),
        _with_activation(lambda h: h.clamp(min=0)),
        _with_activation(lambda h: torch.where(h > 0, h, 0)),
        _with_activation(lambda h: h * (h > 0)),
        _unit_by_unit,
    ),
    mistakes=MISTAKES,
)
