"""What several exercises of chapter 7 share."""

import torch
import torch.nn.functional as F
from torch import Tensor

from transformer_lib.exercises.data import Case, Mistake, Text, mistakes
from transformer_lib.exercises.inputs import A_BATCH, ONE_SEQUENCE, TWO_BATCHES, normal

SHORT_CUT_DETACHED = Text(
    "the numbers are right, but no gradient passes along the short cut: x is detached there. That gradient is what the short cut is for.",
    "數值是對的，但捷徑上的 x 斷開了計算圖，梯度過不去。捷徑就是為了讓梯度通過的。",
)
SUBLAYER_DETACHED = Text(
    "the numbers are right, but no gradient passes through the sublayer, so it could not learn.",
    "數值是對的，但梯度過不了子層，子層就學不到東西。",
)
ONE_VECTOR = Text("a single vector", "單一向量")
EQUAL_COMPONENTS = Text("a vector whose components are all equal", "所有分量都相等的向量")
EPS = 0.1  # large, so that one sees where it stands
N_MINUS_1 = Text(
    "the sum of the squares is divided by d − 1, as torch.var and torch.std do of their own accord. Layer norm divides by d: look for their argument correction (or unbiased).",
    "平方和除以了 d − 1，torch.var 和 torch.std 預設就是這樣。層正規化除的是 d：看看這兩個函式的參數 correction（或 unbiased）。",
)
EPS_OUTSIDE = Text(
    "ε is added to the root. It belongs under the root, to the variance.",
    "ε 加在根號外面了。它應該在根號裡面，和變異數相加。",
)
EPS_MISSING = Text(
    "ε is not used: where all components are equal you divide by 0.",
    "沒有用到 ε：分量全部相等的時候，就會除以 0。",
)
W_1, W_2, GAMMA, BETA = (normal(73)(*shape) for shape in ((5, 5), (7, 7), (5,), (7,)))


def mix_components(x: Tensor) -> Tensor:
    """A sublayer for vectors of length 5."""
    return torch.tanh(x @ W_1.to(x.dtype)) + 0.5


def mix_tokens(x: Tensor) -> Tensor:
    """A sublayer for vectors of length 7 in which every token sees the others."""
    return (x @ x.mT).softmax(-1) @ x @ W_2.to(x.dtype)


def norm_with_gamma(x: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], GAMMA.to(x.dtype), eps=EPS)


def norm_with_beta(x: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], None, BETA.to(x.dtype), eps=EPS)


def residual_cases():
    randn = normal(74)
    return [
        Case(ONE_SEQUENCE, (randn(3, 5) + 1, mix_components, norm_with_gamma)),
        Case(A_BATCH, (randn(2, 3, 7), mix_tokens, norm_with_beta)),
        Case(TWO_BATCHES, (randn(2, 3, 4, 5), mix_components, norm_with_gamma)),
    ]


def post_norm(x, sublayer, norm):
    return norm(x + sublayer(x))


def pre_norm(x, sublayer, norm):
    return x + sublayer(norm(x))


