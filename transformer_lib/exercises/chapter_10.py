"""Exercises of chapter 10, the whole model: the right answers, and the wrong ones people give."""

import math

import torch
import torch.nn.functional as F

from transformer_lib import training
from transformer_lib.exercises.data import Case, Exercise, Mistake, Text
from transformer_lib.exercises.inputs import A_BATCH, ONE_SEQUENCE, by_hand, normal

# --- pencil-schedule-peak -----------------------------------------------------------------

PENCIL_SCHEDULE_PEAK = Exercise(
    name="pencil-schedule-peak",
    chapter=10,
    title=Text("The top of the schedule", "學習率的最高點"),
    difficulty=1,
    minutes=4,
    reference=lambda: 0.005,
    cases=by_hand,
    tolerance=1e-6,
    alternatives=(lambda: 1 / 200, lambda: torch.tensor(0.005), lambda: 100**-0.5 * 400**-0.5),
    mistakes=(
        Mistake(
            "d_model-forgotten",
            lambda: 0.05,
            Text(
                "0.05: the factor in front, with d_model, is missing.",
                "0.05：少了前面那個和 d_model 有關的因子。",
            ),
        ),
        Mistake(
            "warmup-forgotten",
            lambda: 0.1,
            Text(
                "0.1: that is the factor in front alone. The minimum still has to be multiplied.",
                "0.1：這只是前面的因子，還要乘上最小值那一項。",
            ),
        ),
        Mistake(
            "no-roots",
            lambda: 1 / 40_000,
            Text(
                "1/40000: the roots are missing. An exponent of −1/2 is one over the root.",
                "1/40000：少了開根號。指數 −1/2 的意思是根號分之一。",
            ),
        ),
        Mistake(
            "root-of-the-sum",
            lambda: 500**-0.5,
            Text(
                "you added d_model and warmup under the root. The two factors are multiplied.",
                "你在根號裡把 d_model 和 warmup 相加了。這兩個因子是相乘。",
            ),
        ),
        Mistake(
            "root-of-d_model-above",
            lambda: 0.5,
            Text(
                "0.5: the root of d_model stands above the line. Its exponent is negative.",
                "0.5：d_model 的根號跑到分子了。它的指數是負的。",
            ),
        ),
        Mistake(
            "the-step-of-the-top",
            lambda: 400,
            Text(
                "400 is the step at which the rate is highest. How high is it there?",
                "400 是學習率最高的那一步。那一步的學習率是多少？",
            ),
        ),
        Mistake(
            "first-step",
            lambda: 0.1 / 8000,
            Text(
                "that is the rate of step 1. It rises until step = warmup.",
                "這是第 1 步的學習率。它會一路升到步數等於 warmup 為止。",
            ),
        ),
        Mistake(
            "inverse",
            lambda: 200.0,
            Text("200: you have its inverse, one over the rate.", "200：你算成倒數了。"),
        ),
        Mistake(
            "d_model-not-rooted",
            lambda: 0.01 / 20,
            Text(
                "d_model stands there without its root.",
                "d_model 忘了開根號。",
            ),
        ),
        Mistake(
            "warmup-not-rooted",
            lambda: 0.1 / 400,
            Text(
                "at step = warmup the minimum is one over a root, not one over warmup.",
                "步數等於 warmup 時，最小值那一項是根號分之一，不是 warmup 分之一。",
            ),
        ),
        Mistake(
            "root-of-warmup-above",
            lambda: 2.0,
            Text(
                "2: the root of warmup stands above the line. At the top the minimum is one over it.",
                "2：warmup 的根號跑到分子了。在最高點，最小值那一項是 1/√warmup。",
            ),
        ),
        Mistake(
            "in-thousandths",
            lambda: 5.0,
            Text(
                "5: right if you count in thousandths, as the figure does. Asked is the rate itself.",
                "5：如果像圖上那樣以千分之一為單位，就對了。題目要的是學習率本身。",
            ),
        ),
        Mistake(
            "branches-added",
            lambda: 0.01,
            Text(
                "0.01: twice too high. At the top both terms are equal, and the minimum is one of them.",
                "0.01：高了一倍。在最高點兩項相等，最小值只是其中一項。",
            ),
        ),
    ),
)

# --- pencil-smoothed-loss -----------------------------------------------------------------

