"""Exercise layer-norm of chapter 7: layer normalization."""

from collections.abc import Callable

import torch
import torch.nn.functional as F

from transformer_lib.exercises.chapter_07.shared import (
    EPS,
    EPS_MISSING,
    EPS_OUTSIDE,
    EQUAL_COMPONENTS,
    N_MINUS_1,
    ONE_VECTOR,
)
from transformer_lib.exercises.data import Case, Exercise, Text, mistakes
from transformer_lib.exercises.inputs import A_BATCH, ONE_SEQUENCE, TWO_BATCHES, normal

AS_MANY_TOKENS_AS_DIMENSIONS = Text("as many tokens as dimensions", "標記的個數剛好等於維度")
FAR_FROM_ZERO = Text("numbers far from 0", "離 0 很遠的數")


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


MISTAKES = mistakes(
    ("n-1", _norm(scale=lambda x, eps: (x.var(-1, keepdim=True) + eps).sqrt()), N_MINUS_1),
    ("eps-outside-the-root", _norm(scale=lambda x, eps: x.std(-1, keepdim=True, correction=0) + eps),
     EPS_OUTSIDE),
    ("n-1-and-eps-outside", _norm(scale=lambda x, eps: x.std(-1, keepdim=True) + eps),
     "two things about the denominator: torch.std divides by d − 1, and ε stands outside the root. Both make another number of it.",
     "分母有兩個地方不對：torch.std 除的是 d − 1，而且 ε 加在根號外面。"),
    ("eps-missing", _norm(scale=lambda x, eps: x.std(-1, keepdim=True, correction=0)), EPS_MISSING),
    ("n-1-and-eps-missing", _norm(scale=lambda x, eps: x.std(-1, keepdim=True)),
     "torch.std alone does not do: it divides by d − 1, and ε is not used.",
     "只用 torch.std 不夠：它除的是 d − 1，而且沒有用到 ε。"),
    ("eps-after-the-division",
     _norm(
         scale=lambda x, eps: x.std(-1, keepdim=True, correction=0),
         affine=lambda x_hat, gamma, beta: (x_hat + EPS) * gamma + beta,
     ),
     "ε is added to the quotient: a pair of parentheses is missing below the line. And it belongs under the root.",
     "ε 加到相除的結果上了：分母少了一對括號。而且 ε 應該在根號裡。"),
    ("eps-fixed", lambda x, gamma, beta, eps: F.layer_norm(x, gamma.shape, gamma, beta),
     "you take 1e-5 for ε, PyTorch's default. The argument eps says which it is.",
     "你的 ε 用了 1e-5，也就是 PyTorch 的預設值。要用的是參數 eps。"),
    ("eps-squared", _norm(scale=lambda x, eps: (x.var(-1, False, True) + eps**2).sqrt()),
     "you square ε. It is added to the variance as it is.",
     "你把 ε 平方了。ε 直接和變異數相加就好。"),
    ("eps-twice",
     _norm(scale=lambda x, eps: (x.var(-1, keepdim=True, correction=0) + eps).sqrt() + eps),
     "ε is added twice, under the root and once more outside. Once is enough: under it.",
     "ε 加了兩次，根號裡一次，根號外又一次。只要根號裡那一次就夠了。"),
    ("eps-as-lower-limit",
     _norm(scale=lambda x, eps: x.var(-1, keepdim=True, correction=0).clamp(min=eps).sqrt()),
     "you use ε as the smallest variance allowed. In the formula it is always added.",
     "你把 ε 當成變異數的下限。公式裡不管變異數多大，都要加上 ε。"),
    ("divided-by-the-variance", _norm(scale=lambda x, eps: x.var(-1, keepdim=True, correction=0) + eps),
     "you divide by the variance. The variance is made of squares; what has to be done to get back to the size of x?",
     "你除的是變異數。變異數是平方算出來的；要怎麼做，才會回到 x 原本的大小？"),
    ("multiplied",
     lambda x, gamma, beta, eps: (
         (x - x.mean(-1, True)) * (x.var(-1, False, True) + eps).sqrt() * gamma + beta
     ),
     "you multiply by the root where you should divide: what was spread wide is now spread wider.",
     "應該除以根號的地方，你用乘的：原本散得開的，現在散得更開了。"),
    ("mean-not-subtracted", _norm(centre=lambda x: 0),
     "the mean is not subtracted from x. (In the variance it is.)",
     "x 沒有減去平均。（變異數裡倒是減了。）"),
    ("mean-added", _norm(centre=lambda x: -x.mean(-1, keepdim=True)),
     "the mean is added where it should be subtracted.",
     "應該減去平均，你卻用加的。"),
    ("rms-norm", _norm(centre=lambda x: 0, scale=lambda x, eps: (_mean_of_squares(x) + eps).sqrt()),
     "that is RMSNorm, the norm of chapter 13: no mean is subtracted anywhere. Layer norm subtracts it, above and in the variance.",
     "這是第 13 章的 RMSNorm：從頭到尾都沒減平均。層正規化的分子和變異數裡，都要先減去平均。"),
    ("squares-of-x", _norm(scale=lambda x, eps: (_mean_of_squares(x) + eps).sqrt()),
     "the numerator is right, but below you average the squares of x itself. The variance averages the squares of what is left after the mean is subtracted.",
     "分子對了，但分母是直接把 x 的平方拿來平均。變異數要先減去平均，再把平方拿來平均。"),
    ("mean-of-squares-minus-square-of-mean", _norm(scale=_difference_of_means),
     "on paper E[x²] − E[x]² is the variance. On a computer two huge, nearly equal numbers are subtracted when x is far from 0, and little is left that is right. Subtract the mean first, then square.",
     "在紙上，E[x²] − E[x]² 就是變異數。但在電腦裡，x 離 0 很遠時，等於拿兩個幾乎一樣大的數相減，剩下的位數幾乎都不對。請先減去平均，再平方。"),
    ("sum-of-squares", _norm(scale=lambda x, eps: (x.var(-1, False, True) * x.size(-1) + eps).sqrt()),
     "the squares are summed, but not divided by their number: a variance is a mean.",
     "平方加總之後，沒有除以個數：變異數是平均。"),
    ("absolute-deviation",
     _norm(scale=lambda x, eps: (x - x.mean(-1, keepdim=True)).abs().mean(-1, keepdim=True) + eps),
     "you average absolute values. The variance averages squares; then comes the root.",
     "你平均的是絕對值。變異數平均的是平方，之後再開根號。"),
    ("over-the-tokens", _norm_over(lambda x: 0 if x.ndim == 1 else -2),
     "mean and variance run over the tokens. Each token has a mean and a variance of its own, taken over its components.",
     "平均和變異數是沿著標記算的。每個標記要有自己的平均和變異數，沿著它的分量算。"),
    ("first-dimension", _norm_over(lambda x: 0),
     "mean and variance run over the first dimension, across the batch. That is close to batch norm. Layer norm looks at one token's components: the last dimension.",
     "平均和變異數是沿著第一個維度、跨批次算的，比較像批次正規化。層正規化只看一個標記自己的分量，也就是最後一個維度。"),
    ("batch-norm", _norm_over(lambda x: tuple(range(max(x.ndim - 1, 1)))),
     "that is batch norm: each component is normalised over all tokens of the batch. Here each token is normalised by itself.",
     "這是批次正規化：每個分量跨所有標記來正規化。這裡要的是每個標記自己正規化。"),
    ("over-everything", _norm_over(lambda x: tuple(range(x.ndim))),
     "one mean and one variance for all numbers together. Each token needs its own: give mean and var a dimension.",
     "全部的數共用一個平均和一個變異數。每個標記要有自己的：mean 和 var 要指定維度。"),
    ("tokens-and-components", _norm_over(lambda x: tuple(range(-min(x.ndim, 2), 0))),
     "mean and variance run over the tokens as well: one for each sequence. Each token needs its own.",
     "平均和變異數把標記也算進去了，一個序列才一組。每個標記要有自己的。"),
    ("dimension-counted-from-the-front", _norm_over(lambda x: 1 if x.ndim > 1 else 0),
     "right for one sequence, but dimension 1 is the last one only where there are two. Counted from the end, the last is always -1.",
     "單一序列時是對的，但總共只有兩個維度，維度 1 才會是最後一個。從後面數，最後一個永遠是 -1。"),
    ("keepdim-forgotten", _norm_without_keepdim,
     "mean and variance have lost their last dimension, so they do not stand beside the token they belong to: with as many tokens as dimensions, token j's mean is taken from column j. keepdim=True keeps it.",
     "平均和變異數少了最後一個維度，對不上自己的標記：標記個數剛好等於維度時，第 j 個標記的平均會減到第 j 行去。加上 keepdim=True 就能留住那個維度。"),
    ("one-sequence-only", _norm_of_one_sequence,
     "right for one sequence, but [:, None] adds a dimension in second place. For any number of dimensions use keepdim=True, or [..., None].",
     "單一序列時是對的，但 [:, None] 是在第二個位置加維度。要適用任意個維度，請用 keepdim=True，或 [..., None]。"),
    ("gamma-missing", _norm(affine=lambda x_hat, gamma, beta: x_hat + beta),
     "γ is not used.",
     "沒有用到 γ。"),
    ("beta-missing", _norm(affine=lambda x_hat, gamma, beta: x_hat * gamma),
     "β is not used.",
     "沒有用到 β。"),
    ("gamma-and-beta-missing", _norm(affine=lambda x_hat, gamma, beta: x_hat),
     "this is x̂. Two learned vectors are still to come: γ and β.",
     "這是 x̂。還有兩個學來的向量沒用到：γ 和 β。"),
    ("gamma-times-beta-too", _norm(affine=lambda x_hat, gamma, beta: (x_hat + beta) * gamma),
     "γ multiplies β as well. First scale, then shift.",
     "γ 連 β 也乘到了。先縮放，再平移。"),
    ("gamma-and-beta-exchanged", _norm(affine=lambda x_hat, gamma, beta: x_hat * beta + gamma),
     "γ and β have changed places: γ scales, β shifts.",
     "γ 和 β 的角色對調了：γ 負責縮放，β 負責平移。"),
    ("gamma-before-the-norm",
     lambda x, gamma, beta, eps: _norm(affine=lambda x_hat, *_: x_hat + beta)(
         x * gamma, gamma, beta, eps
     ),
     "γ multiplies x before the norm, so it changes mean and variance. It comes afterwards.",
     "γ 在正規化之前就乘到 x 上，連平均和變異數都跟著變了。應該在正規化之後才乘。"),
    ("gamma-plus-beta", _norm(affine=lambda x_hat, gamma, beta: x_hat * (gamma + beta)),
     "you multiply by γ + β. γ multiplies, β is added afterwards: look at the parentheses.",
     "你乘的是 γ + β。應該先乘 γ，再加 β：看看括號的位置。"),
    ("divided-by-gamma", _norm(affine=lambda x_hat, gamma, beta: x_hat / gamma + beta),
     "you divide by γ. It multiplies.",
     "你除以 γ 了，應該是乘。"),
    ("beta-subtracted", _norm(affine=lambda x_hat, gamma, beta: x_hat * gamma - beta),
     "β is subtracted. It is added.",
     "你減去 β 了，應該是加。"),
    ("eps-in-the-numerator",
     _norm(
         centre=lambda x: x.mean(-1, keepdim=True) - EPS,
         scale=lambda x, eps: (x.var(-1, False, True) + eps).sqrt(),
     ),
     "ε is added to x − μ as well. It belongs to the variance alone.",
     "x − μ 也加了 ε。ε 只要和變異數相加。"),
    ("keepdim-forgotten-below", _norm_without_keepdim_below,
     "the mean keeps its last dimension, the variance has lost it: keepdim=True is needed in both.",
     "平均留住了最後一個維度，變異數卻少了：兩邊都要加 keepdim=True。"),
    ("over-everything-n-1",
     lambda x, gamma, beta, eps: (x - x.mean()) / (x.var() + eps).sqrt() * gamma + beta,
     "one mean and one variance for all numbers together: give mean and var the last dimension. After that look at d − 1, by which torch.var divides.",
     "全部的數共用一個平均和一個變異數：mean 和 var 要指定最後一個維度。之後再看看 d − 1，那是 torch.var 預設除的數。"),
    ("over-everything-n-1-eps-outside",
     lambda x, gamma, beta, eps: (x - x.mean()) / (x.std() + eps) * gamma + beta,
     "start with the dimension: x.mean() and x.std() run over all numbers together. Then two more things: torch.std divides by d − 1, and ε stands outside the root.",
     "先看維度：x.mean() 和 x.std() 是把全部的數算在一起。接著還有兩處：torch.std 除的是 d − 1，而且 ε 加在根號外面。"),
    ("root-of-each-summand",
     _norm(scale=lambda x, eps: x.std(-1, keepdim=True, correction=0) + eps**0.5),
     "you take the roots of σ² and of ε and add them. The root of a sum is not the sum of the roots: add first.",
     "你把 σ² 和 ε 各自開根號再相加。和的平方根不等於平方根的和：要先相加。"),
    ("eps-as-lower-limit-of-the-root",
     _norm(scale=lambda x, eps: x.std(-1, keepdim=True, correction=0).clamp(min=eps)),
     "you use ε as the smallest root allowed. In the formula it is added to the variance, always.",
     "你把 ε 當成平方根的下限。公式裡不管多大，ε 都要加到變異數上。"),
    ("not-divided", _norm(scale=lambda x, eps: 1),
     "the mean is subtracted, but nothing is divided: the variance does not become 1.",
     "減了平均，但沒有除以任何東西：變異數不會變成 1。"),
    ("parentheses-above",
     lambda x, gamma, beta, eps: x - x.mean(-1, True) / _root(x, eps) * gamma + beta,
     "only the mean is divided, not x − μ: division comes before subtraction, so the numerator needs parentheses.",
     "只有平均除到了，x − μ 並沒有：除法比減法先算，分子要加括號。"),
    ("mean-subtracted-too-late",
     lambda x, gamma, beta, eps: (x / _root(x, eps) - x.mean(-1, True)) * gamma + beta,
     "x is divided, and the mean of the undivided x is subtracted afterwards. First subtract, then divide what is left.",
     "你先把 x 除了，再減去還沒除過的平均。應該先減，再把剩下的拿來除。"),
    ("root-of-the-quotient", _root_of_the_quotient,
     "the root is drawn of the whole quotient, whose negative entries have none. It belongs to the denominator alone.",
     "你把整個商開了根號，負的數就開不出來。只有分母要開根號。"),
    ("divided-by-the-length",
     _norm(
         scale=lambda x, eps: torch.linalg.vector_norm(
             x - x.mean(-1, keepdim=True), dim=-1, keepdim=True
         )
     ),
     "you divide by the length of x − μ. Its square is the sum of the squares; the variance is their mean. And ε is missing.",
     "你除的是 x − μ 的長度。長度的平方是平方和，變異數卻是平方的平均。而且沒有用到 ε。"),
    ("affine-first", lambda x, gamma, beta, eps: F.layer_norm(x * gamma + beta, gamma.shape, eps=eps),
     "γ and β come before the norm, which undoes much of what they did. They come after it.",
     "γ 和 β 在正規化之前就用了，做的事又被正規化抵消掉一大半。應該放在正規化之後。"),
    ("gamma-plus-one", _norm(affine=lambda x_hat, gamma, beta: x_hat * (1 + gamma) + beta),
     "you multiply by 1 + γ, as some models do that store γ − 1. Here γ itself is given.",
     "你乘的是 1 + γ。有些模型存的是 γ − 1，才會這樣寫；這裡給的就是 γ。"),
    ("gamma-by-matrix-product", _norm_with_a_matrix_product,
     "@ adds up the products of x̂ and γ to one number for each token. ⊙ goes entry by entry: *.",
     "@ 會把 x̂ 和 γ 的乘積加總，每個標記只剩一個數。⊙ 是逐項相乘，要用 *。"),
    ("n-1-and-no-gamma-beta",
     _norm(
         scale=lambda x, eps: (x.var(-1, keepdim=True) + eps).sqrt(),
         affine=lambda x_hat, gamma, beta: x_hat,
     ),
     "γ and β are not used yet. And torch.var divides by d − 1; layer norm by d.",
     "還沒用到 γ 和 β。而且 torch.var 除的是 d − 1，層正規化除的是 d。"),
    ("eps-outside-and-no-gamma-beta",
     _norm(
         scale=lambda x, eps: x.std(-1, keepdim=True, correction=0) + eps,
         affine=lambda x_hat, gamma, beta: x_hat,
     ),
     "γ and β are not used yet. And ε belongs under the root, to the variance.",
     "還沒用到 γ 和 β。而且 ε 應該在根號裡，和變異數相加。"),
    ("mean-minus-x", lambda x, gamma, beta, eps: (x.mean(-1, True) - x) / _root(x, eps) * gamma + beta,
     "you subtract x from the mean. It is the other way round: every x̂ has the wrong sign.",
     "你用平均減 x，方向反了：每個 x̂ 的正負號都相反。"),
    ("sum-for-the-mean", _norm(centre=lambda x: x.sum(-1, keepdim=True)),
     "you subtract the sum of the components. It is their mean.",
     "你減的是分量的總和，應該減平均。"),
    ("root-detached", _norm(scale=lambda x, eps: _root(x, eps).detach()),
     "the numbers are right, but the gradient treats the root as a constant: no detach(), item() or no_grad() there.",
     "數值是對的，但梯度把平方根當成常數了：這裡不要用 detach()、item() 或 no_grad()。"),
    ("statistics-detached", _norm_with_constants,
     "the numbers are right, but the gradient treats mean and variance as constants. They depend on x, so the gradient has to pass through them: no detach(), no no_grad() there.",
     "數值是對的，但梯度把平均和變異數當成常數了。它們也跟著 x 變，梯度要能穿過它們：這裡不要用 detach() 或 no_grad()。"),
)  # fmt: skip

EXERCISE = Exercise(
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
    mistakes=MISTAKES,
)
