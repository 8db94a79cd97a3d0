"""Exercise label-smoothing-loss of chapter 10: the smoothed loss."""

import math

import torch
import torch.nn.functional as F

from transformer_lib import training
from transformer_lib.exercises.chapter_10.shared import EPSILON_EXCHANGED, P_AND_Q_EXCHANGED
from transformer_lib.exercises.data import Case, Exercise, Text, mistakes
from transformer_lib.exercises.families import edited
from transformer_lib.exercises.inputs import normal


def _smoothed_loss(logits, targets, smoothing, pad_id, share=None, keep=None):
    """The mean over real tokens; ``share`` for each other token, ``keep`` for the right one."""
    share = smoothing / (logits.size(-1) - 1) if share is None else share
    keep = 1 - smoothing if keep is None else keep
    losses = _smoothed_losses(logits, targets, share, keep)
    return losses[targets != pad_id].mean()


def _smoothed_losses(logits, targets, share, keep):
    log_p = logits.log_softmax(-1)
    right = log_p.gather(-1, targets[..., None]).squeeze(-1)
    return -(keep * right + share * (log_p.sum(-1) - right))


def label_smoothing_loss(logits, targets, smoothing, pad_id):
    return _smoothed_loss(logits, targets, smoothing, pad_id)


def _label_smoothing_cases():
    randn = normal(101)
    padded = torch.tensor([[4, 1, 5, 0], [2, 0, 0, 0]])
    four = torch.tensor([[4, 3, 1], [0, 4, 4]])
    large = Text("logits a thousand times larger", "放大一千倍的 logits")
    return [
        Case(Text("rows of different length", "長度不同的句子"), (randn(2, 4, 6), padded, 0.2, 0)),
        Case(Text("padding with id 4", "填充的 id 是 4"), (randn(2, 3, 5), four, 0.3, 4)),
        Case(Text("no smoothing", "沒有平滑"), (randn(2, 4, 6), padded, 0.0, 0)),
        Case(large, (1000 * randn(2, 4, 7), padded, 0.1, 0)),
        Case(
            Text("as many tokens as positions", "詞彙表的大小等於句子長度"),
            (randn(3, 4, 4), torch.tensor([[1, 3, 2, 0], [3, 0, 0, 0], [2, 2, 1, 3]]), 0.25, 0),
        ),
    ]


def _smoothed_by_one_hot(logits, targets, smoothing, pad_id):
    V = logits.size(-1)
    q = torch.full_like(logits, smoothing / (V - 1))
    q = q.scatter(-1, targets[..., None], 1 - smoothing)
    losses = -(q * (logits - logits.logsumexp(-1, keepdim=True))).sum(-1)
    real = (targets != pad_id).to(logits.dtype)
    return (losses * real).sum() / real.sum()


def _smoothed_by_torch(logits, targets, smoothing, pad_id):
    V = logits.size(-1)
    return F.cross_entropy(
        logits.flatten(0, 1),
        targets.flatten(),
        ignore_index=pad_id,
        label_smoothing=smoothing * V / (V - 1),
    )


def _with_torch_s_shares(logits, targets, smoothing, pad_id):
    return F.cross_entropy(
        logits.flatten(0, 1),
        targets.flatten(),
        ignore_index=pad_id,
        label_smoothing=smoothing,
    )


def _padding_counts(logits, targets, smoothing, pad_id):
    return _smoothed_losses(
        logits, targets, smoothing / (logits.size(-1) - 1), 1 - smoothing
    ).mean()


def _divided_by_all_positions(logits, targets, smoothing, pad_id):
    losses = _smoothed_losses(logits, targets, smoothing / (logits.size(-1) - 1), 1 - smoothing)
    return (losses * (targets != pad_id)).mean()


def _summed(logits, targets, smoothing, pad_id):
    losses = _smoothed_losses(logits, targets, smoothing / (logits.size(-1) - 1), 1 - smoothing)
    return losses[targets != pad_id].sum()


def _mean_of_means(logits, targets, smoothing, pad_id):
    losses = _smoothed_losses(logits, targets, smoothing / (logits.size(-1) - 1), 1 - smoothing)
    real = targets != pad_id
    return ((losses * real).sum(-1) / real.sum(-1)).mean()


