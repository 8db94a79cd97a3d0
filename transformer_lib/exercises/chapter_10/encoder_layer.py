"""Exercise encoder-layer of chapter 10: an encoder layer, assembled."""

import torch
import torch.nn.functional as F

from transformer_lib.exercises.data import Case, Exercise, Text, mistakes
from transformer_lib.exercises.inputs import A_BATCH, ONE_SEQUENCE, normal


def encoder_layer(x, attention, feed_forward, norm_1, norm_2):
    x = norm_1(x + attention(x))
    return norm_2(x + feed_forward(x))


def _mix_tokens(x):
    """Attention without weights: each token gets a share of each, later ones a larger."""
    n = x.size(-2)
    weights = torch.arange(1.0, n + 1).repeat(n, 1) + 2 * torch.eye(n)
    return (weights / weights.sum(-1, keepdim=True)).to(x) @ x


def _each_alone(x):
    return x.relu() * 1.5 - 0.3 * x.flip(-1)


def _norm(gain, shift):
    def norm(x):
        gamma = torch.linspace(0.5, gain, x.size(-1)).to(x)
        return F.layer_norm(x, x.shape[-1:], gamma, gamma.flip(0) * shift, eps=0.1)

    return norm


_norm_1, _norm_2 = _norm(1.5, 0.4), _norm(2.5, -0.7)


def _encoder_layer_cases():
    randn = normal(102)
    parts = _mix_tokens, _each_alone, _norm_1, _norm_2
    return [
        Case(ONE_SEQUENCE, (randn(3, 5), *parts)),
        Case(A_BATCH, (randn(2, 3, 5), *parts)),
        Case(Text("as many tokens as columns", "標記和行一樣多"), (3 * randn(2, 4, 4), *parts)),
    ]


def _encoder_layer_step_by_step(x, attention, feed_forward, norm_1, norm_2):
    attended = attention(x)
    middle = norm_1(torch.add(x, attended))
    return norm_2(torch.stack([middle, feed_forward(middle)]).sum(0))


def _half(x, sublayer, norm):
    return norm(x + sublayer(x))


def _without_residual(x, sublayer, norm):
    return norm(sublayer(x))


def _without_norm(x, sublayer, norm):
    return x + sublayer(x)


def _nothing(x, sublayer, norm):
    return x


def _of_halves(first, second=None):
    """A layer of two halves, both made the same way if only one is given."""
    return lambda x, attention, feed_forward, norm_1, norm_2: (second or first)(
        first(x, attention, norm_1), feed_forward, norm_2
    )


def _of_parts(exchange):
    """The right layer of other parts."""
    return lambda x, *parts: encoder_layer(x, *exchange(*parts))


