"""Exercises of chapter 7, residual and layer norm: the right answers, and the wrong ones people give."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from transformer_lib.exercises.data import Case, Exercise, Mistake, Text
from transformer_lib.exercises.inputs import A_BATCH, ONE_SEQUENCE, TWO_BATCHES, by_hand, normal

ONE_VECTOR = Text("a single vector", "單一向量")
AS_MANY_TOKENS_AS_DIMENSIONS = Text("as many tokens as dimensions", "標記的個數剛好等於維度")
FAR_FROM_ZERO = Text("numbers far from 0", "離 0 很遠的數")
EQUAL_COMPONENTS = Text("a vector whose components are all equal", "所有分量都相等的向量")
LARGE_NUMBERS = Text("numbers a thousand times larger", "放大一千倍的數")
TWO_COMPONENTS = Text("only two components", "只有兩個分量")
EPS = 0.1  # large, so that one sees where it stands

# Hints that several exercises give.
_N_MINUS_1 = Text(
    "the sum of the squares is divided by d − 1, as torch.var and torch.std do of their own accord. "
    "Layer norm divides by d: look for their argument correction (or unbiased).",
    "平方和除以了 d − 1，torch.var 和 torch.std 預設就是這樣。層正規化除的是 d："
    "看看這兩個函式的參數 correction（或 unbiased）。",
)
_EPS_OUTSIDE = Text(
    "ε is added to the root. It belongs under the root, to the variance.",
    "ε 加在根號外面了。它應該在根號裡面，和變異數相加。",
)
_EPS_MISSING = Text(
    "ε is not used: where all components are equal you divide by 0.",
    "沒有用到 ε：分量全部相等的時候，就會除以 0。",
)

# --- layer-norm ---------------------------------------------------------------------------


def layer_norm(x, gamma, beta, eps):
    mean = x.mean(-1, keepdim=True)
    variance = (x - mean).square().mean(-1, keepdim=True)
    return (x - mean) / (variance + eps).sqrt() * gamma + beta


def _layer_norm_cases():
    randn = normal(71)

    def case(label, x):
        return Case(label, (x, randn(x.size(-1)), randn(x.size(-1)), EPS))

    return [
        case(ONE_SEQUENCE, randn(3, 5) + 1),
        case(ONE_VECTOR, randn(6) - 2),
        case(A_BATCH, randn(2, 3, 7) + 1),
        case(TWO_BATCHES, 5 * randn(2, 3, 4, 6)),
        case(AS_MANY_TOKENS_AS_DIMENSIONS, randn(4, 4)),
        case(FAR_FROM_ZERO, randn(3, 5) + 1e6),
        case(EQUAL_COMPONENTS, torch.full((2, 5), 3.0, dtype=torch.float64)),
    ]


def _root(x, eps):
    return (x.var(-1, keepdim=True, correction=0) + eps).sqrt()


def _norm(
    *,
    centre: Callable = lambda x: x.mean(-1, keepdim=True),
    scale: Callable = _root,
    affine: Callable = lambda x_hat, gamma, beta: x_hat * gamma + beta,
) -> Callable:
    """Layer norm with one of its three parts done in another way."""
    return lambda x, gamma, beta, eps: affine((x - centre(x)) / scale(x, eps), gamma, beta)


def _norm_over(dims: Callable) -> Callable:
    """Layer norm with the mean and the variance of other dimensions than the last."""
    return _norm(
        centre=lambda x: x.mean(dims(x), keepdim=True),
        scale=lambda x, eps: (x.var(dims(x), keepdim=True, correction=0) + eps).sqrt(),
    )


def _mean_of_squares(x):
    return x.square().mean(-1, keepdim=True)


def _difference_of_means(x, eps):
    mean = x.mean(-1, keepdim=True)
    return (_mean_of_squares(x) - mean.square() + eps).sqrt()


def _norm_without_keepdim(x, gamma, beta, eps):
    return (x - x.mean(-1)) / (x.var(-1, correction=0) + eps).sqrt() * gamma + beta


def _norm_of_one_sequence(x, gamma, beta, eps):
    mean, variance = x.mean(-1)[:, None], x.var(-1, correction=0)[:, None]
    return (x - mean) / (variance + eps).sqrt() * gamma + beta


def _norm_with_constants(x, gamma, beta, eps):
    mean, variance = x.mean(-1, keepdim=True), x.var(-1, keepdim=True, correction=0)
    return (x - mean.detach()) / (variance.detach() + eps).sqrt() * gamma + beta


def _norm_without_keepdim_below(x, gamma, beta, eps):
    return (x - x.mean(-1, keepdim=True)) / (x.var(-1, correction=0) + eps).sqrt() * gamma + beta


def _norm_with_a_matrix_product(x, gamma, beta, eps):
    return F.layer_norm(x, x.shape[-1:], eps=eps) @ gamma + beta


def _root_of_the_quotient(x, gamma, beta, eps):
    quotient = (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, correction=0) + eps)
    return quotient.sqrt() * gamma + beta


LAYER_NORM = Exercise(
    name="layer-norm",
    chapter=7,
    title=Text("Layer normalization", "層正規化"),
    difficulty=1,
    minutes=8,
    reference=layer_norm,
    cases=_layer_norm_cases,
    alternatives=(
        lambda x, gamma, beta, eps: F.layer_norm(x, gamma.shape, gamma, beta, eps),
        _norm(),
        _norm(scale=lambda x, eps: (x.var(-1, unbiased=False, keepdim=True) + eps) ** 0.5),
        lambda x, gamma, beta, eps: torch.addcmul(
            beta, gamma, (x - x.mean(-1, True)) * (x.var(-1, False, True) + eps).rsqrt()
        ),
        lambda x, gamma, beta, eps: (
            gamma / (x.var(-1, False, True) + eps).sqrt() * (x - x.sum(-1, True) / x.size(-1))
            + beta
        ),
    ),
    mistakes=(
        Mistake(
            "n-1",
            _norm(scale=lambda x, eps: (x.var(-1, keepdim=True) + eps).sqrt()),
            _N_MINUS_1,
        ),
        Mistake(
            "eps-outside-the-root",
            _norm(scale=lambda x, eps: x.std(-1, keepdim=True, correction=0) + eps),
            _EPS_OUTSIDE,
        ),
        Mistake(
            "n-1-and-eps-outside",
            _norm(scale=lambda x, eps: x.std(-1, keepdim=True) + eps),
            Text(
                "two things about the denominator: torch.std divides by d − 1, and ε stands outside "
                "the root. Both make another number of it.",
                "分母有兩個地方不對：torch.std 除的是 d − 1，而且 ε 加在根號外面。",
            ),
        ),
        Mistake(
            "eps-missing",
            _norm(scale=lambda x, eps: x.std(-1, keepdim=True, correction=0)),
            _EPS_MISSING,
        ),
        Mistake(
            "n-1-and-eps-missing",
            _norm(scale=lambda x, eps: x.std(-1, keepdim=True)),
            Text(
                "torch.std alone does not do: it divides by d − 1, and ε is not used.",
                "只用 torch.std 不夠：它除的是 d − 1，而且沒有用到 ε。",
            ),
        ),
        Mistake(
            "eps-after-the-division",
            _norm(
                scale=lambda x, eps: x.std(-1, keepdim=True, correction=0),
                affine=lambda x_hat, gamma, beta: (x_hat + EPS) * gamma + beta,
            ),
            Text(
                "ε is added to the quotient: a pair of parentheses is missing below the line. And it "
                "belongs under the root.",
                "ε 加到相除的結果上了：分母少了一對括號。而且 ε 應該在根號裡。",
            ),
        ),
        Mistake(
            "eps-fixed",
            lambda x, gamma, beta, eps: F.layer_norm(x, gamma.shape, gamma, beta),
            Text(
                "you take 1e-5 for ε, PyTorch's default. The argument eps says which it is.",
                "你的 ε 用了 1e-5，也就是 PyTorch 的預設值。要用的是參數 eps。",
            ),
        ),
        Mistake(
            "eps-squared",
            _norm(scale=lambda x, eps: (x.var(-1, False, True) + eps**2).sqrt()),
            Text(
                "you square ε. It is added to the variance as it is.",
                "你把 ε 平方了。ε 直接和變異數相加就好。",
            ),
        ),
        Mistake(
            "eps-twice",
            _norm(scale=lambda x, eps: (x.var(-1, keepdim=True, correction=0) + eps).sqrt() + eps),
            Text(
                "ε is added twice, under the root and once more outside. Once is enough: under it.",
                "ε 加了兩次，根號裡一次，根號外又一次。只要根號裡那一次就夠了。",
            ),
        ),
        Mistake(
            "eps-as-lower-limit",
            _norm(scale=lambda x, eps: x.var(-1, keepdim=True, correction=0).clamp(min=eps).sqrt()),
            Text(
                "you use ε as the smallest variance allowed. In the formula it is always added.",
                "你把 ε 當成變異數的下限。公式裡不管變異數多大，都要加上 ε。",
            ),
        ),
        Mistake(
            "divided-by-the-variance",
            _norm(scale=lambda x, eps: x.var(-1, keepdim=True, correction=0) + eps),
            Text(
                "you divide by the variance. The variance is made of squares; what has to be done to "
                "get back to the size of x?",
                "你除的是變異數。變異數是平方算出來的；要怎麼做，才會回到 x 原本的大小？",
            ),
        ),
        Mistake(
            "multiplied",
            lambda x, gamma, beta, eps: (
                (x - x.mean(-1, True)) * (x.var(-1, False, True) + eps).sqrt() * gamma + beta
            ),
            Text(
                "you multiply by the root where you should divide: what was spread wide is now "
                "spread wider.",
                "應該除以根號的地方，你用乘的：原本散得開的，現在散得更開了。",
            ),
        ),
        Mistake(
            "mean-not-subtracted",
            _norm(centre=lambda x: 0),
            Text(
                "the mean is not subtracted from x. (In the variance it is.)",
                "x 沒有減去平均。（變異數裡倒是減了。）",
            ),
        ),
        Mistake(
            "mean-added",
            _norm(centre=lambda x: -x.mean(-1, keepdim=True)),
            Text(
                "the mean is added where it should be subtracted.",
                "應該減去平均，你卻用加的。",
            ),
        ),
        Mistake(
            "rms-norm",
            _norm(centre=lambda x: 0, scale=lambda x, eps: (_mean_of_squares(x) + eps).sqrt()),
            Text(
                "that is RMSNorm, the norm of chapter 13: no mean is subtracted anywhere. Layer norm "
                "subtracts it, above and in the variance.",
                "這是第 13 章的 RMSNorm：從頭到尾都沒減平均。層正規化的分子和變異數裡，都要先減去平均。",
            ),
        ),
        Mistake(
            "squares-of-x",
            _norm(scale=lambda x, eps: (_mean_of_squares(x) + eps).sqrt()),
            Text(
                "the numerator is right, but below you average the squares of x itself. The variance "
                "averages the squares of what is left after the mean is subtracted.",
                "分子對了，但分母是直接把 x 的平方拿來平均。變異數要先減去平均，再把平方拿來平均。",
            ),
        ),
        Mistake(
            "mean-of-squares-minus-square-of-mean",
            _norm(scale=_difference_of_means),
            Text(
                "on paper E[x²] − E[x]² is the variance. On a computer two huge, nearly equal numbers "
                "are subtracted when x is far from 0, and little is left that is right. "
                "Subtract the mean first, then square.",
                "在紙上，E[x²] − E[x]² 就是變異數。但在電腦裡，x 離 0 很遠時，等於拿兩個幾乎一樣大的數"
                "相減，剩下的位數幾乎都不對。請先減去平均，再平方。",
            ),
        ),
        Mistake(
            "sum-of-squares",
            _norm(
                scale=lambda x, eps: (x.var(-1, False, True) * x.size(-1) + eps).sqrt(),
            ),
            Text(
                "the squares are summed, but not divided by their number: a variance is a mean.",
                "平方加總之後，沒有除以個數：變異數是平均。",
            ),
        ),
        Mistake(
            "absolute-deviation",
            _norm(
                scale=lambda x, eps: (
                    (x - x.mean(-1, keepdim=True)).abs().mean(-1, keepdim=True) + eps
                )
            ),
            Text(
                "you average absolute values. The variance averages squares; then comes the root.",
                "你平均的是絕對值。變異數平均的是平方，之後再開根號。",
            ),
        ),
        Mistake(
            "over-the-tokens",
            _norm_over(lambda x: 0 if x.ndim == 1 else -2),
            Text(
                "mean and variance run over the tokens. Each token has a mean and a variance of its own, "
                "taken over its components.",
                "平均和變異數是沿著標記算的。每個標記要有自己的平均和變異數，沿著它的分量算。",
            ),
        ),
        Mistake(
            "first-dimension",
            _norm_over(lambda x: 0),
            Text(
                "mean and variance run over the first dimension, across the batch. That is close to batch "
                "norm. Layer norm looks at one token's components: the last dimension.",
                "平均和變異數是沿著第一個維度、跨批次算的，比較像批次正規化。"
                "層正規化只看一個標記自己的分量，也就是最後一個維度。",
            ),
        ),
        Mistake(
            "batch-norm",
            _norm_over(lambda x: tuple(range(max(x.ndim - 1, 1)))),
            Text(
                "that is batch norm: each component is normalised over all tokens of the batch. Here each "
                "token is normalised by itself.",
                "這是批次正規化：每個分量跨所有標記來正規化。這裡要的是每個標記自己正規化。",
            ),
        ),
        Mistake(
            "over-everything",
            _norm_over(lambda x: tuple(range(x.ndim))),
            Text(
                "one mean and one variance for all numbers together. Each token needs its own: "
                "give mean and var a dimension.",
                "全部的數共用一個平均和一個變異數。每個標記要有自己的：mean 和 var 要指定維度。",
            ),
        ),
        Mistake(
            "tokens-and-components",
            _norm_over(lambda x: tuple(range(-min(x.ndim, 2), 0))),
            Text(
                "mean and variance run over the tokens as well: one for each sequence. Each token "
                "needs its own.",
                "平均和變異數把標記也算進去了，一個序列才一組。每個標記要有自己的。",
            ),
        ),
        Mistake(
            "dimension-counted-from-the-front",
            _norm_over(lambda x: 1 if x.ndim > 1 else 0),
            Text(
                "right for one sequence, but dimension 1 is the last one only where there are two. "
                "Counted from the end, the last is always -1.",
                "單一序列時是對的，但總共只有兩個維度，維度 1 才會是最後一個。從後面數，最後一個永遠是 -1。",
            ),
        ),
        Mistake(
            "keepdim-forgotten",
            _norm_without_keepdim,
            Text(
                "mean and variance have lost their last dimension, so they do not stand beside the token "
                "they belong to: with as many tokens as dimensions, token j's mean is taken from column j. "
                "keepdim=True keeps it.",
                "平均和變異數少了最後一個維度，對不上自己的標記：標記個數剛好等於維度時，"
                "第 j 個標記的平均會減到第 j 行去。加上 keepdim=True 就能留住那個維度。",
            ),
        ),
        Mistake(
            "one-sequence-only",
            _norm_of_one_sequence,
            Text(
                "right for one sequence, but [:, None] adds a dimension in second place. For any number "
                "of dimensions use keepdim=True, or [..., None].",
                "單一序列時是對的，但 [:, None] 是在第二個位置加維度。要適用任意個維度，"
                "請用 keepdim=True，或 [..., None]。",
            ),
        ),
        Mistake(
            "gamma-missing",
            _norm(affine=lambda x_hat, gamma, beta: x_hat + beta),
            Text("γ is not used.", "沒有用到 γ。"),
        ),
        Mistake(
            "beta-missing",
            _norm(affine=lambda x_hat, gamma, beta: x_hat * gamma),
            Text("β is not used.", "沒有用到 β。"),
        ),
        Mistake(
            "gamma-and-beta-missing",
            _norm(affine=lambda x_hat, gamma, beta: x_hat),
            Text(
                "this is x̂. Two learned vectors are still to come: γ and β.",
                "這是 x̂。還有兩個學來的向量沒用到：γ 和 β。",
            ),
        ),
        Mistake(
            "gamma-times-beta-too",
            _norm(affine=lambda x_hat, gamma, beta: (x_hat + beta) * gamma),
            Text(
                "γ multiplies β as well. First scale, then shift.",
                "γ 連 β 也乘到了。先縮放，再平移。",
            ),
        ),
        Mistake(
            "gamma-and-beta-exchanged",
            _norm(affine=lambda x_hat, gamma, beta: x_hat * beta + gamma),
            Text(
                "γ and β have changed places: γ scales, β shifts.",
                "γ 和 β 的角色對調了：γ 負責縮放，β 負責平移。",
            ),
        ),
        Mistake(
            "gamma-before-the-norm",
            lambda x, gamma, beta, eps: _norm(affine=lambda x_hat, *_: x_hat + beta)(
                x * gamma, gamma, beta, eps
            ),
            Text(
                "γ multiplies x before the norm, so it changes mean and variance. It comes afterwards.",
                "γ 在正規化之前就乘到 x 上，連平均和變異數都跟著變了。應該在正規化之後才乘。",
            ),
        ),
        Mistake(
            "gamma-plus-beta",
            _norm(affine=lambda x_hat, gamma, beta: x_hat * (gamma + beta)),
            Text(
                "you multiply by γ + β. γ multiplies, β is added afterwards: look at the parentheses.",
                "你乘的是 γ + β。應該先乘 γ，再加 β：看看括號的位置。",
            ),
        ),
        Mistake(
            "divided-by-gamma",
            _norm(affine=lambda x_hat, gamma, beta: x_hat / gamma + beta),
            Text("you divide by γ. It multiplies.", "你除以 γ 了，應該是乘。"),
        ),
        Mistake(
            "beta-subtracted",
            _norm(affine=lambda x_hat, gamma, beta: x_hat * gamma - beta),
            Text("β is subtracted. It is added.", "你減去 β 了，應該是加。"),
        ),
        Mistake(
            "eps-in-the-numerator",
            _norm(
                centre=lambda x: x.mean(-1, keepdim=True) - EPS,
                scale=lambda x, eps: (x.var(-1, False, True) + eps).sqrt(),
            ),
            Text(
                "ε is added to x − μ as well. It belongs to the variance alone.",
                "x − μ 也加了 ε。ε 只要和變異數相加。",
            ),
        ),
        Mistake(
            "keepdim-forgotten-below",
            _norm_without_keepdim_below,
            Text(
                "the mean keeps its last dimension, the variance has lost it: keepdim=True is needed in both.",
                "平均留住了最後一個維度，變異數卻少了：兩邊都要加 keepdim=True。",
            ),
        ),
        Mistake(
            "over-everything-n-1",
            lambda x, gamma, beta, eps: (x - x.mean()) / (x.var() + eps).sqrt() * gamma + beta,
            Text(
                "one mean and one variance for all numbers together: give mean and var the last dimension. "
                "After that look at d − 1, by which torch.var divides.",
                "全部的數共用一個平均和一個變異數：mean 和 var 要指定最後一個維度。"
                "之後再看看 d − 1，那是 torch.var 預設除的數。",
            ),
        ),
        Mistake(
            "over-everything-n-1-eps-outside",
            lambda x, gamma, beta, eps: (x - x.mean()) / (x.std() + eps) * gamma + beta,
            Text(
                "start with the dimension: x.mean() and x.std() run over all numbers together. Then two more "
                "things: torch.std divides by d − 1, and ε stands outside the root.",
                "先看維度：x.mean() 和 x.std() 是把全部的數算在一起。接著還有兩處："
                "torch.std 除的是 d − 1，而且 ε 加在根號外面。",
            ),
        ),
        Mistake(
            "root-of-each-summand",
            _norm(scale=lambda x, eps: x.std(-1, keepdim=True, correction=0) + eps**0.5),
            Text(
                "you take the roots of σ² and of ε and add them. The root of a sum is not the sum of the "
                "roots: add first.",
                "你把 σ² 和 ε 各自開根號再相加。和的平方根不等於平方根的和：要先相加。",
            ),
        ),
        Mistake(
            "eps-as-lower-limit-of-the-root",
            _norm(scale=lambda x, eps: x.std(-1, keepdim=True, correction=0).clamp(min=eps)),
            Text(
                "you use ε as the smallest root allowed. In the formula it is added to the variance, always.",
                "你把 ε 當成平方根的下限。公式裡不管多大，ε 都要加到變異數上。",
            ),
        ),
        Mistake(
            "not-divided",
            _norm(scale=lambda x, eps: 1),
            Text(
                "the mean is subtracted, but nothing is divided: the variance does not become 1.",
                "減了平均，但沒有除以任何東西：變異數不會變成 1。",
            ),
        ),
        Mistake(
            "parentheses-above",
            lambda x, gamma, beta, eps: x - x.mean(-1, True) / _root(x, eps) * gamma + beta,
            Text(
                "only the mean is divided, not x − μ: division comes before subtraction, so the numerator "
                "needs parentheses.",
                "只有平均除到了，x − μ 並沒有：除法比減法先算，分子要加括號。",
            ),
        ),
        Mistake(
            "mean-subtracted-too-late",
            lambda x, gamma, beta, eps: (x / _root(x, eps) - x.mean(-1, True)) * gamma + beta,
            Text(
                "x is divided, and the mean of the undivided x is subtracted afterwards. First subtract, "
                "then divide what is left.",
                "你先把 x 除了，再減去還沒除過的平均。應該先減，再把剩下的拿來除。",
            ),
        ),
        Mistake(
            "root-of-the-quotient",
            _root_of_the_quotient,
            Text(
                "the root is drawn of the whole quotient, whose negative entries have none. It belongs to "
                "the denominator alone.",
                "你把整個商開了根號，負的數就開不出來。只有分母要開根號。",
            ),
        ),
        Mistake(
            "divided-by-the-length",
            _norm(
                scale=lambda x, eps: torch.linalg.vector_norm(
                    x - x.mean(-1, keepdim=True), dim=-1, keepdim=True
                )
            ),
            Text(
                "you divide by the length of x − μ. Its square is the sum of the squares; the variance is "
                "their mean. And ε is missing.",
                "你除的是 x − μ 的長度。長度的平方是平方和，變異數卻是平方的平均。而且沒有用到 ε。",
            ),
        ),
        Mistake(
            "affine-first",
            lambda x, gamma, beta, eps: F.layer_norm(x * gamma + beta, gamma.shape, eps=eps),
            Text(
                "γ and β come before the norm, which undoes much of what they did. They come after it.",
                "γ 和 β 在正規化之前就用了，做的事又被正規化抵消掉一大半。應該放在正規化之後。",
            ),
        ),
        Mistake(
            "gamma-plus-one",
            _norm(affine=lambda x_hat, gamma, beta: x_hat * (1 + gamma) + beta),
            Text(
                "you multiply by 1 + γ, as some models do that store γ − 1. Here γ itself is given.",
                "你乘的是 1 + γ。有些模型存的是 γ − 1，才會這樣寫；這裡給的就是 γ。",
            ),
        ),
        Mistake(
            "gamma-by-matrix-product",
            _norm_with_a_matrix_product,
            Text(
                "@ adds up the products of x̂ and γ to one number for each token. ⊙ goes entry by entry: *.",
                "@ 會把 x̂ 和 γ 的乘積加總，每個標記只剩一個數。⊙ 是逐項相乘，要用 *。",
            ),
        ),
        Mistake(
            "n-1-and-no-gamma-beta",
            _norm(
                scale=lambda x, eps: (x.var(-1, keepdim=True) + eps).sqrt(),
                affine=lambda x_hat, gamma, beta: x_hat,
            ),
            Text(
                "γ and β are not used yet. And torch.var divides by d − 1; layer norm by d.",
                "還沒用到 γ 和 β。而且 torch.var 除的是 d − 1，層正規化除的是 d。",
            ),
        ),
        Mistake(
            "eps-outside-and-no-gamma-beta",
            _norm(
                scale=lambda x, eps: x.std(-1, keepdim=True, correction=0) + eps,
                affine=lambda x_hat, gamma, beta: x_hat,
            ),
            Text(
                "γ and β are not used yet. And ε belongs under the root, to the variance.",
                "還沒用到 γ 和 β。而且 ε 應該在根號裡，和變異數相加。",
            ),
        ),
        Mistake(
            "mean-minus-x",
            lambda x, gamma, beta, eps: (x.mean(-1, True) - x) / _root(x, eps) * gamma + beta,
            Text(
                "you subtract x from the mean. It is the other way round: every x̂ has the wrong sign.",
                "你用平均減 x，方向反了：每個 x̂ 的正負號都相反。",
            ),
        ),
        Mistake(
            "sum-for-the-mean",
            _norm(centre=lambda x: x.sum(-1, keepdim=True)),
            Text(
                "you subtract the sum of the components. It is their mean.",
                "你減的是分量的總和，應該減平均。",
            ),
        ),
        Mistake(
            "root-detached",
            _norm(scale=lambda x, eps: _root(x, eps).detach()),
            Text(
                "the numbers are right, but the gradient treats the root as a constant: no detach(), item() "
                "or no_grad() there.",
                "數值是對的，但梯度把平方根當成常數了：這裡不要用 detach()、item() 或 no_grad()。",
            ),
        ),
        Mistake(
            "statistics-detached",
            _norm_with_constants,
            Text(
                "the numbers are right, but the gradient treats mean and variance as constants. They depend "
                "on x, so the gradient has to pass through them: no detach(), no no_grad() there.",
                "數值是對的，但梯度把平均和變異數當成常數了。它們也跟著 x 變，梯度要能穿過它們："
                "這裡不要用 detach() 或 no_grad()。",
            ),
        ),
    ),
)

# --- layer-norm-gradient ------------------------------------------------------------------


def layer_norm_gradient(x, grad_output, eps):
    centred = x - x.mean()
    root = (centred.square().mean() + eps).sqrt()
    x_hat = centred / root
    return (grad_output - grad_output.mean() - x_hat * (grad_output * x_hat).mean()) / root


def _layer_norm_gradient_cases():
    randn = normal(72)
    equal = torch.full((6,), -2.0, dtype=torch.float64)
    return [
        Case(ONE_VECTOR, (randn(5) + 1, randn(5), EPS)),
        Case(LARGE_NUMBERS, (1000 * randn(7), randn(7), EPS)),
        Case(EQUAL_COMPONENTS, (equal, randn(6), EPS)),
        Case(TWO_COMPONENTS, (randn(2), randn(2), EPS)),
    ]


def _jacobian(x, eps):
    d = x.numel()
    root = (x.var(correction=0) + eps).sqrt()
    x_hat = (x - x.mean()) / root
    eye = torch.eye(d, dtype=x.dtype)
    return (eye - 1 / d - torch.outer(x_hat, x_hat) / d) / root


def _by_jacobian(x, grad_output, eps):
    return grad_output @ _jacobian(x, eps)


def _by_autograd(x, grad_output, eps):
    _, pull_back = torch.func.vjp(lambda x: F.layer_norm(x, x.shape, eps=eps), x)
    return pull_back(grad_output)[0]


def _gradient(
    terms: Callable = lambda g, h: g - g.mean() - h * (g * h).mean(),
    *,
    root: Callable = lambda x, eps: (x.var(correction=0) + eps).sqrt(),
    finish: Callable = lambda total, root: total / root,
) -> Callable:
    """The gradient from g and h = x̂, with one part of it done in another way."""

    def answer(x, grad_output, eps):
        s = root(x, eps)
        return finish(terms(grad_output, (x - x.mean()) / s), s)

    return answer


def _other_x_hat(x_hat: Callable) -> Callable:
    """The gradient with something else in the place of x̂."""

    def answer(x, g, eps):
        s = (x.var(correction=0) + eps).sqrt()
        h = x_hat(x, s)
        return (g - g.mean() - h * (g * h).mean()) / s

    return answer


def _other_product(product: Callable) -> Callable:
    """The gradient with something else in the place of g · x̂, which is averaged."""

    def answer(x, g, eps):
        s = (x.var(correction=0) + eps).sqrt()
        h = (x - x.mean()) / s
        return (g - g.mean() - h * product(x, g, h).mean()) / s

    return answer


def _pieces(x, g, eps, combine: Callable):
    """The three terms of the bracket and the root, put together in another way."""
    s = (x.var(correction=0) + eps).sqrt()
    h = (x - x.mean()) / s
    return combine(g, g.mean(), h * (g * h).mean(), s)


LAYER_NORM_GRADIENT = Exercise(
    name="layer-norm-gradient",
    chapter=7,
    title=Text("Back through the layer norm", "反向穿過層正規化"),
    difficulty=3,
    minutes=15,
    reference=layer_norm_gradient,
    cases=_layer_norm_gradient_cases,
    alternatives=(
        _by_jacobian,
        _by_autograd,
        _gradient(),
        _gradient(lambda g, h: (g - g.mean()) - h * torch.dot(g - g.mean(), h) / len(h)),
        _gradient(
            lambda g, h: len(g) * g - g.sum() - h * (g @ h),
            finish=lambda total, root: total / (len(total) * root),
        ),
    ),
    mistakes=(
        Mistake(
            "only-divided",
            _gradient(lambda g, h: g),
            Text(
                "you only divide by the root, as if mean and variance were constants. Both depend on x; "
                "each brings one more term.",
                "你只除以根號，等於把平均和變異數當成常數。這兩個都跟著 x 變，各會多出一項。",
            ),
        ),
        Mistake(
            "mean-term-missing",
            _gradient(lambda g, h: g - h * (g * h).mean()),
            Text(
                "the term that comes from the mean μ is missing: every entry of x moves μ.",
                "少了平均 μ 帶來的那一項：x 的每個分量都會改變 μ。",
            ),
        ),
        Mistake(
            "variance-term-missing",
            _gradient(lambda g, h: g - g.mean()),
            Text(
                "the term that comes from the variance is missing: every entry of x moves the root below. (Is it "
                "there, and 0? x̂ alone has the mean 0: multiply by grad_output first, then average.)",
                "少了變異數帶來的那一項：x 的每個分量都會改變分母的根號。"
                "（有寫，但算出來是 0？x̂ 自己的平均就是 0：要先和 grad_output 相乘，再取平均。）",
            ),
        ),
        Mistake(
            "not-divided",
            _gradient(finish=lambda total, root: total),
            Text(
                "the three terms are right; the whole is still to be divided by the root.",
                "三項都對了，但最後整個還要除以根號。",
            ),
        ),
        Mistake(
            "multiplied-by-the-root",
            _gradient(finish=lambda total, root: total * root),
            Text(
                "you multiply by the root. The wider x is spread, the smaller the gradient: divide.",
                "你乘以根號了。x 散得越開，梯度越小：應該用除的。",
            ),
        ),
        Mistake(
            "divided-by-the-variance",
            _gradient(finish=lambda total, root: total / root**2),
            Text(
                "you divide by σ² + ε; the root of it is enough.",
                "你除以 σ² + ε 了；除以它的平方根就好。",
            ),
        ),
        Mistake(
            "eps-outside",
            _gradient(root=lambda x, eps: x.std(correction=0) + eps),
            _EPS_OUTSIDE,
        ),
        Mistake(
            "eps-missing",
            _gradient(root=lambda x, eps: x.std(correction=0)),
            _EPS_MISSING,
        ),
        Mistake(
            "n-1",
            _gradient(root=lambda x, eps: (x.var() + eps).sqrt()),
            _N_MINUS_1,
        ),
        Mistake(
            "diagonal-only",
            _gradient(lambda g, h: g * (1 - 1 / len(g) - h * h / len(g))),
            Text(
                "you use the diagonal of the Jacobian alone: how x̂ᵢ depends on xᵢ. Through mean and "
                "variance it depends on every other component too.",
                "你只用了 Jacobian 矩陣的對角線，也就是 x̂ᵢ 怎麼隨 xᵢ 變。透過平均和變異數，"
                "x̂ᵢ 也會隨其他每個分量改變。",
            ),
        ),
        Mistake(
            "sums-for-means",
            _gradient(lambda g, h: g - g.sum() - h * (g * h).sum()),
            Text(
                "you take sums where means belong: both terms lack a factor 1/d.",
                "該取平均的地方，你用了總和：兩項都少了 1/d。",
            ),
        ),
        Mistake(
            "sum-of-products",
            _gradient(lambda g, h: g - g.mean() - h * (g * h).sum()),
            Text(
                "the term of the variance lacks its factor 1/d: the mean of the products is meant, not "
                "their sum.",
                "變異數那一項少了 1/d：要的是乘積的平均，不是總和。",
            ),
        ),
        Mistake(
            "sum-in-the-first-term",
            _gradient(lambda g, h: g - g.sum() - h * (g * h).mean()),
            Text(
                "the term of the mean lacks its factor 1/d: what is subtracted is the mean of grad_output.",
                "平均那一項少了 1/d：要減的是 grad_output 的平均。",
            ),
        ),
        Mistake(
            "x_hat-once-only",
            _gradient(lambda g, h: g - g.mean() - (g * h).mean()),
            Text(
                "in the term of the variance x̂ occurs twice: once inside the mean, once before it. "
                "The outer one is missing.",
                "變異數那一項裡，x̂ 出現兩次：平均裡面一次，外面一次。外面那個漏掉了。",
            ),
        ),
        Mistake(
            "x_hat-missing-inside",
            _gradient(lambda g, h: g - g.mean() - h * g.mean()),
            Text(
                "in the term of the variance x̂ occurs twice: once inside the mean, once before it. "
                "The inner one is missing.",
                "變異數那一項裡，x̂ 出現兩次：平均裡面一次，外面一次。裡面那個漏掉了。",
            ),
        ),
        Mistake(
            "mean-of-x_hat-squared",
            _gradient(lambda g, h: g - g.mean() - g * (h * h).mean()),
            Text(
                "in the term of the variance it is grad_output times x̂ that is averaged, and x̂ that "
                "stands before it.",
                "變異數那一項，取平均的是 grad_output 乘 x̂，外面乘的是 x̂。",
            ),
        ),
        Mistake(
            "plus-for-minus",
            _gradient(lambda g, h: g - g.mean() + h * (g * h).mean()),
            Text(
                "the sign of the variance's term: a larger root makes the result smaller.",
                "變異數那一項的正負號：根號變大，結果會變小。",
            ),
        ),
        Mistake(
            "both-added",
            _gradient(lambda g, h: g + g.mean() + h * (g * h).mean()),
            Text(
                "both terms are added. They take away what cannot be changed: subtract them.",
                "兩項你都用加的。這兩項要扣掉 LN 感覺不到的部分：應該用減的。",
            ),
        ),
        Mistake(
            "mean-added",
            _gradient(lambda g, h: g + g.mean() - h * (g * h).mean()),
            Text(
                "the sign of the mean's term: x − μ holds μ with a minus.",
                "平均那一項的正負號：x − μ 裡，μ 前面是負號。",
            ),
        ),
        Mistake(
            "negative",
            _gradient(finish=lambda total, root: -total / root),
            Text(
                "every sign is turned round. The gradient points the way of increase; a minus comes in "
                "only when one learns by descending.",
                "正負號全部相反。梯度指的是增加的方向；往下走、更新參數時才會加上負號。",
            ),
        ),
        Mistake(
            "x-for-x_hat",
            _other_x_hat(lambda x, s: x),
            Text(
                "you use x itself where x̂ belongs.",
                "該用 x̂ 的地方，你用了 x 本身。",
            ),
        ),
        Mistake(
            "centred-for-x_hat",
            _other_x_hat(lambda x, s: x - x.mean()),
            Text(
                "you use x − μ where x̂ belongs: it is not divided by the root yet.",
                "該用 x̂ 的地方，你用了 x − μ：還沒有除以根號。",
            ),
        ),
        Mistake(
            "not-centred",
            _other_x_hat(lambda x, s: x / s),
            Text(
                "your x̂ is x divided by the root, without the mean subtracted.",
                "你的 x̂ 只是 x 除以根號，忘了先減去平均。",
            ),
        ),
        Mistake(
            "eps-ignored-in-x_hat",
            _other_x_hat(lambda x, s: (x - x.mean()) / x.std(correction=0)),
            Text(
                "your x̂ is divided by σ alone. The one in the forward pass is divided by the root of σ² + ε.",
                "你的 x̂ 只除以 σ。正向計算時的 x̂ 除的是 σ² + ε 的平方根。",
            ),
        ),
        Mistake(
            "gradient-of-the-sum",
            lambda x, grad_output, eps: 0 * x * grad_output,
            Text(
                "0 is the gradient of LN(x).sum(), whatever x is. Here the output's entries count "
                "differently: grad_output says how much each.",
                "0 是 LN(x).sum() 的梯度，x 是什麼都一樣。這裡每個輸出分量的份量不同，"
                "grad_output 說的就是各占多少。",
            ),
        ),
        Mistake(
            "gradient-of-gamma",
            lambda x, grad_output, eps: grad_output * F.layer_norm(x, x.shape, eps=eps),
            Text(
                "grad_output ⊙ x̂ is the gradient of γ. Asked for is the one of x.",
                "grad_output ⊙ x̂ 是 γ 的梯度。題目要的是 x 的梯度。",
            ),
        ),
        Mistake(
            "forward-times-gradient",
            lambda x, grad_output, eps: F.layer_norm(x, x.shape, eps=eps) + 0 * grad_output,
            Text(
                "this is LN(x), the forward pass. What is asked for is how a change of x arrives.",
                "這是 LN(x)，也就是正向計算的結果。題目要的是梯度。",
            ),
        ),
        Mistake(
            "gradient-unchanged",
            lambda x, grad_output, eps: grad_output + 0 * x,
            Text(
                "grad_output comes back unchanged, as if there were no norm.",
                "grad_output 原封不動傳回來了，像是根本沒有正規化。",
            ),
        ),
        Mistake(
            "only-the-last-term-divided",
            lambda x, g, eps: _pieces(x, g, eps, lambda a, b, c, s: a - b - c / s),
            Text(
                "only the last of the three terms is divided by the root. The bracket closes before the "
                "division.",
                "三項裡只有最後一項除以根號。應該把三項括起來再除。",
            ),
        ),
        Mistake(
            "only-the-first-term-divided",
            lambda x, g, eps: _pieces(x, g, eps, lambda a, b, c, s: a / s - b - c),
            Text(
                "only grad_output is divided by the root; the two terms after it are not.",
                "只有 grad_output 除以根號，後面兩項都沒有。",
            ),
        ),
        Mistake(
            "first-term-not-divided",
            lambda x, g, eps: _pieces(x, g, eps, lambda a, b, c, s: a - (b + c) / s),
            Text(
                "grad_output itself is not divided by the root; the two terms after it are.",
                "grad_output 本身沒有除以根號，只有後面兩項除了。",
            ),
        ),
        Mistake(
            "variance-term-not-divided",
            lambda x, g, eps: _pieces(x, g, eps, lambda a, b, c, s: (a - b) / s - c),
            Text(
                "the term of the variance is not divided by the root; the other two are.",
                "變異數那一項沒有除以根號，另外兩項除了。",
            ),
        ),
        Mistake(
            "products-not-averaged",
            _gradient(lambda g, h: g - g.mean() - h * (g * h)),
            Text(
                "in the term of the variance the products grad_output · x̂ are averaged to one number, before "
                "x̂ is multiplied by it.",
                "變異數那一項，要先把 grad_output · x̂ 的乘積平均成一個數，再乘上 x̂。",
            ),
        ),
        Mistake(
            "two-not-cancelled",
            _gradient(lambda g, h: g - g.mean() - 2 * h * (g * h).mean()),
            Text(
                "the term of the variance is twice too large: the 2 of the square cancels against the ½ of "
                "the root.",
                "變異數那一項大了一倍：平方微分出來的 2，會和根號微分出來的 ½ 約掉。",
            ),
        ),
        Mistake(
            "mean-of-x-subtracted",
            lambda x, g, eps: _pieces(x, g, eps, lambda a, b, c, s: (a - x.mean() - c) / s),
            Text(
                "the mean of x is subtracted; it is the mean of grad_output.",
                "你減的是 x 的平均，應該減 grad_output 的平均。",
            ),
        ),
        Mistake(
            "products-of-x",
            _other_product(lambda x, g, h: x * h),
            Text(
                "you average x · x̂. What is averaged is grad_output · x̂.",
                "你平均的是 x · x̂，應該是 grad_output · x̂。",
            ),
        ),
        Mistake(
            "jacobian-alone",
            lambda x, g, eps: _jacobian(x, eps) + 0 * g,
            Text(
                "that is the whole Jacobian, d × d. Multiply it from the left by grad_output.",
                "這是整個 d × d 的 Jacobian 矩陣。還要從左邊乘上 grad_output。",
            ),
        ),
        Mistake(
            "jacobian-entry-by-entry",
            lambda x, g, eps: _jacobian(x, eps) * g,
            Text(
                "* multiplies the Jacobian entry by entry. The chain rule also adds up: grad_output @ Jacobian.",
                "* 是逐項相乘。連鎖律還要加總：grad_output @ Jacobian 矩陣。",
            ),
        ),
        Mistake(
            "gradient-before-the-mean-product",
            _gradient(lambda g, h: g - g.mean() - g * (g * h).mean()),
            Text(
                "in the term of the variance it is x̂ that stands before the mean, not grad_output.",
                "變異數那一項，乘在平均外面的是 x̂，不是 grad_output。",
            ),
        ),
        Mistake(
            "x_hat-in-the-wrong-term",
            _gradient(lambda g, h: g - h * g.mean() - (g * h).mean()),
            Text(
                "the x̂ before the mean stands in the wrong term: it belongs to the mean of grad_output · x̂.",
                "外面的 x̂ 乘錯了項：它要乘的是 grad_output · x̂ 的平均。",
            ),
        ),
        Mistake(
            "norm-of-the-gradient",
            lambda x, g, eps: F.layer_norm(g, g.shape, eps=eps) + 0 * x,
            Text(
                "you normalise grad_output. The way back is not the norm once more, but its derivative at x.",
                "你把 grad_output 拿去正規化了。反向傳播不是再正規化一次，而是乘上它在 x 的導數。",
            ),
        ),
        Mistake(
            "variance-for-the-root",
            _gradient(root=lambda x, eps: x.var(correction=0) + eps),
            Text(
                "you divide by σ² + ε, in x̂ as well. The root is missing.",
                "你除的是 σ² + ε，連 x̂ 也是。少開了根號。",
            ),
        ),
        Mistake(
            "n-1-and-eps-missing",
            _gradient(root=lambda x, eps: x.std()),
            Text(
                "x.std() alone is not the root s: torch.std divides by d − 1, and ε is not used.",
                "只用 x.std() 不等於 s：torch.std 除的是 d − 1，而且沒有用到 ε。",
            ),
        ),
        Mistake(
            "n-1-and-eps-outside",
            _gradient(root=lambda x, eps: x.std() + eps),
            Text(
                "two things about the root: torch.std divides by d − 1, and ε stands outside.",
                "根號有兩個地方不對：torch.std 除的是 d − 1，而且 ε 加在根號外面。",
            ),
        ),
        Mistake(
            "eps-ignored-in-the-division",
            lambda x, g, eps: _pieces(
                x, g, eps, lambda a, b, c, s: (a - b - c) / x.std(correction=0)
            ),
            Text(
                "x̂ is right, but the bracket is divided by σ alone. The root s holds ε here, too.",
                "x̂ 對了，但括號除的只有 σ。這裡的 s 同樣含有 ε。",
            ),
        ),
        Mistake(
            "d-1-in-the-means",
            _gradient(lambda g, h: g - g.sum() / (len(g) - 1) - h * (g * h).sum() / (len(g) - 1)),
            Text(
                "the two means are divided by d − 1; here, too, it is d.",
                "兩個平均都除以 d − 1 了；這裡除的也是 d。",
            ),
        ),
    ),
)

# --- post-norm and pre-norm ---------------------------------------------------------------

_W_1, _W_2, _GAMMA, _BETA = (normal(73)(*shape) for shape in ((5, 5), (7, 7), (5,), (7,)))


def mix_components(x: Tensor) -> Tensor:
    """A sublayer for vectors of length 5."""
    return torch.tanh(x @ _W_1.to(x.dtype)) + 0.5


def mix_tokens(x: Tensor) -> Tensor:
    """A sublayer for vectors of length 7 in which every token sees the others."""
    return (x @ x.mT).softmax(-1) @ x @ _W_2.to(x.dtype)


def norm_with_gamma(x: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], _GAMMA.to(x.dtype), eps=EPS)


def norm_with_beta(x: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], None, _BETA.to(x.dtype), eps=EPS)


def _residual_cases():
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
_RESIDUAL_SLIPS = (
    (
        "norm-missing",
        lambda x, sublayer, norm: x + sublayer(x),
        Text(
            "norm is never called, or what it returns is thrown away.",
            "沒有用到 norm，或是沒有用到它傳回的結果。",
        ),
    ),
    (
        "no-residual-norm-last",
        lambda x, sublayer, norm: norm(sublayer(x)),
        Text(
            "the residual connection is missing: x itself has to be added to what the sublayer returns.",
            "少了殘差連接：子層的結果要再加上 x 本身。",
        ),
    ),
    (
        "no-residual-norm-first",
        lambda x, sublayer, norm: sublayer(norm(x)),
        Text(
            "the plus sign is missing: the sublayer's result should be added to x, not put in its place.",
            "少了加號：子層的結果要加到 x 上，不是取代 x。",
        ),
    ),
    (
        "sublayer-alone",
        lambda x, sublayer, norm: sublayer(x),
        Text(
            "only the sublayer is left: both x itself and the norm are missing.",
            "只剩下子層：x 本身和 norm 都不見了。",
        ),
    ),
    (
        "sublayer-missing",
        lambda x, sublayer, norm: norm(x),
        Text(
            "sublayer is never called, or what it returns is thrown away.",
            "沒有用到 sublayer，或是沒有用到它傳回的結果。",
        ),
    ),
    (
        "sublayer-missing-but-x-added",
        lambda x, sublayer, norm: x + norm(x),
        Text(
            "x and norm(x) are there; the sublayer is missing.", "有 x 也有 norm(x)，就是少了子層。"
        ),
    ),
    (
        "norm-of-the-change",
        lambda x, sublayer, norm: x + norm(sublayer(x)),
        Text(
            "your norm sees what the sublayer returns, before x is added. That is neither of the two.",
            "你把 norm 用在子層的輸出上，那時還沒加上 x。這兩種排法都不是這樣。",
        ),
    ),
    (
        "norm-of-x-only",
        lambda x, sublayer, norm: norm(x) + sublayer(x),
        Text(
            "your norm sits on the short cut, and the sublayer gets x without it.",
            "你的 norm 放在捷徑上，子層拿到的反而是沒有正規化的 x。",
        ),
    ),
    (
        "short-cut-from-the-normed",
        lambda x, sublayer, norm: norm(x) + sublayer(norm(x)),
        Text(
            "your short cut starts after the norm: norm(x) is added. Where does the x on it come from? "
            "(x = norm(x) in the first line overwrites it.)",
            "你的捷徑是從 norm 之後才出發的，加上去的是 norm(x)。捷徑上的 x 應該從哪裡來？"
            "（第一行如果寫 x = norm(x)，原本的 x 就蓋掉了。）",
        ),
    ),
    (
        "both-norms",
        lambda x, sublayer, norm: norm(x + sublayer(norm(x))),
        Text(
            "norm is called twice, before the sublayer and after the sum. One of the two is meant. (The final "
            "norm of a pre-norm stack comes once, after all its sublayers.)",
            "norm 用了兩次，子層前一次，相加後又一次。只要其中一次。"
            "（pre-norm 最後的正規化，是全部的子層都做完之後才用一次。）",
        ),
    ),
    (
        "both-summands-normed",
        lambda x, sublayer, norm: norm(x) + norm(sublayer(x)),
        Text(
            "both summands are normalised, each by itself. norm is called once.",
            "相加的兩項各自正規化了。norm 只要用一次。",
        ),
    ),
    (
        "norm-three-times",
        lambda x, sublayer, norm: norm(norm(x) + sublayer(norm(x))),
        Text(
            "the short cut, the sublayer and the sum are all normalised. norm is called once.",
            "捷徑、子層、相加的結果全都正規化了。norm 只要用一次。",
        ),
    ),
    (
        "sum-into-the-sublayer",
        lambda x, sublayer, norm: sublayer(x + norm(x)),
        Text(
            "x is added before the sublayer. The short cut leads around it: add x to what comes out.",
            "你在子層之前就加了 x。捷徑是繞過子層的：要加到子層的輸出上。",
        ),
    ),
    (
        "subtracted",
        lambda x, sublayer, norm: norm(x - sublayer(x)),
        Text(
            "you subtract the sublayer's result, and normalise the difference. It is a plus sign.",
            "你減去子層的結果，再把差正規化。中間應該是加號。",
        ),
    ),
    (
        "multiplied",
        lambda x, sublayer, norm: norm(x * sublayer(x)),
        Text(
            "you multiply x and the sublayer's result. A residual connection adds.",
            "你把 x 和子層的結果相乘了。殘差連接用的是加。",
        ),
    ),
    (
        "norm-twice",
        lambda x, sublayer, norm: norm(norm(x + sublayer(x))),
        Text("the sum goes through norm twice.", "相加的結果正規化了兩次。"),
    ),
    (
        "two-residuals",
        lambda x, sublayer, norm: x + norm(x + sublayer(x)),
        Text(
            "x is added twice, before the norm and after it.",
            "x 加了兩次，norm 之前一次，之後又一次。",
        ),
    ),
    (
        "x-alone",
        lambda x, sublayer, norm: x,
        Text(
            "x comes back unchanged: neither sublayer nor norm is called.",
            "x 原封不動傳回來了：sublayer 和 norm 都沒有用到。",
        ),
    ),
    (
        "no-residual-both-norms",
        lambda x, sublayer, norm: norm(sublayer(norm(x))),
        Text(
            "the plus sign is missing, and norm is called twice, before and after the sublayer.",
            "少了加號，而且 norm 在子層前後各用了一次。",
        ),
    ),
    (
        "change-and-sum-normed",
        lambda x, sublayer, norm: norm(x + norm(sublayer(x))),
        Text(
            "norm is called on the sublayer's result, and once more on the sum. It is called once.",
            "子層的結果正規化一次，相加之後又一次。norm 只要用一次。",
        ),
    ),
    (
        "norm-as-a-summand",
        lambda x, sublayer, norm: x + norm(x) + sublayer(x),
        Text(
            "you add three things: x, norm(x) and sublayer(x). norm is no summand of its own; something "
            "goes through it.",
            "你把 x、norm(x)、sublayer(x) 三個加在一起。norm 不是另外加上去的一項，而是要讓某個東西通過它。",
        ),
    ),
    (
        "sum-and-its-norm",
        lambda x, sublayer, norm: x + sublayer(x) + norm(x + sublayer(x)),
        Text(
            "the sum and the normalised sum are added. Only one of them is meant to go on.",
            "你把相加的結果和它正規化之後的結果又加在一起。只要其中一個。",
        ),
    ),
    (
        "sublayer-last",
        lambda x, sublayer, norm: sublayer(norm(x + sublayer(x))),
        Text(
            "the sublayer is called twice, the second time on the normalised sum.",
            "子層用了兩次，第二次用在正規化之後的和上。",
        ),
    ),
    (
        "sublayer-twice",
        lambda x, sublayer, norm: norm(x + sublayer(sublayer(x))),
        Text("the sublayer is called twice in a row.", "子層連續用了兩次。"),
    ),
)


def _residual_mistakes(*own: tuple[str, Callable, Text]) -> tuple[Mistake, ...]:
    return tuple(Mistake(*slip) for slip in (*own, *_RESIDUAL_SLIPS))


POST_NORM = Exercise(
    name="post-norm",
    chapter=7,
    title=Text("Post-norm", "post-norm"),
    difficulty=1,
    minutes=4,
    reference=post_norm,
    cases=_residual_cases,
    alternatives=(
        lambda x, sublayer, norm: norm(sublayer(x) + x),
        lambda x, sublayer, norm: norm(torch.add(x, sublayer(x))),
        lambda x, sublayer, norm: norm(torch.stack([x, sublayer(x)]).sum(0)),
    ),
    mistakes=_residual_mistakes(
        (
            "pre-norm",
            pre_norm,
            Text(
                "that is pre-norm: the norm stands before the sublayer. In post-norm it comes last.",
                "這是 pre-norm：norm 在子層之前。post-norm 的 norm 在最後。",
            ),
        ),
        (
            "short-cut-detached",
            lambda x, sublayer, norm: norm(x.detach() + sublayer(x)),
            Text(
                "the numbers are right, but no gradient passes along the short cut: x is detached there. "
                "That gradient is what the short cut is for.",
                "數值是對的，但捷徑上的 x 斷開了計算圖，梯度過不去。捷徑就是為了讓梯度通過的。",
            ),
        ),
        (
            "change-detached",
            lambda x, sublayer, norm: norm(x + sublayer(x).detach()),
            Text(
                "the numbers are right, but no gradient passes through the sublayer, so it could not learn.",
                "數值是對的，但梯度過不了子層，子層就學不到東西。",
            ),
        ),
        (
            "x-twice",
            lambda x, sublayer, norm: norm(2 * x + sublayer(x)),
            Text("x is added twice.", "x 加了兩次。"),
        ),
        (
            "halved",
            lambda x, sublayer, norm: norm((x + sublayer(x)) / 2),
            Text(
                "you take the mean of x and the sublayer's result. It is their sum (the norm hides most of "
                "the difference, but not ε's).",
                "你取了 x 和子層結果的平均。應該是相加（正規化會遮掉大部分的差別，但 ε 的影響還在）。",
            ),
        ),
    ),
)

PRE_NORM = Exercise(
    name="pre-norm",
    chapter=7,
    title=Text("Pre-norm", "pre-norm"),
    difficulty=1,
    minutes=4,
    reference=pre_norm,
    cases=_residual_cases,
    alternatives=(
        lambda x, sublayer, norm: sublayer(norm(x)) + x,
        lambda x, sublayer, norm: torch.add(x, sublayer(norm(x))),
        lambda x, sublayer, norm: torch.stack([x, sublayer(norm(x))]).sum(0),
    ),
    mistakes=_residual_mistakes(
        (
            "post-norm",
            post_norm,
            Text(
                "that is post-norm: the norm comes last, on the highway itself. In pre-norm it stands "
                "inside the branch, before the sublayer.",
                "這是 post-norm：norm 在最後，擋在主幹道上。pre-norm 的 norm 在分支裡，子層之前。",
            ),
        ),
        (
            "short-cut-detached",
            lambda x, sublayer, norm: x.detach() + sublayer(norm(x)),
            Text(
                "the numbers are right, but no gradient passes along the short cut: x is detached there. "
                "That gradient is what the short cut is for.",
                "數值是對的，但捷徑上的 x 斷開了計算圖，梯度過不去。捷徑就是為了讓梯度通過的。",
            ),
        ),
        (
            "change-detached",
            lambda x, sublayer, norm: x + sublayer(norm(x)).detach(),
            Text(
                "the numbers are right, but no gradient passes through the sublayer, so it could not learn.",
                "數值是對的，但梯度過不了子層，子層就學不到東西。",
            ),
        ),
        (
            "minus-for-plus",
            lambda x, sublayer, norm: x - sublayer(norm(x)),
            Text(
                "you subtract what the sublayer returns. It is a plus sign.",
                "你減去子層的結果了。應該用加號。",
            ),
        ),
        (
            "norm-before-and-after-the-sublayer",
            lambda x, sublayer, norm: x + norm(sublayer(norm(x))),
            Text(
                "the sublayer's result is normalised once more. Only its input is.",
                "子層的結果又正規化了一次。只有子層的輸入要正規化。",
            ),
        ),
        (
            "x-twice",
            lambda x, sublayer, norm: 2 * x + sublayer(norm(x)),
            Text("x is added twice.", "x 加了兩次。"),
        ),
    ),
)

# --- with a pencil ------------------------------------------------------------------------


def _number(name: str, value: float, en: str, zh: str) -> Mistake:
    """A wrong number and its hint."""
    return Mistake(name, lambda: value, Text(en, zh))


PENCIL_LAYER_NORM = Exercise(
    name="pencil-layer-norm",
    chapter=7,
    title=Text("Layer norm with a pencil", "用紙筆算層正規化"),
    difficulty=1,
    minutes=5,
    reference=lambda: 7.0,
    cases=by_hand,
    tolerance=1e-3,
    alternatives=(lambda: 7, lambda: torch.tensor(7.0), lambda: 3 * (9 - 5) / math.sqrt(4) + 1),
    mistakes=(
        _number(
            "n-1",
            3 * 4 / math.sqrt(5) + 1,
            "you divide the sum of squares, 20, by 4. Layer norm divides by the number of components.",
            "你把平方和 20 除以 4 了。層正規化除的是分量的個數。",
        ),
        _number(
            "divided-by-the-variance",
            4.0,
            "you divide by the variance, 4. The root is missing.",
            "你除的是變異數 4，少開了根號。",
        ),
        _number(
            "x_hat",
            2.0,
            "2 is x̂. γ and β are still to come.",
            "2 是 x̂。還沒用到 γ 和 β。",
        ),
        _number("beta-missing", 6.0, "6 is γ · x̂. β is missing.", "6 是 γ · x̂，還少了 β。"),
        _number("gamma-missing", 3.0, "3 is x̂ + β. γ is missing.", "3 是 x̂ + β，還少了 γ。"),
        _number(
            "gamma-times-beta-too",
            9.0,
            "9 is γ · (x̂ + β), or x itself. First scale, then shift.",
            "9 是 γ · (x̂ + β)，或是 x 本身。先縮放，再平移。",
        ),
        _number(
            "mean-not-subtracted",
            3 * 9 / 2 + 1,
            "the mean is not subtracted from 9.",
            "9：沒有先減去平均。",
        ),
        _number(
            "not-divided",
            13.0,
            "13 = 3 · 4 + 1: the mean is subtracted, but nothing is divided by σ.",
            "13 = 3 · 4 + 1：減了平均，但沒有除以 σ。",
        ),
        _number(
            "sum-of-squares",
            3 * 4 / math.sqrt(20) + 1,
            "you take the root of the sum of squares, 20. The variance is their mean.",
            "你是把平方和 20 開根號。變異數是平方的平均。",
        ),
        _number(
            "absolute-deviation",
            3 * 4 / 1.6 + 1,
            "you divide by the mean distance from μ, 1.6. The variance averages squares.",
            "你除的是各分量和 μ 的平均距離 1.6。變異數平均的是平方。",
        ),
        _number(
            "exchanged",
            5.0,
            "γ and β have changed places (or 5 is your mean): γ multiplies, β is added.",
            "γ 和 β 對調了（或者你只算到平均 5）：γ 是乘的，β 是加的。",
        ),
        _number(
            "over-the-sum-of-squares",
            3 * 4 / 20 + 1,
            "you divide by the sum of squares, 20. Make it a mean, and take the root.",
            "你除的是平方和 20。要先平均，再開根號。",
        ),
        _number(
            "divided-by-the-mean",
            3 * 4 / 5 + 1,
            "you divide by 5, the mean or the number of components. What divides is σ, the root of the variance.",
            "你除的是 5，也就是平均或分量的個數。要除的是 σ，變異數的平方根。",
        ),
        _number(
            "multiplied-by-the-root",
            25.0,
            "25 = 3 · 4 · 2 + 1: you multiply by σ. Divide by it.",
            "25 = 3 · 4 · 2 + 1：你乘以 σ 了，應該用除的。",
        ),
        _number(
            "not-normalised",
            28.0,
            "28 = 3 · 9 + 1 is γ x + β. Before that, x is normalised.",
            "28 = 3 · 9 + 1 是 γ x + β。在這之前，要先把 x 正規化。",
        ),
        _number(
            "sign",
            -5.0,
            "your x̂ has the wrong sign: 9 − 5, not 5 − 9.",
            "你的 x̂ 正負號反了：是 9 − 5，不是 5 − 9。",
        ),
        _number(
            "another-component",
            -0.5,
            "that is what becomes of a 4. Asked for is the first component.",
            "這是 4 的結果。題目問的是第一個分量。",
        ),
    ),
)

COUNT_PATHS = Exercise(
    name="count-paths",
    chapter=7,
    title=Text("How many paths?", "有幾條路？"),
    difficulty=1,
    minutes=4,
    reference=lambda: 15.0,
    cases=by_hand,
    tolerance=1e-3,
    alternatives=(lambda: 15, lambda: math.comb(6, 2), lambda: torch.tensor(15.0)),
    mistakes=(
        _number(
            "all-paths",
            64.0,
            "64 = 2⁶ is the number of all paths. Only those through exactly two sublayers count here.",
            "64 = 2⁶ 是全部的路徑數。這裡只算剛好經過兩個子層的。",
        ),
        _number(
            "order-counts",
            30.0,
            "30 = 6 · 5 counts each pair twice. A path meets its sublayers in one order only.",
            "30 = 6 · 5 把每一對算了兩次。一條路經過子層的順序只有一種。",
        ),
        _number(
            "with-repetition",
            36.0,
            "36 = 6 · 6 lets a path go through the same sublayer twice, and counts each pair twice.",
            "36 = 6 · 6 讓一條路經過同一個子層兩次，而且每一對都算了兩次。",
        ),
        _number(
            "pairs-with-repetition",
            21.0,
            "21 also holds pairs of a sublayer with itself. A path meets each sublayer at most once.",
            "21 把子層和自己配成一對的也算進去了。一條路每個子層最多經過一次。",
        ),
        _number(
            "at-most-two",
            22.0,
            "22 = 1 + 6 + 15 counts the paths through at most two sublayers.",
            "22 = 1 + 6 + 15 是最多經過兩個子層的路徑數。",
        ),
        _number(
            "two-each",
            12.0,
            "12 = 6 · 2. Choose two out of six: for the first there are six ways, for the second five; "
            "and then?",
            "12 = 6 · 2。這是從六個裡選兩個：第一個有六種選法，第二個有五種，然後呢？",
        ),
        _number(
            "neighbours",
            5.0,
            "5 counts neighbouring pairs only. The two need not follow each other directly.",
            "5 只算了相鄰的兩個。這兩個子層不必緊接著。",
        ),
        _number(
            "two-to-choose",
            4.0,
            "4 = 2² is the number of paths in a stack of two. Here there are six sublayers.",
            "4 = 2² 是只有兩個子層時的路徑數。這裡有六個子層。",
        ),
        _number(
            "one-of-six",
            6.0,
            "6 is the number of paths through exactly one sublayer (or of the sublayers). Here it is two.",
            "6 是剛好經過一個子層的路徑數（或子層的個數）。這裡要經過兩個。",
        ),
        _number(
            "at-least-two",
            57.0,
            "57 = 64 − 7 counts the paths through two sublayers or more. Exactly two are meant.",
            "57 = 64 − 7 是經過兩個以上的路徑數。這裡要剛好兩個。",
        ),
        _number(
            "two-of-five",
            10.0,
            "10 is two out of five. Here there are six sublayers.",
            "10 是五個裡選兩個。這裡有六個子層。",
        ),
        _number(
            "share",
            15 / 64,
            "15/64 is their share of all paths. Asked for is their number.",
            "15/64 是它們占全部路徑的比例。題目問的是有幾條。",
        ),
        _number(
            "three-of-six",
            20.0,
            "20 is the number of paths through three of the six.",
            "20 是經過六個裡的三個子層的路徑數。",
        ),
    ),
)

DIRECT_PATH = Exercise(
    name="direct-path",
    chapter=7,
    title=Text("What is left of the direct path", "直達的路還剩多少"),
    difficulty=2,
    minutes=5,
    reference=lambda: 1 / 16,
    cases=by_hand,
    tolerance=1e-3,
    alternatives=(lambda: 0.0625, lambda: 2**-4, lambda: math.sqrt(0.5) ** 8),
    mistakes=(
        _number(
            "pre-norm",
            1.0,
            "1 would be right for pre-norm. In post-norm each norm divides the direct path, too.",
            "pre-norm 的話 1 就對了。post-norm 的每個 norm 也會除到直達的路。",
        ),
        _number(
            "variance-for-its-root",
            2.0**-8,
            "1/256 = 2⁻⁸: you divide by the variance 2 each time, where the norm divides by its root (or you "
            "count sixteen norms, not eight).",
            "1/256 = 2⁻⁸：你每次都除以變異數 2，但 norm 除的是它的平方根（或是你算了十六個 norm，不是八個）。",
        ),
        _number(
            "once-only",
            math.sqrt(0.5),
            "that is the factor of one sublayer. There are eight.",
            "這是一個子層的倍率。總共有八個。",
        ),
        _number(
            "sum-of-variances",
            1 / 3,
            "1/3 = 1/√9: you let the variances add up, as in pre-norm. Post-norm brings the variance back "
            "to 1 after each sublayer.",
            "1/3 = 1/√9：你像 pre-norm 那樣讓變異數一路加上去。post-norm 每過一個子層，"
            "變異數就回到 1。",
        ),
        _number(
            "added-up",
            8 * math.sqrt(0.5),
            "you add eight factors. The chain rule multiplies them.",
            "你把八個倍率加起來了。連鎖律是用乘的。",
        ),
        _number(
            "root-of-sixteen",
            0.25,
            "1/4 is what is left after four sublayers. There are eight.",
            "1/4 是四個子層之後剩下的。總共有八個。",
        ),
        _number(
            "times-eight",
            math.sqrt(0.5) / 8,
            "you divide 1/√2 by eight. Eight factors are multiplied: a power.",
            "你把 1/√2 除以八。應該是八個倍率相乘，也就是八次方。",
        ),
        _number(
            "one-eighth",
            0.125,
            "1/8 is 2 to the power −3. Which power of √2 do eight norms make?",
            "1/8 是 2 的 −3 次方。八個 norm 是 √2 的幾次方？",
        ),
        _number(
            "root-of-eight",
            1 / math.sqrt(8),
            "you divide by √8 once. Each of the eight norms divides by the root of its own variance, 2.",
            "你只除了一次 √8。八個 norm 各自除以自己那個變異數 2 的平方根。",
        ),
        _number(
            "one-ninth",
            1 / 9,
            "1/9: you let the variances add up to 9, as in pre-norm, and took no root. Post-norm brings the "
            "variance back to 1 after each sublayer.",
            "1/9：你像 pre-norm 那樣讓變異數一路加到 9，也沒有開根號。post-norm 每過一個子層，變異數就回到 1。",
        ),
        _number(
            "half",
            0.5,
            "1/2 is what two norms make of it (or one that divides by the variance). There are eight, and "
            "each divides by the root.",
            "1/2 是兩個 norm 之後剩下的（或是一個 norm 除以變異數）。總共有八個，每個除的是平方根。",
        ),
        _number(
            "inverse-without-root",
            256.0,
            "256 = 2⁸ is a double slip: the norm divides, and what it divides by is the root of 2.",
            "256 = 2⁸ 有兩個地方不對：norm 是除的，而且除的是 2 的平方根。",
        ),
        _number(
            "inverse",
            16.0,
            "16 is the inverse: the norm divides, so the gradient gets smaller.",
            "16 是倒數：norm 是除的，所以梯度會變小。",
        ),
    ),
)

EXERCISES = (
    PENCIL_LAYER_NORM,
    COUNT_PATHS,
    DIRECT_PATH,
    LAYER_NORM,
    LAYER_NORM_GRADIENT,
    POST_NORM,
    PRE_NORM,
)