def _padding_gets_nothing(logits, targets, smoothing, pad_id, others=2):
    V = logits.size(-1)
    q = torch.full_like(logits, smoothing / (V - others))
    q[..., pad_id] = 0
    q = q.scatter(-1, targets[..., None], 1 - smoothing)
    return -(q * logits.log_softmax(-1)).sum(-1)[targets != pad_id].mean()


def _without_stable_logarithm(logits, targets, smoothing, pad_id):
    p = logits.softmax(-1)
    q = torch.full_like(logits, smoothing / (logits.size(-1) - 1))
    q = q.scatter(-1, targets[..., None], 1 - smoothing)
    return -(q * p.log()).sum(-1)[targets != pad_id].mean()


def _softmax_over(dim):
    def answer(logits, targets, smoothing, pad_id):
        q = torch.full_like(logits, smoothing / (logits.size(-1) - 1))
        q = q.scatter(-1, targets[..., None], 1 - smoothing)
        return -(q * logits.log_softmax(dim)).sum(-1)[targets != pad_id].mean()

    return answer


def _others_as_one(logits, targets, smoothing, pad_id):
    p = logits.softmax(-1).gather(-1, targets[..., None]).squeeze(-1)
    losses = -(1 - smoothing) * p.log() - smoothing * (1 - p).log()
    return losses[targets != pad_id].mean()


def _mean_over_vocabulary(logits, targets, smoothing, pad_id):
    return _smoothed_loss(logits, targets, smoothing, pad_id) / logits.size(-1)


def _above_the_minimum(logits, targets, smoothing, pad_id):
    others = logits.size(-1) - 1
    q = logits.new_tensor([1 - smoothing] + [smoothing / others] * others)
    entropy = -torch.special.xlogy(q, q).sum()
    return _smoothed_loss(logits, targets, smoothing, pad_id) - entropy


