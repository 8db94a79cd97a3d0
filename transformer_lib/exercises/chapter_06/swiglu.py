"""Exercise swiglu of chapter 6: swiGLU."""

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


MISTAKES = mistakes(
    ("gate-from-V", lambda x, W, V, W_2: x @ W * F.silu(x @ V) @ W_2,
     "SiLU stands on x V. Which matrix makes the gates?",
     "SiLU 放在 x V 上了。閘門是由哪個矩陣產生的？"),
    ("silu-on-both", lambda x, W, V, W_2: F.silu(x @ W) * F.silu(x @ V) @ W_2,
     "SiLU stands on both factors. x V passes as it is.",
     "兩個因子都做了 SiLU。x V 不用做。"),
    ("silu-of-the-product", lambda x, W, V, W_2: F.silu(x @ W * (x @ V)) @ W_2,
     "SiLU comes after the product of the two. It belongs to x W alone.",
     "你先相乘才做 SiLU。SiLU 只作用在 x W 上。"),
    ("no-activation", _gated_by(lambda g: g),
     "SiLU is missing: the gates are x W itself.",
     "少了 SiLU：你的閘門就是 x W 本身。"),
    ("sigmoid-gate", _gated_by(torch.sigmoid),
     "your gate is σ alone, the plain GLU. SiLU has one more factor.",
     "你的閘門只有 σ，那是最原始的 GLU。SiLU 還要再乘一個因子。"),
    ("relu-gate", _gated_by(F.relu),
     "your gate is ReLU (ReGLU). Here SiLU is asked for.",
     "你的閘門是 ReLU（ReGLU），這裡要用 SiLU。"),
    ("gelu-gate", _gated_by(F.gelu),
     "your gate is GELU (GEGLU). Here SiLU is asked for.",
     "你的閘門是 GELU（GEGLU），這裡要用 SiLU。"),
    ("tanh-gate", _gated_by(torch.tanh),
     "your gate is tanh. Here SiLU is asked for.",
     "你的閘門是 tanh，這裡要用 SiLU。"),
    ("softmax-gate", _gated_by(lambda g: g.softmax(-1)),
     "your gates sum to 1. Gates do not compete: each opens by itself.",
     "你的閘門加起來等於 1。閘門不互相競爭，各開各的。"),
    ("wrong-sign-in-sigma", _gated_by(lambda g: g * torch.sigmoid(-g)),
     "the gate opens to the wrong side: in σ(z) the exponent is −z, and σ itself takes z.",
     "閘門開反了：負號在 σ 自己的指數裡，代進 σ 的是 z。"),
    ("sigma-of-V", lambda x, W, V, W_2: x @ W * torch.sigmoid(x @ V) @ W_2,
     "your gate is σ(x V). It should be SiLU(x W): another matrix, and one more factor.",
     "你的閘門是 σ(x V)。應該是 SiLU(x W)：矩陣不同，還要再多乘一個因子。"),
    ("z-squared", _gated_by(lambda g: g * F.silu(g)),
     "x W is one factor too often: SiLU(z) = z · σ(z) contains it already.",
     "x W 多乘了一次：SiLU 本身已經乘過了。"),
    ("z-plus-sigma", _gated_by(lambda g: g + g.sigmoid()),
     "z and σ(z) are added. SiLU multiplies them.",
     "SiLU 是 z 乘 σ(z)，你用加的。"),
    ("exp-without-parentheses", _gated_by(lambda g: g / 1 + torch.exp(-g)),
     "parentheses are missing: z / 1 + exp(−z) means z + exp(−z).",
     "少了括號：z / 1 + exp(−z) 會變成 z + exp(−z)。"),
    ("times-in-place-of-divided", _gated_by(lambda g: g * (1 + torch.exp(-g))),
     "you multiply by 1 + exp(−z). SiLU divides by it.",
     "你乘上 1 + exp(−z) 了。SiLU 是除以它。"),
    ("softplus-gate", _gated_by(F.softplus),
     "your gate is softplus. Here SiLU is asked for.",
     "你的閘門是 softplus，這裡要用 SiLU。"),
    ("scaled-sigma", _gated_by(lambda g: g * torch.sigmoid(1.702 * g)),
     "inside σ there is a factor 1.702: that is an approximation of GELU.",
     "σ 裡面多了 1.702：那是 GELU 的近似式。"),
    ("exp-overflows", _gated_by(lambda g: g * g.exp() / (1 + g.exp())),
     "right for small numbers, but exp overflows for large ones, and ∞/∞ is NaN. torch.sigmoid or F.silu do not.",
     "數字小的時候是對的，但一大 exp 就溢位，∞/∞ 變成 NaN。torch.sigmoid 和 F.silu 不會。"),
    ("exp-spoils-the-gradient", _gated_by(lambda g: g / (1 + torch.exp(-g))),
     "the values are right, but for numbers far below 0 exp(−z) overflows, and the gradient becomes NaN. torch.sigmoid or F.silu do not do that.",
     "值都對，但遇到很小的負數，exp(−z) 會溢位，梯度就變成 NaN。torch.sigmoid 和 F.silu 不會這樣。"),
    ("sum", lambda x, W, V, W_2: (F.silu(x @ W) + x @ V) @ W_2,
     "the two are added. ⊙ multiplies, entry by entry.",
     "你把兩者相加了。⊙ 是逐項相乘。"),
    ("gates-only", lambda x, W, V, W_2: F.silu(x @ W) @ W_2,
     "V is not used: this is a plain network with SiLU, without a gate.",
     "V 沒有用到：這只是用 SiLU 的普通網路，沒有閘門。"),
    ("W-twice", lambda x, W, V, W_2: F.silu(x @ W) * (x @ W) @ W_2,
     "both factors are made with W. V is not used.",
     "兩個因子都用了 W，V 沒有用到。"),
    ("V-twice", lambda x, W, V, W_2: F.silu(x @ V) * (x @ V) @ W_2,
     "both factors are made with V. W is not used.",
     "兩個因子都用了 V，W 沒有用到。"),
    ("silu-of-x", lambda x, W, V, W_2: F.silu(x) @ W * (x @ V) @ W_2,
     "SiLU is applied to x. First the matrix, then SiLU.",
     "你對 x 做了 SiLU。要先乘矩陣，再做 SiLU。"),
    ("silu-of-W", lambda x, W, V, W_2: x @ F.silu(W) * (x @ V) @ W_2,
     "SiLU is applied to the matrix W. First the product x W, then SiLU.",
     "你對矩陣 W 做了 SiLU。要先算 x W，再做 SiLU。"),
    ("silu-of-the-hidden-layer-too", lambda x, W, V, W_2: F.silu(F.silu(x @ W) * (x @ V)) @ W_2,
     "SiLU is applied once more, to the product. It belongs to x W alone.",
     "相乘之後你又做了一次 SiLU。SiLU 只作用在 x W 上。"),
    ("relu-of-the-hidden-layer", lambda x, W, V, W_2: (F.silu(x @ W) * (x @ V)).relu() @ W_2,
     "there is a ReLU on the hidden layer. The gate is all the activation there is.",
     "隱藏層多了 ReLU。這裡的激勵函數只有閘門上的 SiLU。"),
    ("matrices-added", lambda x, W, V, W_2: F.silu(x @ (W + V)) @ W_2,
     "W and V are added first. Make x W and x V, each by itself, and multiply those.",
     "你先把 W 和 V 相加了。要分別算 x W 和 x V，再把兩者逐項相乘。"),
    ("matrices-multiplied", lambda x, W, V, W_2: F.silu(x @ (W * V)) @ W_2,
     "W and V are multiplied first. Make x W and x V, each by itself, and multiply those.",
     "你先把 W 和 V 相乘了。要分別算 x W 和 x V，再把兩者逐項相乘。"),
    ("W_2-missing", lambda x, W, V, W_2: F.silu(x @ W) * (x @ V),
     "the way back is missing: W_2 is not used.",
     "還少了回程的那一步：W_2 沒有用到。"),
    ("W_2-on-one-factor", lambda x, W, V, W_2: F.silu(x @ W) @ W_2 * (x @ V @ W_2),
     "each factor goes through W_2 by itself. First multiply them, then W_2 once.",
     "兩個因子各自乘了 W_2。先逐項相乘，最後才乘一次 W_2。"),
    ("silu-at-the-end", lambda x, W, V, W_2: F.silu(swiglu(x, W, V, W_2)),
     "there is one more SiLU at the end.",
     "最後多做了一次 SiLU。"),
    ("residual", lambda x, *weights: x + swiglu(x, *weights), RESIDUAL),
    ("weights-transposed", lambda x, W, V, W_2: swiglu(x, W.mT, V.mT, W_2),
     "W and V are transposed. They have shape (d_model, d_ff): x @ W fits as it stands.",
     "你把 W 和 V 轉置了。它們的形狀是 (d_model, d_ff)，直接 x @ W 就對得上。"),
    ("W_2-transposed", lambda x, W, V, W_2: swiglu(x, W, V, W_2.mT), W_2_TRANSPOSED),
    ("all-transposed", lambda x, W, V, W_2: swiglu(x, W.mT, V.mT, W_2.mT),
     "all three matrices are transposed; only square ones allow that.",
     "三個矩陣都轉置了，只有方陣才算得出來。"),
    ("matrices-in-another-order", lambda x, W, V, W_2: swiglu(x, W, W_2, V),
     "V and W_2 have changed places: W_2 leads back.",
     "V 和 W_2 對調了：負責回程的是 W_2。"),
    ("one-sequence-only", lambda x, W, V, W_2: torch.mm(F.silu(torch.mm(x, W)) * torch.mm(x, V), W_2),
     ONE_SEQUENCE_MM),
)  # fmt: skip

EXERCISE = Exercise(
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
    mistakes=MISTAKES,
)
