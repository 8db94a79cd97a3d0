"""Exercise gelu of chapter 6: the exact GELU."""

import math

import torch
import torch.nn.functional as F

from transformer_lib.exercises.chapter_06.shared import LARGE
from transformer_lib.exercises.data import Case, Exercise, Mistake, Text, mistakes
from transformer_lib.exercises.inputs import A_BATCH, normal


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


MISTAKES = mistakes(
    ("tanh-form", lambda x: F.gelu(x, approximate="tanh"),
     "close, but this is the tanh form, off by up to 0.0005. The exact one uses torch.erf.",
     "很接近，但這是 tanh 的近似式，誤差最多 0.0005。精確的版本要用 torch.erf。"),
    ("sigmoid-form", lambda x: x * torch.sigmoid(1.702 * x),
     "this is x · σ(1.702 x), another approximation. The exact one uses torch.erf.",
     "這是另一個近似式 x · σ(1.702 x)。精確的版本要用 torch.erf。"),
    ("tanh-by-exp", _gelu_by_exp,
     "an approximation by tanh, and its exp overflows for large numbers. The exact one uses torch.erf.",
     "這是用 tanh 的近似式，而且數一大，exp 就溢位了。精確的版本要用 torch.erf。"),
    ("silu-instead", F.silu,
     "this is SiLU: its gate is the logistic function σ. GELU's gate is Φ.",
     "這是 SiLU，它的閘門是邏輯斯函數 σ。GELU 的閘門是 Φ。"),
    ("relu-instead", F.relu,
     "this is ReLU. Its gate is open or shut; that of GELU opens little by little.",
     "這是 ReLU，閘門不是全開就是全關。GELU 的閘門是慢慢打開的。"),
    ("elu-instead", F.elu,
     "this is ELU, which is something else: GELU is x · Φ(x).",
     "這是 ELU，跟 GELU 不一樣：GELU 是 x · Φ(x)。"),
    ("gate-only", lambda x: gelu(x) / x,
     "this is Φ(x), the gate. What is to pass through it?",
     "這是 Φ(x)，也就是閘門。要通過閘門的是什麼？"),
    ("root-missing", lambda x: x * (1 + torch.erf(x)) / 2,
     "inside erf something is missing: look at Φ again.",
     "erf 裡面少了東西：再看一次 Φ。"),
    ("two-without-root", lambda x: x * (1 + torch.erf(x / 2)) / 2,
     "inside erf x is divided by 2: the root is missing.",
     "erf 裡面除以 2 了：少了根號。"),
    ("times-root", lambda x: x * (1 + torch.erf(x * math.sqrt(2))) / 2,
     "inside erf x is multiplied by √2. Multiplied?",
     "erf 裡面你把 x 乘上 √2 了。是用乘的嗎？"),
    ("root-outside", lambda x: x * (1 + torch.erf(x) / math.sqrt(2)) / 2,
     "erf is divided by √2. It is x that is divided, inside erf.",
     "你把 erf 除以 √2 了。要除的是 erf 裡面的 x。"),
    ("power-before-division", lambda x: x * (1 + torch.erf(x / 2**1 / 2)) / 2,
     "inside erf x is divided by 4: 2**1/2 means (2**1)/2. The root is 2**0.5.",
     "erf 裡面除以 4 了：2**1/2 是 (2**1)/2 的意思。根號 2 要寫 2**0.5。"),
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
    ("half-missing", lambda x: x * (1 + torch.erf(x / math.sqrt(2))),
     "twice too large: 1 + erf goes from 0 to 2, a probability from 0 to 1.",
     "大了一倍：1 + erf 從 0 到 2，機率只從 0 到 1。"),
    ("quarter", lambda x: gelu(x) / 2,
     "half as large as it should be: ½ counts once.",
     "只有一半大：½ 乘一次就好。"),
    ("one-missing", lambda x: x * torch.erf(x / math.sqrt(2)),
     "your gate is erf alone, which goes from −1 to 1. Φ goes from 0 to 1.",
     "你的閘門只有 erf，它從 −1 到 1。Φ 是從 0 到 1。"),
    ("one-and-half-missing", lambda x: x * torch.erf(x / math.sqrt(2)) / 2,
     "your gate is ½ erf, which goes from −½ to ½. Φ goes from 0 to 1.",
     "你的閘門是 ½ erf，從 −½ 到 ½。Φ 是從 0 到 1。"),
    ("half-on-one-term", lambda x: x * (1 + torch.erf(x / math.sqrt(2)) / 2),
     "only erf is halved. The ½ stands outside the parentheses.",
     "只有 erf 乘了 ½。½ 在括號外面。"),
    ("half-on-the-one", lambda x: x * (0.5 + torch.erf(x / math.sqrt(2))),
     "only the 1 is halved. The ½ stands outside the parentheses.",
     "只有 1 乘了 ½。½ 在括號外面。"),
    ("x-on-one-term", lambda x: (1 + x * torch.erf(x / math.sqrt(2))) / 2,
     "x multiplies erf only. It multiplies all of Φ: look at the parentheses.",
     "x 只乘到 erf。它要乘整個 Φ：檢查一下括號。"),
    ("sum", lambda x: x + torch.special.ndtr(x),
     "x and Φ(x) are added. They are multiplied.",
     "x 和 Φ 應該相乘，你用加的。"),
    ("squared", lambda x: x * gelu(x),
     "there is one factor x too many: x · x · Φ(x).",
     "多乘了一個 x：變成 x · x · Φ(x)。"),
    ("absolute-value", lambda x: gelu(x).abs(),
     "left of 0 the sign is wrong: a negative x gives a small negative result.",
     "0 左邊的正負號不對：x 是負的，結果會是很小的負數。"),
    ("mirrored", lambda x: gelu(-x),
     "this is GELU(−x): left and right are exchanged.",
     "這是 GELU(−x)：左右相反了。"),
    ("erf-only", lambda x: torch.erf(x / math.sqrt(2)),
     "this is erf(x / √2) alone. First make Φ of it, then multiply by x.",
     "這只有 erf(x / √2)。先用它算出 Φ，再乘上 x。"),
    ("tanh-for-erf", lambda x: x * (1 + torch.tanh(x / math.sqrt(2))) / 2,
     "tanh stands where erf belongs.",
     "該用 erf 的地方用了 tanh。"),
    ("erf-of-the-tanh-form",
     lambda x: x * (1 + torch.erf(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2,
     "you mix the two forms: that u belongs into tanh. Into erf goes x / √2.",
     "兩種寫法混在一起了：那個 u 是給 tanh 用的。erf 裡面是 x / √2。"),
    ("tanh-form-without-the-cube", lambda x: x * (1 + torch.tanh(math.sqrt(2 / math.pi) * x)) / 2,
     "this is the tanh form, and without its cubic term. The exact one uses torch.erf.",
     "這是 tanh 的近似式，還少了三次方項。精確的版本要用 torch.erf。"),
    ("softplus-instead", F.softplus,
     "this is softplus, which is something else: GELU is x · Φ(x).",
     "這是 softplus，跟 GELU 不一樣：GELU 是 x · Φ(x)。"),
    ("minus", lambda x: x * (1 - torch.erf(x / math.sqrt(2))) / 2,
     "the gate opens to the left: for large x nothing passes. Look at the sign.",
     "閘門開反了：x 很大時什麼都過不去。檢查一下正負號。"),
    ("erfc", lambda x: x * (1 + torch.erfc(x / math.sqrt(2))) / 2,
     "erfc is 1 − erf. Here erf is asked for.",
     "erfc 是 1 − erf。這裡要用 erf。"),
    ("bell-curve", lambda x: x * _bell(x),
     "your gate is the bell curve φ. Φ is the probability, the area to the left under it.",
     "你的閘門是鐘形曲線 φ。Φ 是機率，也就是曲線下左邊的面積。"),
    ("slope", lambda x: torch.special.ndtr(x) + x * _bell(x),
     "this is the slope of GELU. Asked for is GELU itself.",
     "這是 GELU 的斜率。題目要的是 GELU 本身。"),
    ("normalised-first", lambda x: gelu((x - x.mean()) / x.std(correction=0)),
     "the numbers are brought to mean 0 and variance 1 first. Each number goes through by itself.",
     "你先把這些數的平均變成 0、變異數變成 1 了。每個數應該各算各的。"),
    ("applied-twice", lambda x: gelu(gelu(x)), "GELU is applied twice.", "GELU 做了兩次。"),
    ("negatives-cut-off", lambda x: gelu(x).relu(),
     "negative results are cut off. GELU has a dip below 0 and keeps it.",
     "負的結果都被截成 0 了。GELU 在 0 以下有一段凹陷，要保留。"),
)  # fmt: skip

EXERCISE = Exercise(
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
    mistakes=MISTAKES,
)