MISTAKES = mistakes(
    ("no-smoothing",
     lambda logits, targets, smoothing, pad_id: _smoothed_loss(logits, targets, 0, pad_id),
     "smoothing makes no difference in your answer: only the right token counts.",
     "你的答案沒有用到 smoothing：只算了正確的標記。"),
    ("shared-with-the-right-one", _with_torch_s_shares,
     "the right token gets a share of ε too (PyTorch's label_smoothing does that). Here only the V − 1 others share it.",
     "正確的標記也分到了 ε（PyTorch 的 label_smoothing 就是這樣）。這裡只由另外 V − 1 個分。"),
    ("divided-by-V",
     lambda logits, targets, smoothing, pad_id: _smoothed_loss(
         logits, targets, smoothing, pad_id, share=smoothing / logits.size(-1)
     ),
     "your target does not sum to 1: ε is divided by V, but only V − 1 tokens get a part.",
     "你的目標加起來不是 1：ε 除以了 V，但只有 V − 1 個標記分到。"),
    ("right-token-keeps-1",
     lambda logits, targets, smoothing, pad_id: _smoothed_loss(
         logits, targets, smoothing, pad_id, keep=1
     ),
     "your target sums to 1 + ε: the right token must give away what the others get.",
     "你的目標加起來是 1 + ε：其他標記分到的，要從正確的標記扣掉。"),
    ("right-token-gets-both",
     lambda logits, targets, smoothing, pad_id: _smoothed_loss(
         logits,
         targets,
         smoothing,
         pad_id,
         keep=1 - smoothing + smoothing / (logits.size(-1) - 1),
     ),
     "the right token gets 1 − ε and a share of ε on top, so your target sums to more than 1. Put its part in the place of the share, do not add it.",
     "正確的標記拿了 1 − ε，又多拿一份 ε，所以你的目標加起來超過 1。它那一份要取代平分的值，不是加上去。"),
    ("all-of-ε-for-each",
     lambda logits, targets, smoothing, pad_id: _smoothed_loss(
         logits, targets, smoothing, pad_id, share=smoothing
     ),
     "each other token gets the whole ε. They have to share it.",
     "其他標記各拿走了整個 ε。它們要一起分。"),
    ("ε-and-1-minus-ε-exchanged",
     lambda logits, targets, smoothing, pad_id: _smoothed_loss(
         logits,
         targets,
         smoothing,
         pad_id,
         share=(1 - smoothing) / (logits.size(-1) - 1),
         keep=smoothing,
     ),
     EPSILON_EXCHANGED),
    ("padding-gets-nothing", _padding_gets_nothing,
     "you leave the padding token out and share among V − 2. Many programs do; in this book padding is one of the V − 1 others and gets its share.",
     "你沒有分給填充標記，而由 V − 2 個來分。很多程式這樣做；不過在這本書裡，填充也是那 V − 1 個之一，一樣分得到。"),
    ("padding-s-share-lost", lambda *args: _padding_gets_nothing(*args, others=1),
     "the share of the padding token is lost: your target sums to less than 1. In this book padding keeps its share.",
     "填充標記的那一份不見了：你的目標加起來不到 1。在這本書裡，填充也分得到。"),
    ("padding-counts", _padding_counts,
     "positions whose right token is padding count in your mean. Leave them out.",
     "正確標記是填充的位置，也算進你的平均了。這些位置要排除。"),
    ("divided-by-all-positions", _divided_by_all_positions,
     "the padded positions add 0, but you still divide by their number. Divide by the number of real tokens.",
     "填充的位置雖然加的是 0，但你除的時候還是把它們算進去。應該除以真正標記的個數。"),
    ("summed", _summed,
     "that is the sum over the real tokens. Asked is their mean.",
     "這是真正標記的總和。題目要的是平均。"),
    ("mean-of-the-rows-means", _mean_of_means,
     "you take the mean of each sentence first. Then a token of a short sentence weighs more. Every real token of the batch should weigh the same.",
     "你先算每個句子的平均，短句裡的標記份量就變大了。批次裡每個真正的標記，份量都該一樣。"),
    ("losses-not-averaged",
     lambda logits, targets, smoothing, pad_id: _smoothed_losses(
         logits, targets, smoothing / (logits.size(-1) - 1), 1 - smoothing
     ),
     "that is the loss of each position. Asked is one number for the batch.",
     "這是每個位置各自的損失。題目要的是整個批次的一個數。"),
    ("divided-by-the-vocabulary", _mean_over_vocabulary,
     "V times too small: over the vocabulary you should add up, not average.",
     "結果只有應有的 1/V：沿著詞彙表要加總，不是平均。"),
    ("sign", lambda *args: -label_smoothing_loss(*args),
     "the sign: a loss is positive here, logarithms of probabilities are negative.",
     "正負號：這裡的損失是正的，機率的對數則是負的。"),
    ("logarithm-of-the-softmax", _without_stable_logarithm,
     "right for small logits. For large ones the softmax rounds to 0, and its logarithm is −∞. There is a function that does both at once.",
     "logits 小的時候是對的。太大時 softmax 會捨入成 0，取對數就變成 −∞。有一個函式可以兩步一起做。"),
    ("logarithm-to-base-2", lambda *args: label_smoothing_loss(*args) / math.log(2),
     "your logarithm has base 2. The loss uses the natural one.",
     "你用了以 2 為底的對數。損失用的是自然對數。"),
    ("probabilities-without-logarithm", edited(_without_stable_logarithm, "p.log()", "p"),
     "the logarithm is missing: you weigh the probabilities themselves.",
     "少了對數：你直接拿機率來加權。"),
    ("logits-without-softmax", edited(_without_stable_logarithm, "p.log()", "logits"),
     "the logits are no logarithms of probabilities yet: the softmax is missing.",
     "logits 還不是機率的對數：少了 softmax。"),
    ("softmax-over-the-positions", _softmax_over(1),
     "your softmax runs over the positions. At each position the probabilities of the vocabulary sum to 1.",
     "你的 softmax 是沿著位置算的。每個位置上，加起來等於 1 的是整個詞彙表的機率。"),
    ("softmax-over-the-batch", _softmax_over(0),
     "your softmax runs over the batch. At each position the probabilities of the vocabulary sum to 1.",
     "你的 softmax 是沿著批次算的。每個位置上，加起來等於 1 的是整個詞彙表的機率。"),
    ("padding-is-0",
     lambda logits, targets, smoothing, pad_id: _smoothed_loss(logits, targets, smoothing, 0),
     "right where padding has the id 0. It may have another: use pad_id.",
     "填充的 id 是 0 時是對的。它可能是別的數：請用 pad_id。"),
    ("only-padding",
     lambda logits, targets, smoothing, pad_id: _smoothed_losses(
         logits, targets, smoothing / (logits.size(-1) - 1), 1 - smoothing
     )[targets == pad_id].mean(),
     "just the padded positions count in your mean: the comparison is the wrong way round.",
     "你的平均只算到填充的位置：比較寫反了。"),
    ("entropy-subtracted", _above_the_minimum,
     "you subtract the lowest possible loss. The gradient is the same, but asked is the loss itself.",
     "你減掉了最小可能的損失。梯度是一樣的，但題目要的是損失本身。"),
    ("right-token-alone",
     lambda logits, targets, smoothing, pad_id: _smoothed_loss(
         logits, targets, smoothing, pad_id, share=0
     ),
     "the right token has its 1 − ε, but the shares of the others are missing.",
     "正確的標記乘了 1 − ε，但少了其他標記的那幾份。"),
    ("softmax-twice",
     lambda logits, targets, smoothing, pad_id: label_smoothing_loss(
         logits.softmax(-1), targets, smoothing, pad_id
     ),
     "a softmax too many: log_softmax and cross_entropy take the logits as they are.",
     "多做了一次 softmax：log_softmax 和 cross_entropy 要的是原本的 logits。"),
    ("divided-by-the-sentences",
     lambda logits, targets, smoothing, pad_id: _summed(logits, targets, smoothing, pad_id) / len(logits),
     "you divide by the number of sentences. Divide by the number of real tokens.",
     "你除以句子的個數。應該除以真正標記的個數。"),
    ("V-is-the-length",
     lambda logits, targets, smoothing, pad_id: _smoothed_loss(
         logits, targets, smoothing, pad_id, share=smoothing / (logits.size(1) - 1)
     ),
     "your V is the length of the sentence. The vocabulary is the last dimension of the logits.",
     "你的 V 是句子長度。詞彙量是 logits 的最後一個維度。"),
    ("conversion-upside-down",
     lambda logits, targets, smoothing, pad_id: _with_torch_s_shares(
         logits, targets, smoothing * (logits.size(-1) - 1) / logits.size(-1), pad_id
     ),
     "the conversion for PyTorch is upside down: its label_smoothing has to be larger than ε, not smaller.",
     "換算成 PyTorch 時分子分母顛倒了：它的 label_smoothing 要比 ε 大，不是比較小。"),
    ("sign-of-the-others",
     lambda logits, targets, smoothing, pad_id: _smoothed_loss(
         logits, targets, smoothing, pad_id, share=-smoothing / (logits.size(-1) - 1)
     ),
     "the minus of the formula stands before the whole sum, so before the other tokens' part too. Check the brackets.",
     "公式的負號在整個和的前面，其他標記那部分也要變號。檢查一下括號。"),
    ("logarithm-of-the-sum", edited(_without_stable_logarithm, "p.log()).sum(-1)", "p).sum(-1).log()"),
     "you add first and take the logarithm of the sum. Each probability has a logarithm of its own.",
     "你先相加再取對數。應該是每個機率各自取對數。"),
    ("others-as-one", _others_as_one,
     "you take the logarithm of what all others have together. Each of them has its own share and its own logarithm.",
     "你拿其他標記的機率總和來取對數。它們每一個都有自己的一份、自己的對數。"),
    ("p-and-q-exchanged", edited(_without_stable_logarithm, "q * p.log()", "p * q.log()"),
     P_AND_Q_EXCHANGED),
    ("shifted-again",
     lambda logits, targets, smoothing, pad_id: label_smoothing_loss(
         logits[:, :-1], targets[:, 1:], smoothing, pad_id
     ),
     "you shift the targets once more. They belong to the logits at the same place already.",
     "你又把目標錯開了一位。它們和同一個位置的 logits 本來就是對齊的。"),
)  # fmt: skip

EXERCISE = Exercise(
    name="label-smoothing-loss",
    chapter=10,
    title=Text("The smoothed loss", "標籤平滑的損失"),
    difficulty=3,
    minutes=18,
    reference=label_smoothing_loss,
    cases=_label_smoothing_cases,
    alternatives=(
        training.label_smoothing_loss,
        _smoothed_by_one_hot,
        _smoothed_by_torch,
    ),
    mistakes=MISTAKES,
)
