"""Exercises of chapter 6, the feed-forward network: the right answers, and the wrong ones."""

import math

import torch
import torch.nn.functional as F

from transformer_lib.exercises.data import Case, Exercise, Mistake, Text
from transformer_lib.exercises.inputs import A_BATCH, ONE_SEQUENCE, TWO_BATCHES, by_hand, normal

ONE_TOKEN = Text("a single token", "只有一個標記")
SQUARE = Text("square weight matrices", "權重矩陣是方陣")
LARGE = Text("very large entries", "很大的數")

# Hints that several exercises give.
_RESIDUAL = Text(
    "x is added to the result. The residual connection comes later, outside the network.",
    "結果多加了 x。殘差連接是之後的事，不在這個網路裡面。",
)
_ONE_SEQUENCE_MM = Text(
    "right for one sequence, but torch.mm takes exactly two dimensions. The operator @ takes any number.",
    "單一序列時是對的，但 torch.mm 只接受剛好兩個維度。用 @ 就不限維度。",
)
_W_2_TRANSPOSED = Text(
    "W_2 is transposed. It has shape (d_ff, d_model), so @ W_2 fits as it stands.",
    "你把 W_2 轉置了。它的形狀是 (d_ff, d_model)，直接 @ W_2 就對得上。",
)

# --- feed-forward -------------------------------------------------------------------------


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