PENCIL_SMOOTHED_LOSS = Exercise(
    name="pencil-smoothed-loss",
    chapter=10,
    title=Text("A smoothed loss with a pencil", "用紙筆算平滑後的損失"),
    difficulty=1,
    minutes=6,
    reference=lambda: 1.5,
    cases=by_hand,
    tolerance=1e-3,
    alternatives=(lambda: 3 / 2, lambda: torch.tensor(1.5), lambda: 0.7 + 0.1 * (2 + 3 + 3)),
    mistakes=(
        Mistake(
            "no-smoothing",
            lambda: 1.0,
            Text(
                "1: that is the plain loss, of the right token alone. The others have their shares of ε.",
                "1：這是沒有平滑的損失，只算了正確的標記。其他標記也分到了 ε。",
            ),
        ),
        Mistake(
            "right-token-alone",
            lambda: 0.7,
            Text(
                "0.7: only the right token's term. The three others are still to be added.",
                "0.7：只有正確標記那一項。還要加上另外三項。",
            ),
        ),
        Mistake(
            "others-alone",
            lambda: 0.8,
            Text(
                "0.8: only the three other tokens. The right one's term is missing.",
                "0.8：只有另外三個標記的項，少了正確標記那一項。",
            ),
        ),
        Mistake(
            "shared-with-the-right-one",
            lambda: 0.775 + 0.075 * 8,
            Text(
                "you share ε among all four tokens. Here the right one gets no part of it.",
                "你把 ε 分給了全部四個標記。這裡的正確標記不分。",
            ),
        ),
        Mistake(
            "all-of-ε-for-each",
            lambda: 0.7 + 0.3 * 8,
            Text(
                "each of the other tokens got the whole ε. They have to share it.",
                "你讓其他標記各拿走整個 ε。它們要一起分。",
            ),
        ),
        Mistake(
            "right-token-keeps-1",
            lambda: 1 + 0.1 * 8,
            Text(
                "your shares sum to more than 1: what the others get, the right token gives away.",
                "你的機率加起來超過 1：其他標記分到的，是從正確標記那裡拿走的。",
            ),
        ),
        Mistake(
            "in-natural-logarithms",
            lambda: 1.5 * math.log(2),
            Text(
                "right, but the answer was asked for in multiples of ln 2.",
                "算對了，不過題目要的是 ln 2 的倍數。",
            ),
        ),
        Mistake(
            "negative",
            lambda: -1.5,
            Text(
                "the sign: logarithms of probabilities are negative, and the loss has a minus before them.",
                "正負號：機率的對數是負的，損失的公式前面還有一個負號。",
            ),
        ),
        Mistake(
            "mean-over-the-vocabulary",
            lambda: 1.5 / 4,
            Text(
                "you divided by the number of tokens. The shares are weights already; just add up.",
                "你除以了標記的個數。q 本身就是權重，直接加起來即可。",
            ),
        ),
        Mistake(
            "entropy",
            lambda: (0.7 * math.log(1 / 0.7) + 0.3 * math.log(10)) / math.log(2),
            Text(
                "that is the entropy of the target. The logarithm is of what the model believes, p.",
                "這是目標的熵。取對數的應該是模型認為的機率 p。",
            ),
        ),
        Mistake(
            "p-and-q-exchanged",
            lambda: -(0.5 * math.log2(0.7) + 0.5 * math.log2(0.1)),
            Text(
                "p and q have changed places: the logarithm is of p, the model's belief.",
                "p 和 q 對調了：取對數的是 p，也就是模型的看法。",
            ),
        ),
        Mistake(
            "one-of-the-others",
            lambda: 0.7 + 0.1 * 5,
            Text(
                "two tokens have the probability 1/8. Did you count both?",
                "機率 1/8 的標記有兩個。兩個都算到了嗎？",
            ),
        ),
        Mistake(
            "example-of-the-text",
            lambda: 1.4,
            Text(
                "1.4 is the example in the text, with other numbers.",
                "1.4 是正文的例子，那裡的數字不一樣。",
            ),
        ),
        Mistake(
            "all-weigh-the-same",
            lambda: (1 + 2 + 3 + 3) / 4,
            Text(
                "all four tokens weigh the same here. The right one weighs 1 − ε, the others share ε.",
                "你讓四個標記一樣重。正確的標記是 1 − ε，其他的平分 ε。",
            ),
        ),
        Mistake(
            "no-weights",
            lambda: 1 + 2 + 3 + 3,
            Text(
                "9: you add up −ln p of all tokens. Each has its weight, the q of the formula.",
                "9：你把每個標記的 −ln p 直接加起來了。每一項都要乘上自己的權重，也就是公式裡的 q。",
            ),
        ),
        Mistake(
            "divided-by-V",
            lambda: 0.7 + 0.3 / 4 * 8,
            Text(
                "you divide ε by 4, but only three tokens share it: your weights sum to less than 1.",
                "你把 ε 除以 4，但只有三個標記來分：你的權重加起來不到 1。",
            ),
        ),
        Mistake(
            "ε-and-1-minus-ε-exchanged",
            lambda: 0.3 + 0.7 / 3 * 8,
            Text(
                "ε and 1 − ε have changed places: the right token keeps the larger part.",
                "ε 和 1 − ε 對調了：正確的標記要留下較大的那一份。",
            ),
        ),
        Mistake(
            "logarithm-of-the-sum",
            lambda: -math.log2(0.7 * 0.5 + 0.1 * 0.5),
            Text(
                "you add first and take the logarithm of the sum. Each p has a logarithm of its own.",
                "你先相加再取對數。應該是每個 p 各自取對數。",
            ),
        ),
        Mistake(
            "no-logarithm",
            lambda: 0.7 * 0.5 + 0.1 * 0.5,
            Text(
                "0.4: the logarithm is missing: you weigh the probabilities themselves.",
                "0.4：少了對數：你直接拿機率來加權。",
            ),
        ),
    ),
)

# --- noam-learning-rate -------------------------------------------------------------------


def noam_learning_rate(step, d_model, warmup):
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


def _schedule_cases():
    return [
        Case(Text("the first step", "第一步"), (1, 9, 4)),
        Case(Text("a step of the rise", "上升途中的一步"), (3, 5, 7)),
        Case(Text("the top, step = warmup", "最高點，步數等於 warmup"), (6, 2, 6)),
        Case(Text("a step of the fall", "下降途中的一步"), (30, 3, 4)),
        Case(Text("a warmup of 1", "warmup 等於 1"), (5, 7, 1)),
        Case(Text("the paper's sizes", "論文的設定"), (4000, 512, 4000)),
    ]


def _noam_by_branches(step, d_model, warmup):
    if step < warmup:
        return step / warmup**1.5 / d_model**0.5
    return 1 / math.sqrt(step) / math.sqrt(d_model)