MISTAKES = mistakes(
    ("pre-norm", _of_halves(lambda x, sublayer, norm: x + sublayer(norm(x))),
     "that is pre-norm: the norms stand before the sublayers. Here each stands after the sum.",
     "這是 pre-norm：正規化放在子層前面。這裡要放在相加之後。"),
    ("no-residuals", _of_halves(_without_residual),
     "both residual connections are missing: what went in is not added.",
     "兩個殘差連接都不見了：沒有把輸入加回去。"),
    ("no-first-residual", _of_halves(_without_residual, _half),
     "around the attention the residual connection is missing.",
     "注意力外面少了殘差連接。"),
    ("no-second-residual", _of_halves(_half, _without_residual),
     "around the feed-forward network the residual connection is missing.",
     "前饋神經網路外面少了殘差連接。"),
    ("second-residual-from-x",
     lambda x, attention, feed_forward, norm_1, norm_2: norm_2(
         x + feed_forward(norm_1(x + attention(x)))
     ),
     "your second residual connection starts at the layer's input. It should start at what goes into the feed-forward network.",
     "你的第二個殘差連接從整層的輸入拉過來。它應該從前饋神經網路的輸入開始。"),
    ("norm-of-the-sublayer", _of_halves(lambda x, sublayer, norm: x + norm(sublayer(x))),
     "you normalise what the sublayer returns, and add x afterwards. First add, then normalise.",
     "你先正規化子層的輸出，再加 x。應該先相加，再正規化。"),
    ("one-norm", _of_parts(lambda attend, feed, norm_1, norm_2: (attend, feed, norm_1, norm_1)),
     "you use norm_1 twice. The second has γ and β of its own.",
     "你用了兩次 norm_1。第二個正規化有自己的 γ 和 β。"),
    ("norms-exchanged", _of_parts(lambda attend, feed, norm_1, norm_2: (attend, feed, norm_2, norm_1)),
     "norm_1 and norm_2 have changed places.",
     "norm_1 和 norm_2 的位置對調了。"),
    ("sublayers-exchanged", _of_parts(lambda attend, feed, *norms: (feed, attend, *norms)),
     "the feed-forward network comes first in your layer. Attention goes before it.",
     "你先做了前饋神經網路。注意力要在前面。"),
    ("side-by-side",
     lambda x, attention, feed_forward, norm_1, norm_2: norm_2(
         norm_1(x + attention(x)) + feed_forward(x)
     ),
     "your feed-forward network reads the layer's input. It should read what the first half returns.",
     "你的前饋神經網路讀的是整層的輸入。它應該讀前半的結果。"),
    ("no-first-norm", _of_halves(_without_norm, _half),
     "the first norm is missing.",
     "少了第一個正規化。"),
    ("no-second-norm", _of_halves(_half, _without_norm),
     "the second norm is missing.",
     "少了第二個正規化。"),
    ("no-norms", _of_halves(_without_norm), "both norms are missing.", "兩個正規化都不見了。"),
    ("no-feed-forward", _of_halves(_half, lambda x, sublayer, norm: norm(x)),
     "the feed-forward network is missing.",
     "少了前饋神經網路。"),
    ("first-half-only", _of_halves(_half, _nothing),
     "that is the first half. The feed-forward network with its norm is still to come.",
     "這是前半。後面還有前饋神經網路和它的正規化。"),
    ("no-attention", _of_halves(_nothing, _half),
     "attention, with its residual connection and norm, is missing.",
     "少了注意力，連同它的殘差連接和正規化。"),
    ("attention-twice", _of_parts(lambda attend, *rest: (lambda x: attend(attend(x)), *rest)),
     "attention is applied twice.",
     "注意力用了兩次。"),
    ("residual-twice",
     lambda x, attention, feed_forward, norm_1, norm_2: (
         lambda h: norm_2(x + h + feed_forward(h))
     )(norm_1(x + attention(x))),
     "x is added once too often: the second sum has two terms only.",
     "x 多加了一次：第二次相加只有兩項。"),
    ("a-product-for-the-sum", _of_halves(lambda x, sublayer, norm: norm(x * sublayer(x))),
     "a residual connection adds; yours multiplies.",
     "殘差連接是相加，你用了相乘。"),
    ("norm-is-skipped-by-the-second-residual",
     lambda x, attention, feed_forward, norm_1, norm_2: (
         lambda s: norm_2(s + feed_forward(norm_1(s)))
     )(x + attention(x)),
     "your second residual connection starts before the first norm. It should start after it.",
     "你的第二個殘差連接從第一個正規化之前拉過來。應該從它之後開始。"),
    ("residual-from-the-normed-input",
     lambda x, attention, feed_forward, norm_1, norm_2: (lambda h: h + feed_forward(h))(
         norm_2((lambda h: h + attention(h))(norm_1(x)))
     ),
     "your norms stand before the sublayers. Each belongs after the sum.",
     "你的正規化放在子層前面。應該放在相加之後。"),
    ("one-residual-around-both",
     lambda x, attention, feed_forward, norm_1, norm_2: norm_2(x + feed_forward(norm_1(attention(x)))),
     "one residual connection goes around both sublayers. Each has its own.",
     "你用一個殘差連接繞過兩個子層。應該各有各的。"),
    ("first-norm-and-residual-missing",
     lambda x, attention, feed_forward, norm_1, norm_2: norm_2(x + feed_forward(x + attention(x))),
     "the first norm is missing, and your second residual connection starts at the layer's input.",
     "少了第一個正規化，而且你的第二個殘差連接從整層的輸入拉過來。"),
    ("all-in-one-sum",
     lambda x, attention, feed_forward, norm_1, norm_2: norm_2(
         norm_1(x + attention(x) + feed_forward(x))
     ),
     "you add attention and feed-forward network at once. The second works on what the first half returns.",
     "你把注意力和前饋神經網路一次加完。前饋神經網路要處理的是前半的結果。"),
    ("all-in-one-sum-one-norm",
     lambda x, attention, feed_forward, norm_1, norm_2: norm_1(x + attention(x) + feed_forward(x)),
     "you add attention and feed-forward network at once, with a single norm. The second works on what the first half returns.",
     "你把注意力和前饋神經網路一次加完，只正規化一次。前饋神經網路要處理的是前半的結果。"),
    ("feed-forward-twice",
     _of_parts(lambda attend, feed, *norms: (attend, lambda x: feed(feed(x)), *norms)),
     "the feed-forward network is applied twice.",
     "前饋神經網路用了兩次。"),
    ("attention-for-the-feed-forward", _of_parts(lambda attend, feed, *norms: (attend, attend, *norms)),
     "attention comes twice, and the feed-forward network never.",
     "注意力用了兩次，前饋神經網路一次也沒用到。"),
    ("sublayers-subtracted", _of_halves(lambda x, sublayer, norm: norm(x - sublayer(x))),
     "a residual connection adds; yours subtracts.",
     "殘差連接是相加，你用了相減。"),
)  # fmt: skip

EXERCISE = Exercise(
    name="encoder-layer",
    chapter=10,
    title=Text("An encoder layer, assembled", "組裝編碼器層"),
    difficulty=2,
    minutes=8,
    reference=encoder_layer,
    cases=_encoder_layer_cases,
    alternatives=(
        _encoder_layer_step_by_step,
        lambda x, attention, feed_forward, norm_1, norm_2: (lambda h: norm_2(feed_forward(h) + h))(
            norm_1(attention(x) + x)
        ),
    ),
    mistakes=MISTAKES,
)