FEED_FORWARD = Exercise(
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
    mistakes=(
        Mistake(
            "no-activation",
            _with_activation(lambda h: h),
            Text(
                "the ReLU is missing. Without it both matrices together are just one.",
                "少了 ReLU。沒有它，兩個矩陣合起來就只是一個矩陣。",
            ),
        ),
        Mistake(
            "relu-at-the-end",
            lambda x, W_1, b_1, W_2, b_2: ((x @ W_1 + b_1) @ W_2 + b_2).relu(),
            Text(
                "the ReLU stands after the second matrix. It belongs between the two.",
                "ReLU 放到第二個矩陣後面了。它應該在兩個矩陣之間。",
            ),
        ),
        Mistake(
            "relu-twice",
            lambda *args: feed_forward(*args).relu(),
            Text(
                "the hidden layer is right, but there is a ReLU at the end as well. "
                "The result may be negative.",
                "隱藏層是對的，但最後又多了一個 ReLU。結果可以是負的。",
            ),
        ),
        Mistake(
            "relu-on-the-input",
            lambda x, W_1, b_1, W_2, b_2: (x.relu() @ W_1 + b_1) @ W_2 + b_2,
            Text(
                "the ReLU is applied to x. First the matrix W_1 and its bias, then the ReLU.",
                "你對 x 做了 ReLU。要先乘 W_1、加偏置，再做 ReLU。",
            ),
        ),
        Mistake(
            "relu-before-the-bias",
            lambda x, W_1, b_1, W_2, b_2: ((x @ W_1).relu() + b_1) @ W_2 + b_2,
            Text(
                "b_1 is added after the ReLU. It moves the threshold, so it must come before.",
                "b_1 加在 ReLU 之後了。它的作用是移動門檻，所以要先加。",
            ),
        ),
        Mistake(
            "b_1-missing",
            lambda x, W_1, b_1, W_2, b_2: (x @ W_1).relu() @ W_2 + b_2,
            Text("b_1 is not used.", "b_1 沒有用到。"),
        ),
        Mistake(
            "b_2-missing",
            lambda x, W_1, b_1, W_2, b_2: (x @ W_1 + b_1).relu() @ W_2,
            Text("b_2 is not used.", "b_2 沒有用到。"),
        ),
        Mistake(
            "no-biases",
            lambda x, W_1, b_1, W_2, b_2: (x @ W_1).relu() @ W_2,
            Text("neither bias is used.", "兩個偏置都沒有用到。"),
        ),
        Mistake(
            "biases-exchanged",
            lambda x, W_1, b_1, W_2, b_2: (x @ W_1 + b_2).relu() @ W_2 + b_1,
            Text(
                "the biases have changed places. It only fits where d_ff equals d_model.",
                "兩個偏置放反了。只有 d_ff 剛好等於 d_model 時才對得上。",
            ),
        ),
        Mistake(
            "b_1-twice",
            lambda x, W_1, b_1, W_2, b_2: (x @ W_1 + b_1).relu() @ W_2 + b_1,
            Text(
                "b_1 is added at the end, too. Which bias belongs to W_2?",
                "最後加的也是 b_1。跟 W_2 配對的是哪一個偏置？",
            ),
        ),
        Mistake(
            "b_1-again-through-W_2",
            lambda x, W_1, b_1, W_2, b_2: ((x @ W_1 + b_1).relu() + b_1) @ W_2 + b_2,
            Text(
                "b_1 is added twice, before and after the ReLU.",
                "b_1 加了兩次：ReLU 前、後各一次。",
            ),
        ),
        Mistake(
            "biases-subtracted",
            lambda x, W_1, b_1, W_2, b_2: (x @ W_1 - b_1).relu() @ W_2 - b_2,
            Text("the biases are subtracted. They are added.", "偏置應該用加的，你用減的。"),
        ),
        Mistake(
            "b_1-subtracted",
            lambda x, W_1, b_1, W_2, b_2: (x @ W_1 - b_1).relu() @ W_2 + b_2,
            Text("b_1 is subtracted. It is added.", "b_1 應該用加的，你用減的。"),
        ),
        Mistake(
            "negative-part",
            _with_activation(lambda h: h.clamp(max=0)),
            Text(
                "you keep the negative numbers: this is min(0, z). The ReLU keeps the positive ones.",
                "你留下的是負數，這是 min(0, z)。ReLU 要留下的是正數。",
            ),
        ),
        Mistake(
            "absolute-value",
            _with_activation(torch.abs),
            Text(
                "negative numbers lose their sign. The ReLU makes them 0.",
                "負數變成正的了。ReLU 要讓負數變成 0。",
            ),
        ),
        Mistake(
            "leaky",
            _with_activation(F.leaky_relu),
            Text(
                "a hundredth of each negative number is left: this is the leaky ReLU.",
                "負數還留下百分之一：這是 leaky ReLU。",
            ),
        ),
        Mistake(
            "step",
            _with_activation(lambda h: (h > 0).to(h.dtype)),
            Text(
                "your hidden layer holds 0 and 1 only. The ReLU lets a positive number through as it is.",
                "你的隱藏層只有 0 和 1。ReLU 會讓正數原樣通過。",
            ),
        ),
        Mistake(
            "clipped-at-one",
            _with_activation(lambda h: h.clamp(0, 1)),
            Text(
                "your hidden layer stops at 1. The ReLU has no upper limit.",
                "你的隱藏層最大只到 1。ReLU 沒有上限。",
            ),
        ),
        Mistake(
            "clipped-at-six",
            _with_activation(F.relu6),
            Text("this is ReLU6: your hidden layer stops at 6.", "這是 ReLU6：隱藏層最大只到 6。"),
        ),
        Mistake(
            "gelu-instead",
            _with_activation(F.gelu),
            Text(
                "the activation is GELU. Here ReLU is asked for.", "你用的是 GELU，這裡要用 ReLU。"
            ),
        ),
        Mistake(
            "silu-instead",
            _with_activation(F.silu),
            Text(
                "the activation is SiLU. Here ReLU is asked for.", "你用的是 SiLU，這裡要用 ReLU。"
            ),
        ),
        Mistake(
            "elu-instead",
            _with_activation(F.elu),
            Text("the activation is ELU. Here ReLU is asked for.", "你用的是 ELU，這裡要用 ReLU。"),
        ),
        Mistake(
            "sigmoid-instead",
            _with_activation(torch.sigmoid),
            Text(
                "your hidden layer lies between 0 and 1: that is the sigmoid. Here ReLU is asked for.",
                "你的隱藏層都在 0 和 1 之間：這是 sigmoid，這裡要用 ReLU。",
            ),
        ),
        Mistake(
            "tanh-instead",
            _with_activation(torch.tanh),
            Text(
                "your hidden layer lies between −1 and 1: that is tanh. Here ReLU is asked for.",
                "你的隱藏層都在 −1 和 1 之間：這是 tanh，這裡要用 ReLU。",
            ),
        ),
        Mistake(
            "softmax-instead",
            _with_activation(lambda h: h.softmax(-1)),
            Text(
                "your hidden layer sums to 1. The units do not compete: each decides by itself.",
                "你的隱藏層加起來等於 1。這裡的單元不互相競爭，各自決定就好。",
            ),
        ),
        Mistake(
            "largest-unit-only",
            _with_activation(lambda h: h.amax(-1, keepdim=True).relu().expand_as(h)),
            Text(
                "this is the maximum over all units. max(0, z) compares each number with 0, by itself.",
                "這是所有單元裡的最大值。max(0, z) 是每個數各自跟 0 比。",
            ),
        ),
        Mistake(
            "relu-on-the-input-too",
            lambda x, *weights: feed_forward(x.relu(), *weights),
            Text(
                "there is a ReLU on x as well. Only the hidden layer has one.",
                "你對 x 也做了 ReLU。只有隱藏層要做。",
            ),
        ),
        Mistake(
            "relu-of-the-bias",
            lambda x, W_1, b_1, W_2, b_2: (x @ W_1 + b_1.relu()) @ W_2 + b_2,
            Text(
                "the ReLU reaches b_1 only. It is applied to the whole sum: look at the parentheses.",
                "ReLU 只作用在 b_1 上。它要作用在整個和上：檢查一下括號。",
            ),
        ),
        Mistake(
            "relu-of-the-negative",
            _with_activation(lambda h: (-h).relu()),
            Text(
                "this is max(0, −z): the units answer where they should be silent.",
                "這是 max(0, −z)：該是 0 的單元反而有輸出。",
            ),
        ),
        Mistake(
            "bias-on-the-matrix-W_1",
            lambda x, W_1, b_1, W_2, b_2: feed_forward(x, W_1 + b_1, 0, W_2, b_2),
            Text(
                "b_1 is added to W_1. First the product x @ W_1, then add b_1.",
                "你把 b_1 加到 W_1 上了。要先算 x @ W_1，再加 b_1。",
            ),
        ),
        Mistake(
            "bias-on-the-matrix-W_2",
            lambda x, W_1, b_1, W_2, b_2: feed_forward(x, W_1, b_1, W_2 + b_2, 0),
            Text(
                "b_2 is added to W_2, so it gets multiplied by the hidden layer. First the product, then add b_2.",
                "你把 b_2 加到 W_2 上，它就跟著乘上隱藏層了。要先相乘，再加 b_2。",
            ),
        ),
        Mistake(
            "scaled",
            lambda x, W_1, *others: feed_forward(x / W_1.shape[-2] ** 0.5, W_1, *others),
            Text(
                "you divide by √d_model. That belongs to attention; here nothing is scaled.",
                "你除以 √d_model 了。那是注意力才要做的，這裡不用縮放。",
            ),
        ),
        Mistake(
            "mean-over-the-units",
            lambda x, W_1, b_1, W_2, b_2: (x @ W_1 + b_1).relu() @ W_2 / len(W_2) + b_2,
            Text(
                "you take the mean over the units. They are added up.",
                "你對各單元取了平均。應該用加的。",
            ),
        ),
        Mistake(
            "sum-over-the-tokens",
            lambda x, W_1, b_1, W_2, b_2: ((x @ W_1 + b_1).relu() @ W_2).sum(-2) + b_2,
            Text(
                "the tokens are added up. Each keeps its own row.",
                "你把各個標記加起來了。每個標記都要保留自己的一列。",
            ),
        ),
        Mistake(
            "softplus-instead",
            _with_activation(F.softplus),
            Text(
                "the activation is softplus, a smoothed ReLU. Here ReLU itself is asked for.",
                "你用的是 softplus，也就是磨圓的 ReLU。這裡要用 ReLU 本身。",
            ),
        ),
        Mistake(
            "squared",
            _with_activation(lambda h: h.relu() ** 2),
            Text(
                "the hidden layer is squared. The ReLU lets a positive number through as it is.",
                "你把隱藏層平方了。ReLU 會讓正數原樣通過。",
            ),
        ),
        Mistake(
            "normalised",
            lambda x, *weights: F.layer_norm(feed_forward(x, *weights), x.shape[-1:]),
            Text(
                "the result is normalised. The norm comes later, outside the network.",
                "你把結果正規化了。正規化是之後的事，不在這個網路裡面。",
            ),
        ),
        Mistake("residual", lambda x, *weights: x + feed_forward(x, *weights), _RESIDUAL),
        Mistake(
            "W_1-transposed",
            lambda x, W_1, b_1, W_2, b_2: (x @ W_1.mT + b_1).relu() @ W_2 + b_2,
            Text(
                "W_1 is transposed. It has shape (d_model, d_ff), so x @ W_1 fits as it stands. "
                "(nn.Linear stores its weight the other way round.)",
                "你把 W_1 轉置了。它的形狀是 (d_model, d_ff)，直接 x @ W_1 就對得上。"
                "（nn.Linear 存的權重是轉置過的。）",
            ),
        ),
        Mistake(
            "W_2-transposed",
            lambda x, W_1, b_1, W_2, b_2: (x @ W_1 + b_1).relu() @ W_2.mT + b_2,
            _W_2_TRANSPOSED,
        ),
        Mistake(
            "both-transposed",
            lambda x, W_1, b_1, W_2, b_2: (x @ W_1.mT + b_1).relu() @ W_2.mT + b_2,
            Text(
                "both matrices are transposed; only square ones allow that. "
                "Tokens are rows here: x @ W_1.",
                "兩個矩陣都轉置了，只有方陣才算得出來。這裡一個標記是一列：x @ W_1。",
            ),
        ),
        Mistake(
            "weights-tied",
            lambda x, W_1, b_1, W_2, b_2: (x @ W_1 + b_1).relu() @ W_1.mT + b_2,
            Text(
                "you go back with W_1, transposed. The way back has a matrix of its own.",
                "回程時你用了轉置的 W_1。回程有自己的矩陣。",
            ),
        ),
        Mistake(
            "order-exchanged",
            lambda x, W_1, b_1, W_2, b_2: (x @ W_2 + b_2).relu() @ W_1 + b_1,
            Text(
                "the layers have changed places: W_1 comes first.",
                "兩層的順序對調了：先用 W_1。",
            ),
        ),
        Mistake(
            "one-sequence-only",
            lambda x, W_1, b_1, W_2, b_2: torch.mm(torch.mm(x, W_1).add(b_1).relu(), W_2) + b_2,
            _ONE_SEQUENCE_MM,
        ),
        Mistake(
            "hidden-layer-only",
            lambda x, W_1, b_1, W_2, b_2: (x @ W_1 + b_1).relu(),
            Text(
                "this is the hidden layer, of width d_ff. The way back is missing.",
                "這是寬度 d_ff 的隱藏層，還少了回程的那一步。",
            ),
        ),
    ),
)

