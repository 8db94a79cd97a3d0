"""Exercise noam-learning-rate of chapter 10: the learning rate."""

import math

from transformer_lib import training
from transformer_lib.exercises.chapter_10.shared import D_MODEL_NOT_ROOTED
from transformer_lib.exercises.data import Case, Exercise, Text, mistakes


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


MISTAKES = mistakes(
    ("max-for-min",
     lambda step, d_model, warmup: d_model ** (-0.5) * max(step ** (-0.5), step * warmup ** (-1.5)),
     "you take the larger of the two branches: the rate starts high, falls until warmup, and then grows without end. Which one should win at step 1?",
     "你取了兩者中較大的：學習率一開始很高，暖身時反而下降，之後又一路上升。第 1 步時該用哪一個？"),
    ("d_model-forgotten", lambda step, d_model, warmup: min(step ** (-0.5), step * warmup ** (-1.5)),
     "the shape is right, but d_model plays no part in it.",
     "曲線的形狀對了，但 d_model 沒有用到。"),
    ("times-root-d_model",
     lambda step, d_model, warmup: d_model**0.5 * min(step ** (-0.5), step * warmup ** (-1.5)),
     "a larger model gets a larger rate here. The exponent of d_model is negative.",
     "在你的公式裡，模型越大，學習率越高。d_model 的指數是負的。"),
    ("d_model-not-rooted",
     lambda step, d_model, warmup: min(step ** (-0.5), step * warmup ** (-1.5)) / d_model,
     D_MODEL_NOT_ROOTED),
    ("warmup-exponent-half",
     lambda step, d_model, warmup: d_model ** (-0.5) * min(step ** (-0.5), step * warmup ** (-0.5)),
     "the two branches do not meet at step = warmup. Look at the exponent of warmup.",
     "兩段沒有在步數等於 warmup 時相接。看看 warmup 的指數。"),
    ("warmup-exponent-one",
     lambda step, d_model, warmup: d_model ** (-0.5) * min(step ** (-0.5), step / warmup),
     "step / warmup reaches 1 at the warmup, but the falling branch is smaller than that there. With which power of warmup do they meet?",
     "step / warmup 在 warmup 那一步等於 1，但下降的那一段在那裡比 1 小。warmup 要幾次方才會相接？"),
    ("rising-only", lambda step, d_model, warmup: d_model ** (-0.5) * step * warmup ** (-1.5),
     "right until the warmup, but it never falls.",
     "到 warmup 為止是對的，但之後沒有下降。"),
    ("falling-only", lambda step, d_model, warmup: d_model ** (-0.5) * step ** (-0.5),
     "right after the warmup, but there is no warmup: it falls from step 1 on. If you have the rising branch, see whether it divides by the power of warmup.",
     "warmup 之後是對的，但沒有暖身：從第 1 步就開始下降。如果你寫了上升的那一段，看看 warmup 的次方是不是在分母。"),
    ("flat-after-warmup",
     lambda step, d_model, warmup: d_model ** (-0.5) * min(warmup ** (-0.5), step * warmup ** (-1.5)),
     "after the warmup your rate stays where it is. One of the branches depends on the step in another way.",
     "warmup 之後你的學習率就不動了。其中一段和步數的關係不是這樣。"),
    ("counted-from-zero",
     lambda step, d_model, warmup: (
         d_model**-0.5 * min((step + 1) ** -0.5, (step + 1) * warmup**-1.5)
     ),
     "one step too far: the first step is number 1 already, nothing needs to be added.",
     "多了一步：第一步的編號就是 1，不必再加。"),
    ("one-step-late",
     lambda step, d_model, warmup: (
         d_model**-0.5 * min(max(step - 1, 1e-9) ** -0.5, (step - 1) * warmup**-1.5)
     ),
     "one step too few: with step − 1 the first step has a rate of 0.",
     "少了一步：用 step − 1 的話，第一步的學習率是 0。"),
    ("falls-like-one-over-step",
     lambda step, d_model, warmup: d_model ** (-0.5) * min(1 / step, step * warmup ** (-1.5)),
     "it falls too fast: like one over the step instead of one over its root.",
     "降得太快了：應該是步數的根號分之一，不是步數分之一。"),
    ("falls-in-a-straight-line",
     lambda step, d_model, warmup: (
         (d_model * warmup) ** -0.5 * min(step / warmup, max(0.0, 2 - step / warmup))
     ),
     "the rise is right, but after it the rate should fall like one over a root, not in a straight line.",
     "上升的部分對了，但之後應該照根號分之一下降，不是直線下降。"),
    ("branches-added",
     lambda step, d_model, warmup: d_model ** (-0.5) * (step ** (-0.5) + step * warmup ** (-1.5)),
     "you add the two branches. At each step only one of them counts.",
     "你把兩段加起來了。每一步只有其中一段算數。"),
    ("whole-division",
     lambda step, d_model, warmup: d_model ** (-0.5) * min(step ** (-0.5), step // warmup**1.5),
     "// throws the fraction away, so the rise is 0 at most steps. Divide with /.",
     "// 會把小數丟掉，上升途中大多變成 0。請用 /。"),
    ("d_model-and-warmup-exchanged",
     lambda step, d_model, warmup: warmup ** (-0.5) * min(step ** (-0.5), step * d_model ** (-1.5)),
     "d_model and warmup have changed places.",
     "d_model 和 warmup 的位置對調了。"),
    ("root-of-the-minimum-too",
     lambda step, d_model, warmup: (d_model * min(step ** (-0.5), step * warmup ** (-1.5))) ** (-0.5),
     "the exponent −1/2 belongs to d_model alone, not to the product with the minimum. Check the brackets.",
     "指數 −1/2 只屬於 d_model，不是整個乘積的。檢查一下括號。"),
    ("exponents-without-brackets",
     lambda step, d_model, warmup: d_model ** (-1) / 2 * min(step ** (-1) / 2, step * warmup ** (-3) / 2),
     "Python takes the power before the division: x**-1/2 is half of 1/x. Write x**-0.5 or x ** (-1/2).",
     "Python 先算次方再算除法：x**-1/2 是 1/x 的一半。請寫 x**-0.5 或 x ** (-1/2)。"),
    ("no-step-in-the-rise",
     lambda step, d_model, warmup: d_model ** (-0.5) * min(step ** (-0.5), warmup ** (-1.5)),
     "until the warmup your rate stays where it is: the step itself is missing in the rising branch.",
     "在 warmup 之前你的學習率都不動：上升的那一段少了步數。"),
    ("root-of-the-step-above",
     lambda step, d_model, warmup: d_model ** (-0.5) * min(step**0.5, step * warmup ** (-1.5)),
     "your rate rises without end: in the falling branch the root of the step stands below the line.",
     "你的學習率會一直上升：下降的那一段，步數的根號應該在分母。"),
    ("exponent-upside-down",
     lambda step, d_model, warmup: d_model ** (-0.5) * min(step ** (-0.5), step * warmup ** (-2 / 3)),
     "the exponent of warmup is −2/3 here. Two and three have changed places.",
     "你寫的 warmup 指數是 −2/3，2 和 3 對調了。"),
    ("warmup-cubed",
     lambda step, d_model, warmup: d_model ** (-0.5) * min(step ** (-0.5), step * warmup ** (-3)),
     "warmup is cubed, but its root is missing: the exponent is three halves.",
     "warmup 有三次方，但少了開根號：指數是二分之三。"),
    ("d_model-in-the-falling-branch-only",
     lambda step, d_model, warmup: min(d_model ** (-0.5) * step ** (-0.5), step * warmup ** (-1.5)),
     "d_model belongs before the minimum, so that it scales both branches. Check the brackets.",
     "d_model 要放在最小值外面，兩段都乘到。檢查一下括號。"),
    ("d_model-in-the-rising-branch-only",
     lambda step, d_model, warmup: min(step ** (-0.5), d_model ** (-0.5) * step * warmup ** (-1.5)),
     "only the rising branch has its factor with d_model. Both need it.",
     "只有上升的那一段乘了和 d_model 有關的因子。兩段都要乘。"),
    ("branches-multiplied",
     lambda step, d_model, warmup: d_model ** (-0.5) * step ** (-0.5) * step * warmup ** (-1.5),
     "you multiply the two branches. At each step only the smaller one counts.",
     "你把兩段乘起來了。每一步只有較小的那一段算數。"),
)  # fmt: skip

EXERCISE = Exercise(
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
    mistakes=MISTAKES,
)