NOAM_LEARNING_RATE = Exercise(
    name="noam-learning-rate",
    chapter=10,
    title=Text("The learning rate", "學習率"),
    difficulty=1,
    minutes=5,
    reference=noam_learning_rate,
    cases=_schedule_cases,
    alternatives=(
        training.noam_learning_rate,
        _noam_by_branches,
        lambda step, d_model, warmup: (
            min(1 / math.sqrt(step), step / (warmup * math.sqrt(warmup))) / math.sqrt(d_model)
        ),
        lambda step, d_model, warmup: (
            (d_model * warmup) ** -0.5 * min((warmup / step) ** 0.5, step / warmup)
        ),
    ),
    mistakes=(
        Mistake(
            "max-for-min",
            lambda step, d_model, warmup: d_model**-0.5 * max(step**-0.5, step * warmup**-1.5),
            Text(
                "you take the larger of the two branches: the rate starts high, falls until warmup, "
                "and then grows without end. Which one should win at step 1?",
                "你取了兩者中較大的：學習率一開始很高，暖身時反而下降，之後又一路上升。第 1 步時該用哪一個？",
            ),
        ),
        Mistake(
            "d_model-forgotten",
            lambda step, d_model, warmup: min(step**-0.5, step * warmup**-1.5),
            Text(
                "the shape is right, but d_model plays no part in it.",
                "曲線的形狀對了，但 d_model 沒有用到。",
            ),
        ),
        Mistake(
            "times-root-d_model",
            lambda step, d_model, warmup: d_model**0.5 * min(step**-0.5, step * warmup**-1.5),
            Text(
                "a larger model gets a larger rate here. The exponent of d_model is negative.",
                "在你的公式裡，模型越大，學習率越高。d_model 的指數是負的。",
            ),
        ),
        Mistake(
            "d_model-not-rooted",
            lambda step, d_model, warmup: min(step**-0.5, step * warmup**-1.5) / d_model,
            Text("d_model stands there without its root.", "d_model 忘了開根號。"),
        ),
        Mistake(
            "warmup-exponent-half",
            lambda step, d_model, warmup: d_model**-0.5 * min(step**-0.5, step * warmup**-0.5),
            Text(
                "the two branches do not meet at step = warmup. Look at the exponent of warmup.",
                "兩段沒有在步數等於 warmup 時相接。看看 warmup 的指數。",
            ),
        ),
        Mistake(
            "warmup-exponent-one",
            lambda step, d_model, warmup: d_model**-0.5 * min(step**-0.5, step / warmup),
            Text(
                "step / warmup reaches 1 at the warmup, but the falling branch is smaller than that "
                "there. With which power of warmup do they meet?",
                "step / warmup 在 warmup 那一步等於 1，但下降的那一段在那裡比 1 小。warmup 要幾次方才會相接？",
            ),
        ),
        Mistake(
            "rising-only",
            lambda step, d_model, warmup: d_model**-0.5 * step * warmup**-1.5,
            Text(
                "right until the warmup, but it never falls.",
                "到 warmup 為止是對的，但之後沒有下降。",
            ),
        ),
        Mistake(
            "falling-only",
            lambda step, d_model, warmup: d_model**-0.5 * step**-0.5,
            Text(
                "right after the warmup, but there is no warmup: it falls from step 1 on. If you have the "
                "rising branch, see whether it divides by the power of warmup.",
                "warmup 之後是對的，但沒有暖身：從第 1 步就開始下降。如果你寫了上升的那一段，"
                "看看 warmup 的次方是不是在分母。",
            ),
        ),
        Mistake(
            "flat-after-warmup",
            lambda step, d_model, warmup: d_model**-0.5 * min(warmup**-0.5, step * warmup**-1.5),
            Text(
                "after the warmup your rate stays where it is. One of the branches depends on the "
                "step in another way.",
                "warmup 之後你的學習率就不動了。其中一段和步數的關係不是這樣。",
            ),
        ),
        Mistake(
            "counted-from-zero",
            lambda step, d_model, warmup: (
                d_model**-0.5 * min((step + 1) ** -0.5, (step + 1) * warmup**-1.5)
            ),
            Text(
                "one step too far: the first step is number 1 already, nothing needs to be added.",
                "多了一步：第一步的編號就是 1，不必再加。",
            ),
        ),
        Mistake(
            "one-step-late",
            lambda step, d_model, warmup: (
                d_model**-0.5 * min(max(step - 1, 1e-9) ** -0.5, (step - 1) * warmup**-1.5)
            ),
            Text(
                "one step too few: with step − 1 the first step has a rate of 0.",
                "少了一步：用 step − 1 的話，第一步的學習率是 0。",
            ),
        ),
        Mistake(
            "falls-like-one-over-step",
            lambda step, d_model, warmup: d_model**-0.5 * min(1 / step, step * warmup**-1.5),
            Text(
                "it falls too fast: like one over the step instead of one over its root.",
                "降得太快了：應該是步數的根號分之一，不是步數分之一。",
            ),
        ),
        Mistake(
            "falls-in-a-straight-line",
            lambda step, d_model, warmup: (
                (d_model * warmup) ** -0.5 * min(step / warmup, max(0.0, 2 - step / warmup))
            ),
            Text(
                "the rise is right, but after it the rate should fall like one over a root, not in "
                "a straight line.",
                "上升的部分對了，但之後應該照根號分之一下降，不是直線下降。",
            ),
        ),
        Mistake(
            "branches-added",
            lambda step, d_model, warmup: d_model**-0.5 * (step**-0.5 + step * warmup**-1.5),
            Text(
                "you add the two branches. At each step only one of them counts.",
                "你把兩段加起來了。每一步只有其中一段算數。",
            ),
        ),
        Mistake(
            "whole-division",
            lambda step, d_model, warmup: d_model**-0.5 * min(step**-0.5, step // warmup**1.5),
            Text(
                "// throws the fraction away, so the rise is 0 at most steps. Divide with /.",
                "// 會把小數丟掉，上升途中大多變成 0。請用 /。",
            ),
        ),
        Mistake(
            "d_model-and-warmup-exchanged",
            lambda step, d_model, warmup: warmup**-0.5 * min(step**-0.5, step * d_model**-1.5),
            Text(
                "d_model and warmup have changed places.",
                "d_model 和 warmup 的位置對調了。",
            ),
        ),
        Mistake(
            "root-of-the-minimum-too",
            lambda step, d_model, warmup: (d_model * min(step**-0.5, step * warmup**-1.5)) ** -0.5,
            Text(
                "the exponent −1/2 belongs to d_model alone, not to the product with the minimum. "
                "Check the brackets.",
                "指數 −1/2 只屬於 d_model，不是整個乘積的。檢查一下括號。",
            ),
        ),
        Mistake(
            "exponents-without-brackets",
            lambda step, d_model, warmup: (
                d_model**-1 / 2 * min(step**-1 / 2, step * warmup**-3 / 2)
            ),
            Text(
                "Python takes the power before the division: x**-1/2 is half of 1/x. Write x**-0.5 or x ** (-1/2).",
                "Python 先算次方再算除法：x**-1/2 是 1/x 的一半。請寫 x**-0.5 或 x ** (-1/2)。",
            ),
        ),
        Mistake(
            "no-step-in-the-rise",
            lambda step, d_model, warmup: d_model**-0.5 * min(step**-0.5, warmup**-1.5),
            Text(
                "until the warmup your rate stays where it is: the step itself is missing in the rising branch.",
                "在 warmup 之前你的學習率都不動：上升的那一段少了步數。",
            ),
        ),
        Mistake(
            "root-of-the-step-above",
            lambda step, d_model, warmup: d_model**-0.5 * min(step**0.5, step * warmup**-1.5),
            Text(
                "your rate rises without end: in the falling branch the root of the step stands below the line.",
                "你的學習率會一直上升：下降的那一段，步數的根號應該在分母。",
            ),
        ),
        Mistake(
            "exponent-upside-down",
            lambda step, d_model, warmup: (
                d_model**-0.5 * min(step**-0.5, step * warmup ** (-2 / 3))
            ),
            Text(
                "the exponent of warmup is −2/3 here. Two and three have changed places.",
                "你寫的 warmup 指數是 −2/3，2 和 3 對調了。",
            ),
        ),
        Mistake(
            "warmup-cubed",
            lambda step, d_model, warmup: d_model**-0.5 * min(step**-0.5, step * warmup**-3),
            Text(
                "warmup is cubed, but its root is missing: the exponent is three halves.",
                "warmup 有三次方，但少了開根號：指數是二分之三。",
            ),
        ),
        Mistake(
            "d_model-in-the-falling-branch-only",
            lambda step, d_model, warmup: min(d_model**-0.5 * step**-0.5, step * warmup**-1.5),
            Text(
                "d_model belongs before the minimum, so that it scales both branches. Check the brackets.",
                "d_model 要放在最小值外面，兩段都乘到。檢查一下括號。",
            ),
        ),
        Mistake(
            "d_model-in-the-rising-branch-only",
            lambda step, d_model, warmup: min(step**-0.5, d_model**-0.5 * step * warmup**-1.5),
            Text(
                "only the rising branch has its factor with d_model. Both need it.",
                "只有上升的那一段乘了和 d_model 有關的因子。兩段都要乘。",
            ),
        ),
        Mistake(
            "branches-multiplied",
            lambda step, d_model, warmup: d_model**-0.5 * step**-0.5 * step * warmup**-1.5,
            Text(
                "you multiply the two branches. At each step only the smaller one counts.",
                "你把兩段乘起來了。每一步只有較小的那一段算數。",
            ),
        ),
    ),
)

# --- label-smoothing-loss -----------------------------------------------------------------


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


def _probabilities_for_logarithms(logits, targets, smoothing, pad_id):
    q = torch.full_like(logits, smoothing / (logits.size(-1) - 1))
    q = q.scatter(-1, targets[..., None], 1 - smoothing)
    return -(q * logits.softmax(-1)).sum(-1)[targets != pad_id].mean()


def _logits_for_logarithms(logits, targets, smoothing, pad_id):
    q = torch.full_like(logits, smoothing / (logits.size(-1) - 1))
    q = q.scatter(-1, targets[..., None], 1 - smoothing)
    return -(q * logits).sum(-1)[targets != pad_id].mean()


def _logarithm_of_the_sum(logits, targets, smoothing, pad_id):
    p = logits.softmax(-1)
    q = torch.full_like(logits, smoothing / (logits.size(-1) - 1))
    q = q.scatter(-1, targets[..., None], 1 - smoothing)
    return -(q * p).sum(-1).log()[targets != pad_id].mean()


def _others_as_one(logits, targets, smoothing, pad_id):
    p = logits.softmax(-1).gather(-1, targets[..., None]).squeeze(-1)
    losses = -(1 - smoothing) * p.log() - smoothing * (1 - p).log()
    return losses[targets != pad_id].mean()


def _p_and_q_exchanged(logits, targets, smoothing, pad_id):
    q = torch.full_like(logits, smoothing / (logits.size(-1) - 1))
    q = q.scatter(-1, targets[..., None], 1 - smoothing)
    return -(logits.softmax(-1) * q.log()).sum(-1)[targets != pad_id].mean()


def _mean_over_vocabulary(logits, targets, smoothing, pad_id):
    return _smoothed_loss(logits, targets, smoothing, pad_id) / logits.size(-1)


def _above_the_minimum(logits, targets, smoothing, pad_id):
    others = logits.size(-1) - 1
    q = logits.new_tensor([1 - smoothing] + [smoothing / others] * others)
    entropy = -torch.special.xlogy(q, q).sum()
    return _smoothed_loss(logits, targets, smoothing, pad_id) - entropy


LABEL_SMOOTHING_LOSS = Exercise(
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
    mistakes=(
        Mistake(
            "no-smoothing",
            lambda logits, targets, smoothing, pad_id: _smoothed_loss(logits, targets, 0, pad_id),
            Text(
                "smoothing makes no difference in your answer: only the right token counts.",
                "你的答案沒有用到 smoothing：只算了正確的標記。",
            ),
        ),
        Mistake(
            "shared-with-the-right-one",
            _with_torch_s_shares,
            Text(
                "the right token gets a share of ε too (PyTorch's label_smoothing does that). "
                "Here only the V − 1 others share it.",
                "正確的標記也分到了 ε（PyTorch 的 label_smoothing 就是這樣）。這裡只由另外 V − 1 個分。",
            ),
        ),
        Mistake(
            "divided-by-V",
            lambda logits, targets, smoothing, pad_id: _smoothed_loss(
                logits, targets, smoothing, pad_id, share=smoothing / logits.size(-1)
            ),
            Text(
                "your target does not sum to 1: ε is divided by V, but only V − 1 tokens get a part.",
                "你的目標加起來不是 1：ε 除以了 V，但只有 V − 1 個標記分到。",
            ),
        ),
        Mistake(
            "right-token-keeps-1",
            lambda logits, targets, smoothing, pad_id: _smoothed_loss(
                logits, targets, smoothing, pad_id, keep=1
            ),
            Text(
                "your target sums to 1 + ε: the right token must give away what the others get.",
                "你的目標加起來是 1 + ε：其他標記分到的，要從正確的標記扣掉。",
            ),
        ),
        Mistake(
            "right-token-gets-both",
            lambda logits, targets, smoothing, pad_id: _smoothed_loss(
                logits,
                targets,
                smoothing,
                pad_id,
                keep=1 - smoothing + smoothing / (logits.size(-1) - 1),
            ),
            Text(
                "the right token gets 1 − ε and a share of ε on top, so your target sums to more "
                "than 1. Put its part in the place of the share, do not add it.",
                "正確的標記拿了 1 − ε，又多拿一份 ε，所以你的目標加起來超過 1。"
                "它那一份要取代平分的值，不是加上去。",
            ),
        ),
        Mistake(
            "all-of-ε-for-each",
            lambda logits, targets, smoothing, pad_id: _smoothed_loss(
                logits, targets, smoothing, pad_id, share=smoothing
            ),
            Text(
                "each other token gets the whole ε. They have to share it.",
                "其他標記各拿走了整個 ε。它們要一起分。",
            ),
        ),
        Mistake(
            "ε-and-1-minus-ε-exchanged",
            lambda logits, targets, smoothing, pad_id: _smoothed_loss(
                logits,
                targets,
                smoothing,
                pad_id,
                share=(1 - smoothing) / (logits.size(-1) - 1),
                keep=smoothing,
            ),
            Text(
                "ε and 1 − ε have changed places: the right token keeps the larger part.",
                "ε 和 1 − ε 對調了：正確的標記要留下較大的那一份。",
            ),
        ),
        Mistake(
            "padding-gets-nothing",
            _padding_gets_nothing,
            Text(
                "you leave the padding token out and share among V − 2. Many programs do; in this "
                "book padding is one of the V − 1 others and gets its share.",
                "你沒有分給填充標記，而由 V − 2 個來分。很多程式這樣做；不過在這本書裡，"
                "填充也是那 V − 1 個之一，一樣分得到。",
            ),
        ),
        Mistake(
            "padding-s-share-lost",
            lambda *args: _padding_gets_nothing(*args, others=1),
            Text(
                "the share of the padding token is lost: your target sums to less than 1. "
                "In this book padding keeps its share.",
                "填充標記的那一份不見了：你的目標加起來不到 1。在這本書裡，填充也分得到。",
            ),
        ),
        Mistake(
            "padding-counts",
            _padding_counts,
            Text(
                "positions whose right token is padding count in your mean. Leave them out.",
                "正確標記是填充的位置，也算進你的平均了。這些位置要排除。",
            ),
        ),
        Mistake(
            "divided-by-all-positions",
            _divided_by_all_positions,
            Text(
                "the padded positions add 0, but you still divide by their number. Divide by the "
                "number of real tokens.",
                "填充的位置雖然加的是 0，但你除的時候還是把它們算進去。應該除以真正標記的個數。",
            ),
        ),
        Mistake(
            "summed",
            _summed,
            Text(
                "that is the sum over the real tokens. Asked is their mean.",
                "這是真正標記的總和。題目要的是平均。",
            ),
        ),
        Mistake(
            "mean-of-the-rows-means",
            _mean_of_means,
            Text(
                "you take the mean of each sentence first. Then a token of a short sentence weighs "
                "more. Every real token of the batch should weigh the same.",
                "你先算每個句子的平均，短句裡的標記份量就變大了。批次裡每個真正的標記，份量都該一樣。",
            ),
        ),
        Mistake(
            "losses-not-averaged",
            lambda logits, targets, smoothing, pad_id: _smoothed_losses(
                logits, targets, smoothing / (logits.size(-1) - 1), 1 - smoothing
            ),
            Text(
                "that is the loss of each position. Asked is one number for the batch.",
                "這是每個位置各自的損失。題目要的是整個批次的一個數。",
            ),
        ),
        Mistake(
            "divided-by-the-vocabulary",
            _mean_over_vocabulary,
            Text(
                "V times too small: over the vocabulary you should add up, not average.",
                "結果只有應有的 1/V：沿著詞彙表要加總，不是平均。",
            ),
        ),
        Mistake(
            "sign",
            lambda *args: -label_smoothing_loss(*args),
            Text(
                "the sign: a loss is positive here, logarithms of probabilities are negative.",
                "正負號：這裡的損失是正的，機率的對數則是負的。",
            ),
        ),
        Mistake(
            "logarithm-of-the-softmax",
            _without_stable_logarithm,
            Text(
                "right for small logits. For large ones the softmax rounds to 0, and its logarithm "
                "is −∞. There is a function that does both at once.",
                "logits 小的時候是對的。太大時 softmax 會捨入成 0，取對數就變成 −∞。有一個函式可以兩步一起做。",
            ),
        ),
        Mistake(
            "logarithm-to-base-2",
            lambda *args: label_smoothing_loss(*args) / math.log(2),
            Text(
                "your logarithm has base 2. The loss uses the natural one.",
                "你用了以 2 為底的對數。損失用的是自然對數。",
            ),
        ),
        Mistake(
            "probabilities-without-logarithm",
            _probabilities_for_logarithms,
            Text(
                "the logarithm is missing: you weigh the probabilities themselves.",
                "少了對數：你直接拿機率來加權。",
            ),
        ),
        Mistake(
            "logits-without-softmax",
            _logits_for_logarithms,
            Text(
                "the logits are no logarithms of probabilities yet: the softmax is missing.",
                "logits 還不是機率的對數：少了 softmax。",
            ),
        ),
        Mistake(
            "softmax-over-the-positions",
            _softmax_over(1),
            Text(
                "your softmax runs over the positions. At each position the probabilities of the "
                "vocabulary sum to 1.",
                "你的 softmax 是沿著位置算的。每個位置上，加起來等於 1 的是整個詞彙表的機率。",
            ),
        ),
        Mistake(
            "softmax-over-the-batch",
            _softmax_over(0),
            Text(
                "your softmax runs over the batch. At each position the probabilities of the "
                "vocabulary sum to 1.",
                "你的 softmax 是沿著批次算的。每個位置上，加起來等於 1 的是整個詞彙表的機率。",
            ),
        ),
        Mistake(
            "padding-is-0",
            lambda logits, targets, smoothing, pad_id: _smoothed_loss(
                logits, targets, smoothing, 0
            ),
            Text(
                "right where padding has the id 0. It may have another: use pad_id.",
                "填充的 id 是 0 時是對的。它可能是別的數：請用 pad_id。",
            ),
        ),
        Mistake(
            "only-padding",
            lambda logits, targets, smoothing, pad_id: _smoothed_losses(
                logits, targets, smoothing / (logits.size(-1) - 1), 1 - smoothing
            )[targets == pad_id].mean(),
            Text(
                "just the padded positions count in your mean: the comparison is the wrong way round.",
                "你的平均只算到填充的位置：比較寫反了。",
            ),
        ),
        Mistake(
            "entropy-subtracted",
            _above_the_minimum,
            Text(
                "you subtract the lowest possible loss. The gradient is the same, but asked is the "
                "loss itself.",
                "你減掉了最小可能的損失。梯度是一樣的，但題目要的是損失本身。",
            ),
        ),
        Mistake(
            "right-token-alone",
            lambda logits, targets, smoothing, pad_id: _smoothed_loss(
                logits, targets, smoothing, pad_id, share=0
            ),
            Text(
                "the right token has its 1 − ε, but the shares of the others are missing.",
                "正確的標記乘了 1 − ε，但少了其他標記的那幾份。",
            ),
        ),
        Mistake(
            "softmax-twice",
            lambda logits, targets, smoothing, pad_id: label_smoothing_loss(
                logits.softmax(-1), targets, smoothing, pad_id
            ),
            Text(
                "a softmax too many: log_softmax and cross_entropy take the logits as they are.",
                "多做了一次 softmax：log_softmax 和 cross_entropy 要的是原本的 logits。",
            ),
        ),
        Mistake(
            "divided-by-the-sentences",
            lambda logits, targets, smoothing, pad_id: (
                _summed(logits, targets, smoothing, pad_id) / len(logits)
            ),
            Text(
                "you divide by the number of sentences. Divide by the number of real tokens.",
                "你除以句子的個數。應該除以真正標記的個數。",
            ),
        ),
        Mistake(
            "V-is-the-length",
            lambda logits, targets, smoothing, pad_id: _smoothed_loss(
                logits, targets, smoothing, pad_id, share=smoothing / (logits.size(1) - 1)
            ),
            Text(
                "your V is the length of the sentence. The vocabulary is the last dimension of the logits.",
                "你的 V 是句子長度。詞彙量是 logits 的最後一個維度。",
            ),
        ),
        Mistake(
            "conversion-upside-down",
            lambda logits, targets, smoothing, pad_id: _with_torch_s_shares(
                logits, targets, smoothing * (logits.size(-1) - 1) / logits.size(-1), pad_id
            ),
            Text(
                "the conversion for PyTorch is upside down: its label_smoothing has to be larger than ε, not smaller.",
                "換算成 PyTorch 時分子分母顛倒了：它的 label_smoothing 要比 ε 大，不是比較小。",
            ),
        ),
        Mistake(
            "sign-of-the-others",
            lambda logits, targets, smoothing, pad_id: _smoothed_loss(
                logits, targets, smoothing, pad_id, share=-smoothing / (logits.size(-1) - 1)
            ),
            Text(
                "the minus of the formula stands before the whole sum, so before the other tokens' part too. Check the brackets.",
                "公式的負號在整個和的前面，其他標記那部分也要變號。檢查一下括號。",
            ),
        ),
        Mistake(
            "logarithm-of-the-sum",
            _logarithm_of_the_sum,
            Text(
                "you add first and take the logarithm of the sum. Each probability has a logarithm of its own.",
                "你先相加再取對數。應該是每個機率各自取對數。",
            ),
        ),
        Mistake(
            "others-as-one",
            _others_as_one,
            Text(
                "you take the logarithm of what all others have together. Each of them has its own share and its own logarithm.",
                "你拿其他標記的機率總和來取對數。它們每一個都有自己的一份、自己的對數。",
            ),
        ),
        Mistake(
            "p-and-q-exchanged",
            _p_and_q_exchanged,
            Text(
                "p and q have changed places: the logarithm is of p, the model's belief.",
                "p 和 q 對調了：取對數的是 p，也就是模型的看法。",
            ),
        ),
        Mistake(
            "shifted-again",
            lambda logits, targets, smoothing, pad_id: label_smoothing_loss(
                logits[:, :-1], targets[:, 1:], smoothing, pad_id
            ),
            Text(
                "you shift the targets once more. They belong to the logits at the same place already.",
                "你又把目標錯開了一位。它們和同一個位置的 logits 本來就是對齊的。",
            ),
        ),
    ),
)

# --- encoder-layer ------------------------------------------------------------------------


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


ENCODER_LAYER = Exercise(
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
    mistakes=(
        Mistake(
            "pre-norm",
            _of_halves(lambda x, sublayer, norm: x + sublayer(norm(x))),
            Text(
                "that is pre-norm: the norms stand before the sublayers. Here each stands after the "
                "sum.",
                "這是 pre-norm：正規化放在子層前面。這裡要放在相加之後。",
            ),
        ),
        Mistake(
            "no-residuals",
            _of_halves(_without_residual),
            Text(
                "both residual connections are missing: what went in is not added.",
                "兩個殘差連接都不見了：沒有把輸入加回去。",
            ),
        ),
        Mistake(
            "no-first-residual",
            _of_halves(_without_residual, _half),
            Text(
                "around the attention the residual connection is missing.",
                "注意力外面少了殘差連接。",
            ),
        ),
        Mistake(
            "no-second-residual",
            _of_halves(_half, _without_residual),
            Text(
                "around the feed-forward network the residual connection is missing.",
                "前饋神經網路外面少了殘差連接。",
            ),
        ),
        Mistake(
            "second-residual-from-x",
            lambda x, attention, feed_forward, norm_1, norm_2: norm_2(
                x + feed_forward(norm_1(x + attention(x)))
            ),
            Text(
                "your second residual connection starts at the layer's input. It should start at "
                "what goes into the feed-forward network.",
                "你的第二個殘差連接從整層的輸入拉過來。它應該從前饋神經網路的輸入開始。",
            ),
        ),
        Mistake(
            "norm-of-the-sublayer",
            _of_halves(lambda x, sublayer, norm: x + norm(sublayer(x))),
            Text(
                "you normalise what the sublayer returns, and add x afterwards. First add, then "
                "normalise.",
                "你先正規化子層的輸出，再加 x。應該先相加，再正規化。",
            ),
        ),
        Mistake(
            "one-norm",
            _of_parts(lambda attend, feed, norm_1, norm_2: (attend, feed, norm_1, norm_1)),
            Text(
                "you use norm_1 twice. The second has γ and β of its own.",
                "你用了兩次 norm_1。第二個正規化有自己的 γ 和 β。",
            ),
        ),
        Mistake(
            "norms-exchanged",
            _of_parts(lambda attend, feed, norm_1, norm_2: (attend, feed, norm_2, norm_1)),
            Text(
                "norm_1 and norm_2 have changed places.",
                "norm_1 和 norm_2 的位置對調了。",
            ),
        ),
        Mistake(
            "sublayers-exchanged",
            _of_parts(lambda attend, feed, *norms: (feed, attend, *norms)),
            Text(
                "the feed-forward network comes first in your layer. Attention goes before it.",
                "你先做了前饋神經網路。注意力要在前面。",
            ),
        ),
        Mistake(
            "side-by-side",
            lambda x, attention, feed_forward, norm_1, norm_2: norm_2(
                norm_1(x + attention(x)) + feed_forward(x)
            ),
            Text(
                "your feed-forward network reads the layer's input. It should read what the first "
                "half returns.",
                "你的前饋神經網路讀的是整層的輸入。它應該讀前半的結果。",
            ),
        ),
        Mistake(
            "no-first-norm",
            _of_halves(_without_norm, _half),
            Text("the first norm is missing.", "少了第一個正規化。"),
        ),
        Mistake(
            "no-second-norm",
            _of_halves(_half, _without_norm),
            Text("the second norm is missing.", "少了第二個正規化。"),
        ),
        Mistake(
            "no-norms",
            _of_halves(_without_norm),
            Text("both norms are missing.", "兩個正規化都不見了。"),
        ),
        Mistake(
            "no-feed-forward",
            _of_halves(_half, lambda x, sublayer, norm: norm(x)),
            Text("the feed-forward network is missing.", "少了前饋神經網路。"),
        ),
        Mistake(
            "first-half-only",
            _of_halves(_half, _nothing),
            Text(
                "that is the first half. The feed-forward network with its norm is still to come.",
                "這是前半。後面還有前饋神經網路和它的正規化。",
            ),
        ),
        Mistake(
            "no-attention",
            _of_halves(_nothing, _half),
            Text(
                "attention, with its residual connection and norm, is missing.",
                "少了注意力，連同它的殘差連接和正規化。",
            ),
        ),
        Mistake(
            "attention-twice",
            _of_parts(lambda attend, *rest: (lambda x: attend(attend(x)), *rest)),
            Text("attention is applied twice.", "注意力用了兩次。"),
        ),
        Mistake(
            "residual-twice",
            lambda x, attention, feed_forward, norm_1, norm_2: (
                lambda h: norm_2(x + h + feed_forward(h))
            )(norm_1(x + attention(x))),
            Text(
                "x is added once too often: the second sum has two terms only.",
                "x 多加了一次：第二次相加只有兩項。",
            ),
        ),
        Mistake(
            "a-product-for-the-sum",
            _of_halves(lambda x, sublayer, norm: norm(x * sublayer(x))),
            Text(
                "a residual connection adds; yours multiplies.",
                "殘差連接是相加，你用了相乘。",
            ),
        ),
        Mistake(
            "norm-is-skipped-by-the-second-residual",
            lambda x, attention, feed_forward, norm_1, norm_2: (
                lambda s: norm_2(s + feed_forward(norm_1(s)))
            )(x + attention(x)),
            Text(
                "your second residual connection starts before the first norm. It should start after it.",
                "你的第二個殘差連接從第一個正規化之前拉過來。應該從它之後開始。",
            ),
        ),
        Mistake(
            "residual-from-the-normed-input",
            lambda x, attention, feed_forward, norm_1, norm_2: (lambda h: h + feed_forward(h))(
                norm_2((lambda h: h + attention(h))(norm_1(x)))
            ),
            Text(
                "your norms stand before the sublayers. Each belongs after the sum.",
                "你的正規化放在子層前面。應該放在相加之後。",
            ),
        ),
        Mistake(
            "one-residual-around-both",
            lambda x, attention, feed_forward, norm_1, norm_2: norm_2(
                x + feed_forward(norm_1(attention(x)))
            ),
            Text(
                "one residual connection goes around both sublayers. Each has its own.",
                "你用一個殘差連接繞過兩個子層。應該各有各的。",
            ),
        ),
        Mistake(
            "first-norm-and-residual-missing",
            lambda x, attention, feed_forward, norm_1, norm_2: norm_2(
                x + feed_forward(x + attention(x))
            ),
            Text(
                "the first norm is missing, and your second residual connection starts at the layer's input.",
                "少了第一個正規化，而且你的第二個殘差連接從整層的輸入拉過來。",
            ),
        ),
        Mistake(
            "all-in-one-sum",
            lambda x, attention, feed_forward, norm_1, norm_2: norm_2(
                norm_1(x + attention(x) + feed_forward(x))
            ),
            Text(
                "you add attention and feed-forward network at once. The second works on what the first half returns.",
                "你把注意力和前饋神經網路一次加完。前饋神經網路要處理的是前半的結果。",
            ),
        ),
        Mistake(
            "all-in-one-sum-one-norm",
            lambda x, attention, feed_forward, norm_1, norm_2: norm_1(
                x + attention(x) + feed_forward(x)
            ),
            Text(
                "you add attention and feed-forward network at once, with a single norm. The second works on what the first half returns.",
                "你把注意力和前饋神經網路一次加完，只正規化一次。前饋神經網路要處理的是前半的結果。",
            ),
        ),
        Mistake(
            "feed-forward-twice",
            _of_parts(lambda attend, feed, *norms: (attend, lambda x: feed(feed(x)), *norms)),
            Text(
                "the feed-forward network is applied twice.",
                "前饋神經網路用了兩次。",
            ),
        ),
        Mistake(
            "attention-for-the-feed-forward",
            _of_parts(lambda attend, feed, *norms: (attend, attend, *norms)),
            Text(
                "attention comes twice, and the feed-forward network never.",
                "注意力用了兩次，前饋神經網路一次也沒用到。",
            ),
        ),
        Mistake(
            "sublayers-subtracted",
            _of_halves(lambda x, sublayer, norm: norm(x - sublayer(x))),
            Text(
                "a residual connection adds; yours subtracts.",
                "殘差連接是相加，你用了相減。",
            ),
        ),
    ),
)

EXERCISES = (
    PENCIL_SCHEDULE_PEAK,
    PENCIL_SMOOTHED_LOSS,
    NOAM_LEARNING_RATE,
    LABEL_SMOOTHING_LOSS,
    ENCODER_LAYER,
)