# Slips that both exercises know; the hints fit both.
RESIDUAL_SLIPS = (
    ("norm-missing", lambda x, sublayer, norm: x + sublayer(x),
     "norm is never called, or what it returns is thrown away.",
     "沒有用到 norm，或是沒有用到它傳回的結果。"),
    ("no-residual-norm-last", lambda x, sublayer, norm: norm(sublayer(x)),
     "the residual connection is missing: x itself has to be added to what the sublayer returns.",
     "少了殘差連接：子層的結果要再加上 x 本身。"),
    ("no-residual-norm-first", lambda x, sublayer, norm: sublayer(norm(x)),
     "the plus sign is missing: the sublayer's result should be added to x, not put in its place.",
     "少了加號：子層的結果要加到 x 上，不是取代 x。"),
    ("sublayer-alone", lambda x, sublayer, norm: sublayer(x),
     "only the sublayer is left: both x itself and the norm are missing.",
     "只剩下子層：x 本身和 norm 都不見了。"),
    ("sublayer-missing", lambda x, sublayer, norm: norm(x),
     "sublayer is never called, or what it returns is thrown away.",
     "沒有用到 sublayer，或是沒有用到它傳回的結果。"),
    ("sublayer-missing-but-x-added", lambda x, sublayer, norm: x + norm(x),
     "x and norm(x) are there; the sublayer is missing.",
     "有 x 也有 norm(x)，就是少了子層。"),
    ("norm-of-the-change", lambda x, sublayer, norm: x + norm(sublayer(x)),
     "your norm sees what the sublayer returns, before x is added. That is neither of the two.",
     "你把 norm 用在子層的輸出上，那時還沒加上 x。這兩種排法都不是這樣。"),
    ("norm-of-x-only", lambda x, sublayer, norm: norm(x) + sublayer(x),
     "your norm sits on the short cut, and the sublayer gets x without it.",
     "你的 norm 放在捷徑上，子層拿到的反而是沒有正規化的 x。"),
    ("short-cut-from-the-normed", lambda x, sublayer, norm: norm(x) + sublayer(norm(x)),
     "your short cut starts after the norm: norm(x) is added. Where does the x on it come from? (x = norm(x) in the first line overwrites it.)",
     "你的捷徑是從 norm 之後才出發的，加上去的是 norm(x)。捷徑上的 x 應該從哪裡來？（第一行如果寫 x = norm(x)，原本的 x 就蓋掉了。）"),
    ("both-norms", lambda x, sublayer, norm: norm(x + sublayer(norm(x))),
     "norm is called twice, before the sublayer and after the sum. One of the two is meant. (The final norm of a pre-norm stack comes once, after all its sublayers.)",
     "norm 用了兩次，子層前一次，相加後又一次。只要其中一次。（pre-norm 最後的正規化，是全部的子層都做完之後才用一次。）"),
    ("both-summands-normed", lambda x, sublayer, norm: norm(x) + norm(sublayer(x)),
     "both summands are normalised, each by itself. norm is called once.",
     "相加的兩項各自正規化了。norm 只要用一次。"),
    ("norm-three-times", lambda x, sublayer, norm: norm(norm(x) + sublayer(norm(x))),
     "the short cut, the sublayer and the sum are all normalised. norm is called once.",
     "捷徑、子層、相加的結果全都正規化了。norm 只要用一次。"),
    ("sum-into-the-sublayer", lambda x, sublayer, norm: sublayer(x + norm(x)),
     "x is added before the sublayer. The short cut leads around it: add x to what comes out.",
     "你在子層之前就加了 x。捷徑是繞過子層的：要加到子層的輸出上。"),
    ("subtracted", lambda x, sublayer, norm: norm(x - sublayer(x)),
     "you subtract the sublayer's result, and normalise the difference. It is a plus sign.",
     "你減去子層的結果，再把差正規化。中間應該是加號。"),
    ("multiplied", lambda x, sublayer, norm: norm(x * sublayer(x)),
     "you multiply x and the sublayer's result. A residual connection adds.",
     "你把 x 和子層的結果相乘了。殘差連接用的是加。"),
    ("norm-twice", lambda x, sublayer, norm: norm(norm(x + sublayer(x))),
     "the sum goes through norm twice.",
     "相加的結果正規化了兩次。"),
    ("two-residuals", lambda x, sublayer, norm: x + norm(x + sublayer(x)),
     "x is added twice, before the norm and after it.",
     "x 加了兩次，norm 之前一次，之後又一次。"),
    ("x-alone", lambda x, sublayer, norm: x,
     "x comes back unchanged: neither sublayer nor norm is called.",
     "x 原封不動傳回來了：sublayer 和 norm 都沒有用到。"),
    ("no-residual-both-norms", lambda x, sublayer, norm: norm(sublayer(norm(x))),
     "the plus sign is missing, and norm is called twice, before and after the sublayer.",
     "少了加號，而且 norm 在子層前後各用了一次。"),
    ("change-and-sum-normed", lambda x, sublayer, norm: norm(x + norm(sublayer(x))),
     "norm is called on the sublayer's result, and once more on the sum. It is called once.",
     "子層的結果正規化一次，相加之後又一次。norm 只要用一次。"),
    ("norm-as-a-summand", lambda x, sublayer, norm: x + norm(x) + sublayer(x),
     "you add three things: x, norm(x) and sublayer(x). norm is no summand of its own; something goes through it.",
     "你把 x、norm(x)、sublayer(x) 三個加在一起。norm 不是另外加上去的一項，而是要讓某個東西通過它。"),
    ("sum-and-its-norm", lambda x, sublayer, norm: x + sublayer(x) + norm(x + sublayer(x)),
     "the sum and the normalised sum are added. Only one of them is meant to go on.",
     "你把相加的結果和它正規化之後的結果又加在一起。只要其中一個。"),
    ("sublayer-last", lambda x, sublayer, norm: sublayer(norm(x + sublayer(x))),
     "the sublayer is called twice, the second time on the normalised sum.",
     "子層用了兩次，第二次用在正規化之後的和上。"),
    ("sublayer-twice", lambda x, sublayer, norm: norm(x + sublayer(sublayer(x))),
     "the sublayer is called twice in a row.",
     "子層連續用了兩次。"),
)  # fmt: skip


def residual_mistakes(*own: tuple) -> tuple[Mistake, ...]:
    return mistakes(*own, *RESIDUAL_SLIPS)
