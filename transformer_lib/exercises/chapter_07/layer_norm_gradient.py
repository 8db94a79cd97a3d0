"""Exercise layer-norm-gradient of chapter 7: back through the layer norm."""

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
from transformer_lib.exercises.inputs import normal

LARGE_NUMBERS = Text("numbers a thousand times larger", "放大一千倍的數")
TWO_COMPONENTS = Text("only two components", "只有兩個分量")


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


MISTAKES = mistakes(
    ("only-divided", _gradient(lambda g, h: g),
     "you only divide by the root, as if mean and variance were constants. Both depend on x; each brings one more term.",
     "你只除以根號，等於把平均和變異數當成常數。這兩個都跟著 x 變，各會多出一項。"),
    ("mean-term-missing", _gradient(lambda g, h: g - h * (g * h).mean()),
     "the term that comes from the mean μ is missing: every entry of x moves μ.",
     "少了平均 μ 帶來的那一項：x 的每個分量都會改變 μ。"),
    ("variance-term-missing", _gradient(lambda g, h: g - g.mean()),
     "the term that comes from the variance is missing: every entry of x moves the root below. (Is it there, and 0? x̂ alone has the mean 0: multiply by grad_output first, then average.)",
     "少了變異數帶來的那一項：x 的每個分量都會改變分母的根號。（有寫，但算出來是 0？x̂ 自己的平均就是 0：要先和 grad_output 相乘，再取平均。）"),
    ("not-divided", _gradient(finish=lambda total, root: total),
     "the three terms are right; the whole is still to be divided by the root.",
     "三項都對了，但最後整個還要除以根號。"),
    ("multiplied-by-the-root", _gradient(finish=lambda total, root: total * root),
     "you multiply by the root. The wider x is spread, the smaller the gradient: divide.",
     "你乘以根號了。x 散得越開，梯度越小：應該用除的。"),
    ("divided-by-the-variance", _gradient(finish=lambda total, root: total / root**2),
     "you divide by σ² + ε; the root of it is enough.",
     "你除以 σ² + ε 了；除以它的平方根就好。"),
    ("eps-outside", _gradient(root=lambda x, eps: x.std(correction=0) + eps), EPS_OUTSIDE),
    ("eps-missing", _gradient(root=lambda x, eps: x.std(correction=0)), EPS_MISSING),
    ("n-1", _gradient(root=lambda x, eps: (x.var() + eps).sqrt()), N_MINUS_1),
    ("diagonal-only", _gradient(lambda g, h: g * (1 - 1 / len(g) - h * h / len(g))),
     "you use the diagonal of the Jacobian alone: how x̂ᵢ depends on xᵢ. Through mean and variance it depends on every other component too.",
     "你只用了 Jacobian 矩陣的對角線，也就是 x̂ᵢ 怎麼隨 xᵢ 變。透過平均和變異數，x̂ᵢ 也會隨其他每個分量改變。"),
    ("sums-for-means", _gradient(lambda g, h: g - g.sum() - h * (g * h).sum()),
     "you take sums where means belong: both terms lack a factor 1/d.",
     "該取平均的地方，你用了總和：兩項都少了 1/d。"),
    ("sum-of-products", _gradient(lambda g, h: g - g.mean() - h * (g * h).sum()),
     "the term of the variance lacks its factor 1/d: the mean of the products is meant, not their sum.",
     "變異數那一項少了 1/d：要的是乘積的平均，不是總和。"),
    ("sum-in-the-first-term", _gradient(lambda g, h: g - g.sum() - h * (g * h).mean()),
     "the term of the mean lacks its factor 1/d: what is subtracted is the mean of grad_output.",
     "平均那一項少了 1/d：要減的是 grad_output 的平均。"),
    ("x_hat-once-only", _gradient(lambda g, h: g - g.mean() - (g * h).mean()),
     "in the term of the variance x̂ occurs twice: once inside the mean, once before it. The outer one is missing.",
     "變異數那一項裡，x̂ 出現兩次：平均裡面一次，外面一次。外面那個漏掉了。"),
    ("x_hat-missing-inside", _gradient(lambda g, h: g - g.mean() - h * g.mean()),
     "in the term of the variance x̂ occurs twice: once inside the mean, once before it. The inner one is missing.",
     "變異數那一項裡，x̂ 出現兩次：平均裡面一次，外面一次。裡面那個漏掉了。"),
    ("mean-of-x_hat-squared", _gradient(lambda g, h: g - g.mean() - g * (h * h).mean()),
     "in the term of the variance it is grad_output times x̂ that is averaged, and x̂ that stands before it.",
     "變異數那一項，取平均的是 grad_output 乘 x̂，外面乘的是 x̂。"),
    ("plus-for-minus", _gradient(lambda g, h: g - g.mean() + h * (g * h).mean()),
     "the sign of the variance's term: a larger root makes the result smaller.",
     "變異數那一項的正負號：根號變大，結果會變小。"),
    ("both-added", _gradient(lambda g, h: g + g.mean() + h * (g * h).mean()),
     "both terms are added. They take away what cannot be changed: subtract them.",
     "兩項你都用加的。這兩項要扣掉 LN 感覺不到的部分：應該用減的。"),
    ("mean-added", _gradient(lambda g, h: g + g.mean() - h * (g * h).mean()),
     "the sign of the mean's term: x − μ holds μ with a minus.",
     "平均那一項的正負號：x − μ 裡，μ 前面是負號。"),
    ("negative", _gradient(finish=lambda total, root: -total / root),
     "every sign is turned round. The gradient points the way of increase; a minus comes in only when one learns by descending.",
     "正負號全部相反。梯度指的是增加的方向；往下走、更新參數時才會加上負號。"),
    ("x-for-x_hat", _other_x_hat(lambda x, s: x),
     "you use x itself where x̂ belongs.",
     "該用 x̂ 的地方，你用了 x 本身。"),
    ("centred-for-x_hat", _other_x_hat(lambda x, s: x - x.mean()),
     "you use x − μ where x̂ belongs: it is not divided by the root yet.",
     "該用 x̂ 的地方，你用了 x − μ：還沒有除以根號。"),
    ("not-centred", _other_x_hat(lambda x, s: x / s),
     "your x̂ is x divided by the root, without the mean subtracted.",
     "你的 x̂ 只是 x 除以根號，忘了先減去平均。"),
    ("eps-ignored-in-x_hat", _other_x_hat(lambda x, s: (x - x.mean()) / x.std(correction=0)),
     "your x̂ is divided by σ alone. The one in the forward pass is divided by the root of σ² + ε.",
     "你的 x̂ 只除以 σ。正向計算時的 x̂ 除的是 σ² + ε 的平方根。"),
    ("gradient-of-the-sum", lambda x, grad_output, eps: 0 * x * grad_output,
     "0 is the gradient of LN(x).sum(), whatever x is. Here the output's entries count differently: grad_output says how much each.",
     "0 是 LN(x).sum() 的梯度，x 是什麼都一樣。這裡每個輸出分量的份量不同，grad_output 說的就是各占多少。"),
    ("gradient-of-gamma", lambda x, grad_output, eps: grad_output * F.layer_norm(x, x.shape, eps=eps),
     "grad_output ⊙ x̂ is the gradient of γ. Asked for is the one of x.",
     "grad_output ⊙ x̂ 是 γ 的梯度。題目要的是 x 的梯度。"),
    ("forward-times-gradient",
     lambda x, grad_output, eps: F.layer_norm(x, x.shape, eps=eps) + 0 * grad_output,
     "this is LN(x), the forward pass. What is asked for is how a change of x arrives.",
     "這是 LN(x)，也就是正向計算的結果。題目要的是梯度。"),
    ("gradient-unchanged", lambda x, grad_output, eps: grad_output + 0 * x,
     "grad_output comes back unchanged, as if there were no norm.",
     "grad_output 原封不動傳回來了，像是根本沒有正規化。"),
    ("only-the-last-term-divided",
     lambda x, g, eps: _pieces(x, g, eps, lambda a, b, c, s: a - b - c / s),
     "only the last of the three terms is divided by the root. The bracket closes before the division.",
     "三項裡只有最後一項除以根號。應該把三項括起來再除。"),
    ("only-the-first-term-divided",
     lambda x, g, eps: _pieces(x, g, eps, lambda a, b, c, s: a / s - b - c),
     "only grad_output is divided by the root; the two terms after it are not.",
     "只有 grad_output 除以根號，後面兩項都沒有。"),
    ("first-term-not-divided", lambda x, g, eps: _pieces(x, g, eps, lambda a, b, c, s: a - (b + c) / s),
     "grad_output itself is not divided by the root; the two terms after it are.",
     "grad_output 本身沒有除以根號，只有後面兩項除了。"),
    ("variance-term-not-divided",
     lambda x, g, eps: _pieces(x, g, eps, lambda a, b, c, s: (a - b) / s - c),
     "the term of the variance is not divided by the root; the other two are.",
     "變異數那一項沒有除以根號，另外兩項除了。"),
    ("products-not-averaged", _gradient(lambda g, h: g - g.mean() - h * (g * h)),
     "in the term of the variance the products grad_output · x̂ are averaged to one number, before x̂ is multiplied by it.",
     "變異數那一項，要先把 grad_output · x̂ 的乘積平均成一個數，再乘上 x̂。"),
    ("two-not-cancelled", _gradient(lambda g, h: g - g.mean() - 2 * h * (g * h).mean()),
     "the term of the variance is twice too large: the 2 of the square cancels against the ½ of the root.",
     "變異數那一項大了一倍：平方微分出來的 2，會和根號微分出來的 ½ 約掉。"),
    ("mean-of-x-subtracted",
     lambda x, g, eps: _pieces(x, g, eps, lambda a, b, c, s: (a - x.mean() - c) / s),
     "the mean of x is subtracted; it is the mean of grad_output.",
     "你減的是 x 的平均，應該減 grad_output 的平均。"),
    ("products-of-x", _other_product(lambda x, g, h: x * h),
     "you average x · x̂. What is averaged is grad_output · x̂.",
     "你平均的是 x · x̂，應該是 grad_output · x̂。"),
    ("jacobian-alone", lambda x, g, eps: _jacobian(x, eps) + 0 * g,
     "that is the whole Jacobian, d × d. Multiply it from the left by grad_output.",
     "這是整個 d × d 的 Jacobian 矩陣。還要從左邊乘上 grad_output。"),
    ("jacobian-entry-by-entry", lambda x, g, eps: _jacobian(x, eps) * g,
     "* multiplies the Jacobian entry by entry. The chain rule also adds up: grad_output @ Jacobian.",
     "* 是逐項相乘。連鎖律還要加總：grad_output @ Jacobian 矩陣。"),
    ("gradient-before-the-mean-product", _gradient(lambda g, h: g - g.mean() - g * (g * h).mean()),
     "in the term of the variance it is x̂ that stands before the mean, not grad_output.",
     "變異數那一項，乘在平均外面的是 x̂，不是 grad_output。"),
    ("x_hat-in-the-wrong-term", _gradient(lambda g, h: g - h * g.mean() - (g * h).mean()),
     "the x̂ before the mean stands in the wrong term: it belongs to the mean of grad_output · x̂.",
     "外面的 x̂ 乘錯了項：它要乘的是 grad_output · x̂ 的平均。"),
    ("norm-of-the-gradient", lambda x, g, eps: F.layer_norm(g, g.shape, eps=eps) + 0 * x,
     "you normalise grad_output. The way back is not the norm once more, but its derivative at x.",
     "你把 grad_output 拿去正規化了。反向傳播不是再正規化一次，而是乘上它在 x 的導數。"),
    ("variance-for-the-root", _gradient(root=lambda x, eps: x.var(correction=0) + eps),
     "you divide by σ² + ε, in x̂ as well. The root is missing.",
     "你除的是 σ² + ε，連 x̂ 也是。少開了根號。"),
    ("n-1-and-eps-missing", _gradient(root=lambda x, eps: x.std()),
     "x.std() alone is not the root s: torch.std divides by d − 1, and ε is not used.",
     "只用 x.std() 不等於 s：torch.std 除的是 d − 1，而且沒有用到 ε。"),
    ("n-1-and-eps-outside", _gradient(root=lambda x, eps: x.std() + eps),
     "two things about the root: torch.std divides by d − 1, and ε stands outside.",
     "根號有兩個地方不對：torch.std 除的是 d − 1，而且 ε 加在根號外面。"),
    ("eps-ignored-in-the-division",
     lambda x, g, eps: _pieces(x, g, eps, lambda a, b, c, s: (a - b - c) / x.std(correction=0)),
     "x̂ is right, but the bracket is divided by σ alone. The root s holds ε here, too.",
     "x̂ 對了，但括號除的只有 σ。這裡的 s 同樣含有 ε。"),
    ("d-1-in-the-means",
     _gradient(lambda g, h: g - g.sum() / (len(g) - 1) - h * (g * h).sum() / (len(g) - 1)),
     "the two means are divided by d − 1; here, too, it is d.",
     "兩個平均都除以 d − 1 了；這裡除的也是 d。"),
)  # fmt: skip

EXERCISE = Exercise(
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
    mistakes=MISTAKES,
)