# --- gelu ---------------------------------------------------------------------------------


def gelu(x):
    return x * (1 + torch.erf(x / math.sqrt(2))) / 2


def _gelu_cases():
    randn = normal(62)
    return [
        Case(Text("a few numbers", "幾個數"), (randn(7),)),
        Case(A_BATCH, (2 * randn(2, 3, 5),)),
        Case(Text("a single number", "單一個數"), (randn(1)[0],)),
        Case(LARGE, (1000 * randn(9),)),
        Case(
            Text("the lowest point and around it", "最低點附近"),
            (torch.linspace(-1, -0.5, 6, dtype=torch.float64),),
        ),
    ]


def _gelu_by_exp(x):
    """tanh(u) = (e^2u − 1) / (e^2u + 1), which overflows."""
    e = torch.exp(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))
    return x * (1 + (e - 1) / (e + 1)) / 2


def _with_root(root):
    """GELU with another number in place of √2."""
    return lambda x: x * (1 + torch.erf(x / root)) / 2


def _bell(x):
    return torch.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)


GELU = Exercise(
    name="gelu",
    chapter=6,
    title=Text("The exact GELU", "精確的 GELU"),
    difficulty=2,
    minutes=8,
    reference=gelu,
    cases=_gelu_cases,
    alternatives=(
        F.gelu,
        lambda x: x * torch.special.ndtr(x),
        lambda x: x * torch.erfc(-x / 2**0.5) / 2,
        lambda x: x * torch.distributions.Normal(0, 1).cdf(x),
        lambda x: x / 2 + x * torch.erf(x * 0.5**0.5) / 2,
    ),
    mistakes=(
        Mistake(
            "tanh-form",
            lambda x: F.gelu(x, approximate="tanh"),
            Text(
                "close, but this is the tanh form, off by up to 0.0005. "
                "The exact one uses torch.erf.",
                "很接近，但這是 tanh 的近似式，誤差最多 0.0005。精確的版本要用 torch.erf。",
            ),
        ),
        Mistake(
            "sigmoid-form",
            lambda x: x * torch.sigmoid(1.702 * x),
            Text(
                "this is x · σ(1.702 x), another approximation. The exact one uses torch.erf.",
                "這是另一個近似式 x · σ(1.702 x)。精確的版本要用 torch.erf。",
            ),
        ),
        Mistake(
            "tanh-by-exp",
            _gelu_by_exp,
            Text(
                "an approximation by tanh, and its exp overflows for large numbers. "
                "The exact one uses torch.erf.",
                "這是用 tanh 的近似式，而且數一大，exp 就溢位了。精確的版本要用 torch.erf。",
            ),
        ),
        Mistake(
            "silu-instead",
            F.silu,
            Text(
                "this is SiLU: its gate is the logistic function σ. GELU's gate is Φ.",
                "這是 SiLU，它的閘門是邏輯斯函數 σ。GELU 的閘門是 Φ。",
            ),
        ),
        Mistake(
            "relu-instead",
            F.relu,
            Text(
                "this is ReLU. Its gate is open or shut; that of GELU opens little by little.",
                "這是 ReLU，閘門不是全開就是全關。GELU 的閘門是慢慢打開的。",
            ),
        ),
        Mistake(
            "elu-instead",
            F.elu,
            Text(
                "this is ELU, which is something else: GELU is x · Φ(x).",
                "這是 ELU，跟 GELU 不一樣：GELU 是 x · Φ(x)。",
            ),
        ),
        Mistake(
            "gate-only",
            lambda x: gelu(x) / x,
            Text(
                "this is Φ(x), the gate. What is to pass through it?",
                "這是 Φ(x)，也就是閘門。要通過閘門的是什麼？",
            ),
        ),
        Mistake(
            "root-missing",
            lambda x: x * (1 + torch.erf(x)) / 2,
            Text(
                "inside erf something is missing: look at Φ again.",
                "erf 裡面少了東西：再看一次 Φ。",
            ),
        ),
        Mistake(
            "two-without-root",
            lambda x: x * (1 + torch.erf(x / 2)) / 2,
            Text(
                "inside erf x is divided by 2: the root is missing.",
                "erf 裡面除以 2 了：少了根號。",
            ),
        ),
        Mistake(
            "times-root",
            lambda x: x * (1 + torch.erf(x * math.sqrt(2))) / 2,
            Text(
                "inside erf x is multiplied by √2. Multiplied?",
                "erf 裡面你把 x 乘上 √2 了。是用乘的嗎？",
            ),
        ),
        Mistake(
            "root-outside",
            lambda x: x * (1 + torch.erf(x) / math.sqrt(2)) / 2,
            Text(
                "erf is divided by √2. It is x that is divided, inside erf.",
                "你把 erf 除以 √2 了。要除的是 erf 裡面的 x。",
            ),
        ),
        Mistake(
            "power-before-division",
            lambda x: x * (1 + torch.erf(x / 2**1 / 2)) / 2,
            Text(
                "inside erf x is divided by 4: 2**1/2 means (2**1)/2. The root is 2**0.5.",
                "erf 裡面除以 4 了：2**1/2 是 (2**1)/2 的意思。根號 2 要寫 2**0.5。",
            ),
        ),
        *(
            Mistake(
                f"root-rounded-to-{root}",
                _with_root(root),
                Text(
                    f"close, but √2 is not just {root}. math.sqrt(2) has all the digits.",
                    f"很接近，但 √2 不是剛好 {root}。math.sqrt(2) 才有足夠的位數。",
                ),
            )
            for root in (1.4, 1.41, 1.414, 1.4142)
        ),
        Mistake(
            "half-missing",
            lambda x: x * (1 + torch.erf(x / math.sqrt(2))),
            Text(
                "twice too large: 1 + erf goes from 0 to 2, a probability from 0 to 1.",
                "大了一倍：1 + erf 從 0 到 2，機率只從 0 到 1。",
            ),
        ),
        Mistake(
            "quarter",
            lambda x: gelu(x) / 2,
            Text("half as large as it should be: ½ counts once.", "只有一半大：½ 乘一次就好。"),
        ),
        Mistake(
            "one-missing",
            lambda x: x * torch.erf(x / math.sqrt(2)),
            Text(
                "your gate is erf alone, which goes from −1 to 1. Φ goes from 0 to 1.",
                "你的閘門只有 erf，它從 −1 到 1。Φ 是從 0 到 1。",
            ),
        ),
        Mistake(
            "one-and-half-missing",
            lambda x: x * torch.erf(x / math.sqrt(2)) / 2,
            Text(
                "your gate is ½ erf, which goes from −½ to ½. Φ goes from 0 to 1.",
                "你的閘門是 ½ erf，從 −½ 到 ½。Φ 是從 0 到 1。",
            ),
        ),
        Mistake(
            "half-on-one-term",
            lambda x: x * (1 + torch.erf(x / math.sqrt(2)) / 2),
            Text(
                "only erf is halved. The ½ stands outside the parentheses.",
                "只有 erf 乘了 ½。½ 在括號外面。",
            ),
        ),
        Mistake(
            "half-on-the-one",
            lambda x: x * (0.5 + torch.erf(x / math.sqrt(2))),
            Text(
                "only the 1 is halved. The ½ stands outside the parentheses.",
                "只有 1 乘了 ½。½ 在括號外面。",
            ),
        ),
        Mistake(
            "x-on-one-term",
            lambda x: (1 + x * torch.erf(x / math.sqrt(2))) / 2,
            Text(
                "x multiplies erf only. It multiplies all of Φ: look at the parentheses.",
                "x 只乘到 erf。它要乘整個 Φ：檢查一下括號。",
            ),
        ),
        Mistake(
            "sum",
            lambda x: x + torch.special.ndtr(x),
            Text("x and Φ(x) are added. They are multiplied.", "x 和 Φ 應該相乘，你用加的。"),
        ),
        Mistake(
            "squared",
            lambda x: x * gelu(x),
            Text(
                "there is one factor x too many: x · x · Φ(x).", "多乘了一個 x：變成 x · x · Φ(x)。"
            ),
        ),
        Mistake(
            "absolute-value",
            lambda x: gelu(x).abs(),
            Text(
                "left of 0 the sign is wrong: a negative x gives a small negative result.",
                "0 左邊的正負號不對：x 是負的，結果會是很小的負數。",
            ),
        ),
        Mistake(
            "mirrored",
            lambda x: gelu(-x),
            Text("this is GELU(−x): left and right are exchanged.", "這是 GELU(−x)：左右相反了。"),
        ),
        Mistake(
            "erf-only",
            lambda x: torch.erf(x / math.sqrt(2)),
            Text(
                "this is erf(x / √2) alone. First make Φ of it, then multiply by x.",
                "這只有 erf(x / √2)。先用它算出 Φ，再乘上 x。",
            ),
        ),
        Mistake(
            "tanh-for-erf",
            lambda x: x * (1 + torch.tanh(x / math.sqrt(2))) / 2,
            Text("tanh stands where erf belongs.", "該用 erf 的地方用了 tanh。"),
        ),
        Mistake(
            "erf-of-the-tanh-form",
            lambda x: x * (1 + torch.erf(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2,
            Text(
                "you mix the two forms: that u belongs into tanh. Into erf goes x / √2.",
                "兩種寫法混在一起了：那個 u 是給 tanh 用的。erf 裡面是 x / √2。",
            ),
        ),
        Mistake(
            "tanh-form-without-the-cube",
            lambda x: x * (1 + torch.tanh(math.sqrt(2 / math.pi) * x)) / 2,
            Text(
                "this is the tanh form, and without its cubic term. The exact one uses torch.erf.",
                "這是 tanh 的近似式，還少了三次方項。精確的版本要用 torch.erf。",
            ),
        ),
        Mistake(
            "softplus-instead",
            F.softplus,
            Text(
                "this is softplus, which is something else: GELU is x · Φ(x).",
                "這是 softplus，跟 GELU 不一樣：GELU 是 x · Φ(x)。",
            ),
        ),
        Mistake(
            "minus",
            lambda x: x * (1 - torch.erf(x / math.sqrt(2))) / 2,
            Text(
                "the gate opens to the left: for large x nothing passes. Look at the sign.",
                "閘門開反了：x 很大時什麼都過不去。檢查一下正負號。",
            ),
        ),
        Mistake(
            "erfc",
            lambda x: x * (1 + torch.erfc(x / math.sqrt(2))) / 2,
            Text("erfc is 1 − erf. Here erf is asked for.", "erfc 是 1 − erf。這裡要用 erf。"),
        ),
        Mistake(
            "bell-curve",
            lambda x: x * _bell(x),
            Text(
                "your gate is the bell curve φ. Φ is the probability, the area to the left under it.",
                "你的閘門是鐘形曲線 φ。Φ 是機率，也就是曲線下左邊的面積。",
            ),
        ),
        Mistake(
            "slope",
            lambda x: torch.special.ndtr(x) + x * _bell(x),
            Text(
                "this is the slope of GELU. Asked for is GELU itself.",
                "這是 GELU 的斜率。題目要的是 GELU 本身。",
            ),
        ),
        Mistake(
            "normalised-first",
            lambda x: gelu((x - x.mean()) / x.std(correction=0)),
            Text(
                "the numbers are brought to mean 0 and variance 1 first. "
                "Each number goes through by itself.",
                "你先把這些數的平均變成 0、變異數變成 1 了。每個數應該各算各的。",
            ),
        ),
        Mistake(
            "applied-twice",
            lambda x: gelu(gelu(x)),
            Text("GELU is applied twice.", "GELU 做了兩次。"),
        ),
        Mistake(
            "negatives-cut-off",
            lambda x: gelu(x).relu(),
            Text(
                "negative results are cut off. GELU has a dip below 0 and keeps it.",
                "負的結果都被截成 0 了。GELU 在 0 以下有一段凹陷，要保留。",
            ),
        ),
    ),
)

# --- swiglu -------------------------------------------------------------------------------


def swiglu(x, W, V, W_2):
    return (F.silu(x @ W) * (x @ V)) @ W_2


def _swiglu_cases():
    randn = normal(63)
    weights = randn(5, 7), randn(5, 7), randn(7, 5)
    return [
        Case(ONE_SEQUENCE, (randn(3, 5), *weights)),
        Case(A_BATCH, (randn(2, 3, 5), *weights)),
        Case(TWO_BATCHES, (randn(2, 3, 4, 5), *weights)),
        Case(ONE_TOKEN, (randn(5), *weights)),
        Case(SQUARE, (randn(4, 4), randn(4, 4), randn(4, 4), randn(4, 4))),
        Case(LARGE, (1000 * randn(3, 5), *weights)),
    ]


def _gated_by(gate):
    """The network with another function in place of SiLU."""
    return lambda x, W, V, W_2: (gate(x @ W) * (x @ V)) @ W_2


def _in_one_product(x, W, V, W_2):
    gate, value = (x @ torch.cat([W, V], dim=-1)).chunk(2, dim=-1)
    return (F.silu(gate) * value) @ W_2


SWIGLU = Exercise(
    name="swiglu",
    chapter=6,
    title=Text("SwiGLU", "SwiGLU"),
    difficulty=2,
    minutes=8,
    reference=swiglu,
    cases=_swiglu_cases,
    alternatives=(
        _gated_by(lambda g: g * g.sigmoid()),
        _gated_by(lambda g: g * (1 + torch.tanh(g / 2)) / 2),
        lambda x, W, V, W_2: torch.einsum("...f,...f,fd->...d", F.silu(x @ W), x @ V, W_2),
        lambda x, W, V, W_2: F.linear(F.silu(F.linear(x, W.mT)) * F.linear(x, V.mT), W_2.mT),
        _in_one_product,
    ),
    mistakes=(
        Mistake(
            "gate-from-V",
            lambda x, W, V, W_2: ((x @ W) * F.silu(x @ V)) @ W_2,
            Text(
                "SiLU stands on x V. Which matrix makes the gates?",
                "SiLU 放在 x V 上了。閘門是由哪個矩陣產生的？",
            ),
        ),
        Mistake(
            "silu-on-both",
            lambda x, W, V, W_2: (F.silu(x @ W) * F.silu(x @ V)) @ W_2,
            Text(
                "SiLU stands on both factors. x V passes as it is.",
                "兩個因子都做了 SiLU。x V 不用做。",
            ),
        ),
        Mistake(
            "silu-of-the-product",
            lambda x, W, V, W_2: F.silu((x @ W) * (x @ V)) @ W_2,
            Text(
                "SiLU comes after the product of the two. It belongs to x W alone.",
                "你先相乘才做 SiLU。SiLU 只作用在 x W 上。",
            ),
        ),
        Mistake(
            "no-activation",
            _gated_by(lambda g: g),
            Text(
                "SiLU is missing: the gates are x W itself.", "少了 SiLU：你的閘門就是 x W 本身。"
            ),
        ),
        Mistake(
            "sigmoid-gate",
            _gated_by(torch.sigmoid),
            Text(
                "your gate is σ alone, the plain GLU. SiLU has one more factor.",
                "你的閘門只有 σ，那是最原始的 GLU。SiLU 還要再乘一個因子。",
            ),
        ),
        Mistake(
            "relu-gate",
            _gated_by(F.relu),
            Text(
                "your gate is ReLU (ReGLU). Here SiLU is asked for.",
                "你的閘門是 ReLU（ReGLU），這裡要用 SiLU。",
            ),
        ),
        Mistake(
            "gelu-gate",
            _gated_by(F.gelu),
            Text(
                "your gate is GELU (GEGLU). Here SiLU is asked for.",
                "你的閘門是 GELU（GEGLU），這裡要用 SiLU。",
            ),
        ),
        Mistake(
            "tanh-gate",
            _gated_by(torch.tanh),
            Text("your gate is tanh. Here SiLU is asked for.", "你的閘門是 tanh，這裡要用 SiLU。"),
        ),
        Mistake(
            "softmax-gate",
            _gated_by(lambda g: g.softmax(-1)),
            Text(
                "your gates sum to 1. Gates do not compete: each opens by itself.",
                "你的閘門加起來等於 1。閘門不互相競爭，各開各的。",
            ),
        ),
        Mistake(
            "wrong-sign-in-sigma",
            _gated_by(lambda g: g * torch.sigmoid(-g)),
            Text(
                "the gate opens to the wrong side: in σ(z) the exponent is −z, "
                "and σ itself takes z.",
                "閘門開反了：負號在 σ 自己的指數裡，代進 σ 的是 z。",
            ),
        ),
        Mistake(
            "sigma-of-V",
            lambda x, W, V, W_2: ((x @ W) * torch.sigmoid(x @ V)) @ W_2,
            Text(
                "your gate is σ(x V). It should be SiLU(x W): another matrix, and one more factor.",
                "你的閘門是 σ(x V)。應該是 SiLU(x W)：矩陣不同，還要再多乘一個因子。",
            ),
        ),
        Mistake(
            "z-squared",
            _gated_by(lambda g: g * F.silu(g)),
            Text(
                "x W is one factor too often: SiLU(z) = z · σ(z) contains it already.",
                "x W 多乘了一次：SiLU 本身已經乘過了。",
            ),
        ),
        Mistake(
            "z-plus-sigma",
            _gated_by(lambda g: g + g.sigmoid()),
            Text("z and σ(z) are added. SiLU multiplies them.", "SiLU 是 z 乘 σ(z)，你用加的。"),
        ),
        Mistake(
            "exp-without-parentheses",
            _gated_by(lambda g: g / 1 + torch.exp(-g)),
            Text(
                "parentheses are missing: z / 1 + exp(−z) means z + exp(−z).",
                "少了括號：z / 1 + exp(−z) 會變成 z + exp(−z)。",
            ),
        ),
        Mistake(
            "times-in-place-of-divided",
            _gated_by(lambda g: g * (1 + torch.exp(-g))),
            Text(
                "you multiply by 1 + exp(−z). SiLU divides by it.",
                "你乘上 1 + exp(−z) 了。SiLU 是除以它。",
            ),
        ),
        Mistake(
            "softplus-gate",
            _gated_by(F.softplus),
            Text(
                "your gate is softplus. Here SiLU is asked for.",
                "你的閘門是 softplus，這裡要用 SiLU。",
            ),
        ),
        Mistake(
            "scaled-sigma",
            _gated_by(lambda g: g * torch.sigmoid(1.702 * g)),
            Text(
                "inside σ there is a factor 1.702: that is an approximation of GELU.",
                "σ 裡面多了 1.702：那是 GELU 的近似式。",
            ),
        ),
        Mistake(
            "exp-overflows",
            _gated_by(lambda g: g * g.exp() / (1 + g.exp())),
            Text(
                "right for small numbers, but exp overflows for large ones, and ∞/∞ is NaN. "
                "torch.sigmoid or F.silu do not.",
                "數字小的時候是對的，但一大 exp 就溢位，∞/∞ 變成 NaN。torch.sigmoid 和 F.silu 不會。",
            ),
        ),
        Mistake(
            "exp-spoils-the-gradient",
            _gated_by(lambda g: g / (1 + torch.exp(-g))),
            Text(
                "the values are right, but for numbers far below 0 exp(−z) overflows, and the "
                "gradient becomes NaN. torch.sigmoid or F.silu do not do that.",
                "值都對，但遇到很小的負數，exp(−z) 會溢位，梯度就變成 NaN。"
                "torch.sigmoid 和 F.silu 不會這樣。",
            ),
        ),
        Mistake(
            "sum",
            lambda x, W, V, W_2: (F.silu(x @ W) + x @ V) @ W_2,
            Text(
                "the two are added. ⊙ multiplies, entry by entry.", "你把兩者相加了。⊙ 是逐項相乘。"
            ),
        ),
        Mistake(
            "gates-only",
            lambda x, W, V, W_2: F.silu(x @ W) @ W_2,
            Text(
                "V is not used: this is a plain network with SiLU, without a gate.",
                "V 沒有用到：這只是用 SiLU 的普通網路，沒有閘門。",
            ),
        ),
        Mistake(
            "W-twice",
            lambda x, W, V, W_2: (F.silu(x @ W) * (x @ W)) @ W_2,
            Text("both factors are made with W. V is not used.", "兩個因子都用了 W，V 沒有用到。"),
        ),
        Mistake(
            "V-twice",
            lambda x, W, V, W_2: (F.silu(x @ V) * (x @ V)) @ W_2,
            Text("both factors are made with V. W is not used.", "兩個因子都用了 V，W 沒有用到。"),
        ),
        Mistake(
            "silu-of-x",
            lambda x, W, V, W_2: ((F.silu(x) @ W) * (x @ V)) @ W_2,
            Text(
                "SiLU is applied to x. First the matrix, then SiLU.",
                "你對 x 做了 SiLU。要先乘矩陣，再做 SiLU。",
            ),
        ),
        Mistake(
            "silu-of-W",
            lambda x, W, V, W_2: (x @ F.silu(W) * (x @ V)) @ W_2,
            Text(
                "SiLU is applied to the matrix W. First the product x W, then SiLU.",
                "你對矩陣 W 做了 SiLU。要先算 x W，再做 SiLU。",
            ),
        ),
        Mistake(
            "silu-of-the-hidden-layer-too",
            lambda x, W, V, W_2: F.silu(F.silu(x @ W) * (x @ V)) @ W_2,
            Text(
                "SiLU is applied once more, to the product. It belongs to x W alone.",
                "相乘之後你又做了一次 SiLU。SiLU 只作用在 x W 上。",
            ),
        ),
        Mistake(
            "relu-of-the-hidden-layer",
            lambda x, W, V, W_2: (F.silu(x @ W) * (x @ V)).relu() @ W_2,
            Text(
                "there is a ReLU on the hidden layer. The gate is all the activation there is.",
                "隱藏層多了 ReLU。這裡的激勵函數只有閘門上的 SiLU。",
            ),
        ),
        Mistake(
            "matrices-added",
            lambda x, W, V, W_2: F.silu(x @ (W + V)) @ W_2,
            Text(
                "W and V are added first. Make x W and x V, each by itself, and multiply those.",
                "你先把 W 和 V 相加了。要分別算 x W 和 x V，再把兩者逐項相乘。",
            ),
        ),
        Mistake(
            "matrices-multiplied",
            lambda x, W, V, W_2: F.silu(x @ (W * V)) @ W_2,
            Text(
                "W and V are multiplied first. Make x W and x V, each by itself, and multiply those.",
                "你先把 W 和 V 相乘了。要分別算 x W 和 x V，再把兩者逐項相乘。",
            ),
        ),
        Mistake(
            "W_2-missing",
            lambda x, W, V, W_2: F.silu(x @ W) * (x @ V),
            Text("the way back is missing: W_2 is not used.", "還少了回程的那一步：W_2 沒有用到。"),
        ),
        Mistake(
            "W_2-on-one-factor",
            lambda x, W, V, W_2: F.silu(x @ W) @ W_2 * ((x @ V) @ W_2),
            Text(
                "each factor goes through W_2 by itself. First multiply them, then W_2 once.",
                "兩個因子各自乘了 W_2。先逐項相乘，最後才乘一次 W_2。",
            ),
        ),
        Mistake(
            "silu-at-the-end",
            lambda x, W, V, W_2: F.silu(swiglu(x, W, V, W_2)),
            Text("there is one more SiLU at the end.", "最後多做了一次 SiLU。"),
        ),
        Mistake("residual", lambda x, *weights: x + swiglu(x, *weights), _RESIDUAL),
        Mistake(
            "weights-transposed",
            lambda x, W, V, W_2: swiglu(x, W.mT, V.mT, W_2),
            Text(
                "W and V are transposed. They have shape (d_model, d_ff): x @ W fits as it stands.",
                "你把 W 和 V 轉置了。它們的形狀是 (d_model, d_ff)，直接 x @ W 就對得上。",
            ),
        ),
        Mistake("W_2-transposed", lambda x, W, V, W_2: swiglu(x, W, V, W_2.mT), _W_2_TRANSPOSED),
        Mistake(
            "all-transposed",
            lambda x, W, V, W_2: swiglu(x, W.mT, V.mT, W_2.mT),
            Text(
                "all three matrices are transposed; only square ones allow that.",
                "三個矩陣都轉置了，只有方陣才算得出來。",
            ),
        ),
        Mistake(
            "matrices-in-another-order",
            lambda x, W, V, W_2: swiglu(x, W, W_2, V),
            Text(
                "V and W_2 have changed places: W_2 leads back.",
                "V 和 W_2 對調了：負責回程的是 W_2。",
            ),
        ),
        Mistake(
            "one-sequence-only",
            lambda x, W, V, W_2: torch.mm(F.silu(torch.mm(x, W)) * torch.mm(x, V), W_2),
            _ONE_SEQUENCE_MM,
        ),
    ),
)

# --- with a pencil ------------------------------------------------------------------------

PENCIL_FEED_FORWARD = Exercise(
    name="pencil-feed-forward",
    chapter=6,
    title=Text("A network with a pencil", "用紙筆算一個網路"),
    difficulty=1,
    minutes=5,
    reference=lambda: 25.0,
    cases=by_hand,
    tolerance=1e-3,
    alternatives=(lambda: 25, lambda: torch.tensor(25.0), lambda: 2 * 5 + 1 * 6 + 9),
    mistakes=(
        Mistake(
            "no-relu",
            lambda: 11.0,
            Text(
                "11: the third unit is −2, and it counts in your sum. What does the ReLU make of it?",
                "11：第三個單元是 −2，你把它也算進去了。經過 ReLU 會變成多少？",
            ),
        ),
        Mistake("b_2-missing", lambda: 16.0, Text("16: b_2 is missing.", "16：少了 b_2。")),
        Mistake(
            "b_1-missing",
            lambda: 30.0,
            Text("30: b_1 is missing.", "30：少了 b_1。"),
        ),
        Mistake(
            "no-biases",
            lambda: 21.0,
            Text("21: both biases are missing.", "21：兩個偏置都沒加。"),
        ),
        Mistake(
            "b_1-after-the-relu",
            lambda: 34.0,
            Text(
                "34: you add b_1 after the ReLU. It comes before.",
                "34：你在 ReLU 之後才加 b_1。要先加。",
            ),
        ),
        Mistake(
            "absolute-value",
            lambda: 39.0,
            Text(
                "39: −2 has become 2. The ReLU does not drop the sign.",
                "39：−2 變成 2 了。ReLU 不是去掉負號。",
            ),
        ),
        Mistake(
            "step",
            lambda: 20.0,
            Text(
                "20: you count each open unit as 1. It passes its own number on.",
                "20：你把開啟的單元都當成 1。單元要把自己的數傳下去。",
            ),
        ),
        Mistake(
            "sign-of-x",
            lambda: 67.0,
            Text("67: the second number of x is −1, not 1.", "67：x 的第二個數是 −1，不是 1。"),
        ),
        Mistake(
            "second-number-of-x-lost",
            lambda: 46.0,
            Text(
                "46: the −1 in x is lost. Its row of W_1 counts, and the ReLU comes after W_1 and b_1.",
                "46：x 裡的 −1 不見了。W_1 的第二列也要算進去，而且 ReLU 是在乘 W_1、加 b_1 之後。",
            ),
        ),
        Mistake(
            "b_2-for-each-unit",
            lambda: 43.0,
            Text(
                "43: you add b_2 for each unit. It is added once.",
                "43：你每個單元都加了 b_2。只要加一次。",
            ),
        ),
        Mistake(
            "W_2-missing",
            lambda: 12.0,
            Text(
                "12: you add up the units as they are. W_2 weighs them.",
                "12：你把各單元直接相加。要先用 W_2 加權。",
            ),
        ),
        Mistake(
            "W_2-backwards",
            lambda: 29.0,
            Text(
                "29: either W_2 is used from the bottom up, or b_1 is added once more after the ReLU.",
                "29：可能是 W_2 從下往上用，順序反了；也可能是 ReLU 之後又加了一次 b_1。",
            ),
        ),
        Mistake(
            "b_1-subtracted",
            lambda: 65.0,
            Text("65: b_1 is subtracted. It is added.", "65：b_1 應該用加的，你用減的。"),
        ),
        Mistake(
            "b_2-subtracted",
            lambda: 7.0,
            Text("7: b_2 is subtracted. It is added.", "7：b_2 應該用加的，你用減的。"),
        ),
        Mistake(
            "b_2-multiplied",
            lambda: 144.0,
            Text("144: you multiply by b_2. It is added.", "144：你乘上 b_2 了。應該用加的。"),
        ),
        Mistake(
            "negative-part",
            lambda: -5.0,
            Text(
                "−5: you keep the negative unit. The ReLU keeps the positive ones.",
                "−5：你留下的是負的單元。ReLU 要留下的是正的。",
            ),
        ),
        Mistake(
            "numbers-of-x-exchanged",
            lambda: 91.0,
            Text(
                "91: the 2 in x goes with the first row of W_1, the −1 with the second.",
                "91：x 的 2 配 W_1 的第一列，−1 配第二列。",
            ),
        ),
        Mistake(
            "minus-in-W_1-lost",
            lambda: 49.0,
            Text(
                "49: the second unit is not 5. The first row of W_1 has a −1.",
                "49：第二個單元不是 5。W_1 的第一列裡有一個 −1。",
            ),
        ),
        Mistake(
            "minus-in-b_1-lost",
            lambda: 81.0,
            Text(
                "81: the third unit is not 8. The last entry of b_1 is −5.",
                "81：第三個單元不是 8。b_1 的最後一個數是 −5。",
            ),
        ),
        Mistake(
            "W_1-row-by-row",
            lambda: 69.0,
            Text(
                "69: you take the numbers of W_1 in pairs along its rows. A unit reads a column.",
                "69：你沿著 W_1 的列兩個兩個取。一個單元讀的是一行。",
            ),
        ),
    ),
)

HAT_UNITS = Exercise(
    name="hat-units",
    chapter=6,
    title=Text("A hat from three units", "用三個單元做帽子"),
    difficulty=2,
    minutes=6,
    reference=lambda: 24.0,
    cases=by_hand,
    tolerance=1e-3,
    alternatives=(lambda: 24, lambda: torch.tensor(24.0), lambda: 10 * 3 - 6),
    mistakes=(
        Mistake(
            "slopes-themselves",
            lambda: 27.0,
            Text(
                "27: with v₂ = −3 the slope after the top is 3 − 3 = 0, for a unit adds to the slope that "
                "is there already. (Or did you add v₃? It does not count.)",
                "27：v₂ = −3 的話，過了頂點斜率是 3 − 3 = 0，因為單元是在原本的斜率上再加。（還是你把 v₃ 也加進來了？答案不含 v₃。）",
            ),
        ),
        Mistake(
            "sign",
            lambda: 36.0,
            Text(
                "36: the size is right, but after the top it goes down.",
                "36：大小對了，但過了頂點是往下走。",
            ),
        ),
        Mistake(
            "v_3-in-place-of-v_2",
            lambda: 33.0,
            Text(
                "33: v₂ = 3? At the top the hat must turn downward.",
                "33：v₂ = 3 嗎？到了頂點要轉而向下。",
            ),
        ),
        Mistake(
            "height-one",
            lambda: 8.0,
            Text(
                "8: that is a hat of height 1. This one has height 3.",
                "8：這是高 1 的帽子。題目的帽子高 3。",
            ),
        ),
        Mistake(
            "slope-over-the-whole-width",
            lambda: 12.0,
            Text(
                "12: you divide the height by the whole width. The top is reached after 1.",
                "12：你用高度除以整個寬度了。走 1 就到頂點。",
            ),
        ),
        Mistake(
            "exchanged",
            lambda: -57.0,
            Text("−57: v₁ and v₂ have changed places.", "−57：v₁ 和 v₂ 對調了。"),
        ),
        Mistake(
            "v_2-alone",
            lambda: -6.0,
            Text("−6 is v₂. Asked for is 10 v₁ + v₂.", "−6 是 v₂。題目要的是 10 v₁ + v₂。"),
        ),
        Mistake(
            "v_1-alone",
            lambda: 3.0,
            Text(
                "3 is v₁ (and v₃). Asked for is 10 v₁ + v₂.",
                "3 是 v₁（也是 v₃）。題目要的是 10 v₁ + v₂。",
            ),
        ),
        Mistake(
            "ten-v_1-alone",
            lambda: 30.0,
            Text(
                "30 = 10 · 3: with v₂ = 0 the line would go on rising after the top.",
                "30 = 10 · 3：如果 v₂ = 0，過了頂點還會繼續上升。",
            ),
        ),
        Mistake(
            "not-times-ten",
            lambda: -3.0,
            Text(
                "−3 is v₁ + v₂. Asked for is 10 v₁ + v₂.", "−3 是 v₁ + v₂。題目要的是 10 v₁ + v₂。"
            ),
        ),
        Mistake(
            "all-three-added",
            lambda: 0.0,
            Text(
                "0 is v₁ + v₂ + v₃, a good check. Asked for is 10 v₁ + v₂.",
                "0 是 v₁ + v₂ + v₃，驗算用得上。題目要的是 10 v₁ + v₂。",
            ),
        ),
        Mistake(
            "upside-down",
            lambda: -24.0,
            Text("−24: your hat hangs upside down.", "−24：你的帽子上下顛倒了。"),
        ),
        Mistake(
            "ten-times-both",
            lambda: -30.0,
            Text(
                "−30 is 10 (v₁ + v₂). Only v₁ is multiplied by 10.",
                "−30 是 10 (v₁ + v₂)。只有 v₁ 要乘 10。",
            ),
        ),
        Mistake(
            "ten-times-v_2",
            lambda: -60.0,
            Text("−60 is 10 v₂. Asked for is 10 v₁ + v₂.", "−60 是 10 v₂。題目要的是 10 v₁ + v₂。"),
        ),
        Mistake(
            "product",
            lambda: -18.0,
            Text("−18 is v₁ v₂. Asked for is 10 v₁ + v₂.", "−18 是 v₁ v₂。題目要的是 10 v₁ + v₂。"),
        ),
        Mistake(
            "down-over-two-steps",
            lambda: 25.5,
            Text(
                "25.5: you let the line fall by 1.5 a step. From 1 to 2 it is one step.",
                "25.5：你讓線每走 1 只跌 1.5。從 1 到 2 只有一步，要跌 3。",
            ),
        ),
        Mistake(
            "flat-after-the-top",
            lambda: 10 * 3 - 9.0,
            Text(
                "21: with v₂ = −9 the line falls too steeply, by 6 for each step. It should fall by 3.",
                "21：v₂ = −9 的話會跌得太陡，每走 1 跌 6。應該跌 3。",
            ),
        ),
    ),
)

EXERCISES = (PENCIL_FEED_FORWARD, HAT_UNITS, FEED_FORWARD, GELU, SWIGLU)
