"""Exercises of chapter 1, recurrence: the right answers, and the wrong ones people give."""

import math

import torch
import torch.nn.functional as F

from transformer_lib.exercises.data import Case, Exercise, Mistake, Text
from transformer_lib.exercises.inputs import by_hand, normal

# --- rnn-step -----------------------------------------------------------------------------


def rnn_step(x_t, h, W_x, W_h, b):
    return torch.tanh(x_t @ W_x + h @ W_h + b)


def _rnn_cases():
    randn = normal(11)
    weights = randn(5, 4), randn(4, 4), randn(4)
    return [
        Case(Text("a single token", "單一標記"), (randn(5), randn(4), *weights)),
        Case(Text("a batch of tokens", "一個批次的標記"), (randn(3, 5), randn(3, 4), *weights)),
        Case(
            Text("two batch dimensions", "兩個批次維度"),
            (randn(2, 3, 5), randn(2, 3, 4), *weights),
        ),
        Case(
            Text("tokens as wide as the state", "標記和狀態一樣寬"),
            (randn(4), randn(4), randn(4, 4), randn(4, 4), randn(4)),
        ),
    ]


def _rnn_by_concatenation(x_t, h, W_x, W_h, b):
    return (torch.cat([x_t, h], -1) @ torch.cat([W_x, W_h]) + b).tanh()


RNN_STEP = Exercise(
    name="rnn-step",
    chapter=1,
    title=Text("A recurrent step", "遞迴的一步"),
    difficulty=1,
    minutes=5,
    reference=rnn_step,
    cases=_rnn_cases,
    alternatives=(
        lambda x_t, h, W_x, W_h, b: torch.tanh(F.linear(x_t, W_x.mT, b) + F.linear(h, W_h.mT)),
        lambda x_t, h, W_x, W_h, b: (
            torch.einsum("...i,ij->...j", x_t, W_x) + torch.einsum("...i,ij->...j", h, W_h) + b
        ).tanh(),
        lambda x_t, h, W_x, W_h, b: 2 * torch.sigmoid(2 * (x_t @ W_x + h @ W_h + b)) - 1,
        _rnn_by_concatenation,
    ),
    mistakes=(
        Mistake(
            "no-tanh",
            lambda x_t, h, W_x, W_h, b: x_t @ W_x + h @ W_h + b,
            Text(
                "the sum is right, but it is not yet the state: something presses it into the "
                "interval from −1 to 1.",
                "總和是對的，但還不是狀態：還要有個函數把它壓到 −1 和 1 之間。",
            ),
        ),
        Mistake(
            "no-bias",
            lambda x_t, h, W_x, W_h, b: torch.tanh(x_t @ W_x + h @ W_h),
            Text(
                "b is missing from your sum.",
                "你的總和少了 b。",
            ),
        ),
        Mistake(
            "no-memory",
            lambda x_t, h, W_x, W_h, b: torch.tanh(x_t @ W_x + b),
            Text(
                "the old state has no influence on your result: the network forgets everything at "
                "each step.",
                "舊的狀態對你的結果沒有影響：這個網路每走一步就全部忘光。",
            ),
        ),
        Mistake(
            "no-input",
            lambda x_t, h, W_x, W_h, b: torch.tanh(h @ W_h + b),
            Text(
                "the token has no influence on your result. Two things enter the state.",
                "標記對你的結果沒有影響。進到狀態裡的有兩樣東西。",
            ),
        ),
        Mistake(
            "state-unweighted",
            lambda x_t, h, W_x, W_h, b: torch.tanh(x_t @ W_x + h + b),
            Text(
                "you add the old state as it is. A matrix decides what becomes of it first.",
                "你直接把舊的狀態加進去了。要先由一個矩陣決定它變成什麼。",
            ),
        ),
        Mistake(
            "W_h-transposed",
            lambda x_t, h, W_x, W_h, b: torch.tanh(x_t @ W_x + h @ W_h.mT + b),
            Text(
                "W_h is transposed. It is square, so nothing crashes. Here vectors are rows; "
                "look at the side on which the matrix stands.",
                "W_h 轉置了。它是方陣，所以程式不會出錯。這裡的向量是列，看看矩陣該在哪一邊。",
            ),
        ),
        Mistake(
            "both-transposed",
            lambda x_t, h, W_x, W_h, b: torch.tanh(x_t @ W_x.mT + h @ W_h.mT + b),
            Text(
                "both matrices are transposed. nn.RNNCell stores them that way; here they fit as "
                "they are.",
                "兩個矩陣都轉置了。nn.RNNCell 是那樣存的；這裡的矩陣不必轉置就對得上。",
            ),
        ),
        Mistake(
            "matrices-exchanged",
            lambda x_t, h, W_x, W_h, b: torch.tanh(x_t @ W_h + h @ W_x + b),
            Text(
                "W_x and W_h have changed places. It fits only where the token is as wide as the "
                "state.",
                "W_x 和 W_h 對調了。只有標記和狀態一樣寬時才對得上。",
            ),
        ),
        Mistake(
            "bias-outside",
            lambda x_t, h, W_x, W_h, b: torch.tanh(x_t @ W_x + h @ W_h) + b,
            Text(
                "b comes too late: your state can leave the interval from −1 to 1.",
                "b 加得太晚了：你的狀態會跑出 −1 到 1 的範圍。",
            ),
        ),
        Mistake(
            "tanh-of-each",
            lambda x_t, h, W_x, W_h, b: torch.tanh(x_t @ W_x) + torch.tanh(h @ W_h + b),
            Text(
                "you take tanh of two parts and add them. Look at where the bracket closes.",
                "你對兩個部分分別取 tanh 再相加。看看公式裡 tanh 的括號括到哪裡。",
            ),
        ),
        Mistake(
            "state-added-afterwards",
            lambda x_t, h, W_x, W_h, b: h + torch.tanh(x_t @ W_x + h @ W_h + b),
            Text(
                "you add the old state to the new one. That is a residual connection, and it comes "
                "in a later chapter.",
                "你把舊的狀態加到新的狀態上了。那是殘差連接，後面的章節才會用到。",
            ),
        ),
        Mistake(
            "sigmoid",
            lambda x_t, h, W_x, W_h, b: torch.sigmoid(x_t @ W_x + h @ W_h + b),
            Text(
                "your state lies between 0 and 1. It should be able to become negative.",
                "你的狀態落在 0 和 1 之間。它應該也可以是負的。",
            ),
        ),
        Mistake(
            "relu",
            lambda x_t, h, W_x, W_h, b: torch.relu(x_t @ W_x + h @ W_h + b),
            Text(
                "negative sums are cut off at 0, and positive ones are not limited. This network "
                "uses another function.",
                "負的總和被截成 0，正的又沒有上限。這個網路用的是另一個函數。",
            ),
        ),
        Mistake(
            "one-token-only",
            lambda x_t, h, W_x, W_h, b: torch.tanh(torch.mv(W_x.mT, x_t) + torch.mv(W_h.mT, h) + b),
            Text(
                "right for a single token, but torch.mv takes exactly one vector. "
                "The operator @ takes any number of batch dimensions.",
                "單一標記時是對的，但 torch.mv 只接受剛好一個向量。用 @ 的話，批次維度再多都可以。",
            ),
        ),
        Mistake(
            "one-batch-only",
            lambda x_t, h, W_x, W_h, b: torch.tanh(torch.mm(x_t, W_x) + torch.mm(h, W_h) + b),
            Text(
                "right for one batch dimension, but torch.mm takes exactly two dimensions. "
                "The operator @ takes any number.",
                "一個批次維度時是對的，但 torch.mm 只接受剛好兩個維度。用 @ 就不限維度。",
            ),
        ),
    ),
)

# --- linear-rnn-jacobian ------------------------------------------------------------------


def linear_rnn_jacobian(W_h, n_steps):
    return torch.linalg.matrix_power(W_h.mT, n_steps)


def _jacobian_cases():
    randn = normal(12)
    shear = torch.tensor([[1.0, 1.0], [0.0, 1.0]], dtype=torch.float64)
    return [
        Case(Text("three steps", "三步"), (randn(4, 4), 3)),
        Case(Text("a shear, two steps", "錯切矩陣，兩步"), (shear, 2)),
        Case(Text("five steps", "五步"), (0.5 * randn(3, 3), 5)),
        Case(Text("one step", "一步"), (randn(5, 5), 1)),
    ]


def _by_loop(W_h, n_steps):
    J = torch.eye(len(W_h), dtype=W_h.dtype)
    for _ in range(n_steps):
        J = W_h.mT @ J
    return J


def _from_first_step(W_h, n_steps):
    J = W_h.mT
    for _ in range(n_steps - 1):
        J = J @ W_h.mT
    return J


def _entry_by_entry(W_h, n_steps):
    return W_h.mT**n_steps


LINEAR_RNN_JACOBIAN = Exercise(
    name="linear-rnn-jacobian",
    chapter=1,
    title=Text("The Jacobian of many steps", "許多步的 Jacobian"),
    difficulty=2,
    minutes=10,
    reference=linear_rnn_jacobian,
    cases=_jacobian_cases,
    alternatives=(
        _by_loop,
        _from_first_step,
        lambda W_h, n_steps: torch.linalg.matrix_power(W_h, n_steps).mT,
        lambda W_h, n_steps: torch.matrix_power(W_h.T, n_steps),
    ),
    mistakes=(
        Mistake(
            "transposed",
            lambda W_h, n_steps: torch.linalg.matrix_power(W_h, n_steps),
            Text(
                "rows and columns have changed places. In J the row belongs to the output j, "
                "while in h @ W_h the input runs down the rows of W_h.",
                "列和行對調了。J 的列對應輸出 j，而在 h @ W_h 裡，W_h 的列對應的是輸入。",
            ),
        ),
        Mistake(
            "one-step-too-many",
            lambda W_h, n_steps: torch.linalg.matrix_power(W_h.mT, n_steps + 1),
            Text(
                "one step too many. After one step there should be one factor.",
                "多走了一步。走一步之後，應該只有一個因子。",
            ),
        ),
        Mistake(
            "one-step-too-few",
            lambda W_h, n_steps: torch.linalg.matrix_power(W_h.mT, max(n_steps - 1, 0)),
            Text(
                "one step too few. From h_0 to h_n there are n steps, so how many factors?",
                "少走了一步。從 h_0 到 h_n 總共有 n 步，所以有幾個因子？",
            ),
        ),
        Mistake(
            "entry-by-entry",
            _entry_by_entry,
            Text(
                "** raises each entry to the power by itself. Here whole matrices are multiplied "
                "with one another.",
                "** 是每個元素各自取次方。這裡要的是整個矩陣互相相乘。",
            ),
        ),
        Mistake(
            "entry-by-entry-transposed",
            lambda W_h, n_steps: W_h**n_steps,
            Text(
                "two slips: ** raises each entry by itself, where whole matrices should be "
                "multiplied; and the row of J should belong to the output.",
                "有兩個地方不對：** 是每個元素各自取次方，但這裡要的是矩陣相乘；而且 J 的列應該對應輸出。",
            ),
        ),
        Mistake(
            "times-n",
            lambda W_h, n_steps: n_steps * W_h.mT,
            Text(
                "you add the steps up. The chain rule does something else with the factors of a "
                "chain.",
                "你把每一步加起來了。連鎖律對一連串的因子不是這樣處理的。",
            ),
        ),
        Mistake(
            "one-step",
            lambda W_h, n_steps: W_h.mT,
            Text(
                "this is the Jacobian of one step: n_steps has no influence on it.",
                "這是一步的 Jacobian，n_steps 完全沒有作用。",
            ),
        ),
        Mistake(
            "one-step-not-transposed",
            lambda W_h, n_steps: W_h,
            Text(
                "this is W_h itself: n_steps has no influence, and the row of J should belong to "
                "the output.",
                "這就是 W_h 本身：n_steps 沒有作用，而且 J 的列應該對應輸出。",
            ),
        ),
        Mistake(
            "inverse",
            lambda W_h, n_steps: torch.linalg.matrix_power(torch.linalg.inv(W_h.mT), n_steps),
            Text(
                "this leads back from h_n to h_0. The question goes the other way.",
                "這是從 h_n 回到 h_0，方向反了。",
            ),
        ),
        Mistake(
            "alternating",
            lambda W_h, n_steps: torch.linalg.multi_dot(
                [torch.eye(len(W_h), dtype=W_h.dtype)] * 2
                + [W_h.mT if step % 2 == 0 else W_h for step in range(n_steps)]
            ),
            Text(
                "every second factor is transposed. Is J transposed anew in your loop? All factors "
                "are the same.",
                "因子每隔一個就被轉置一次。你是不是在迴圈裡又把 J 轉置？每個因子都應該一樣。",
            ),
        ),
    ),
)

# --- with a pencil ------------------------------------------------------------------------


TWO_STEP_DERIVATIVE = Exercise(
    name="two-step-derivative",
    chapter=1,
    title=Text("Two steps with a pencil", "用紙筆算兩步"),
    difficulty=1,
    minutes=5,
    reference=lambda: 1.92,
    cases=by_hand,
    tolerance=1e-3,
    alternatives=(lambda: 1.28 * 1.5, lambda: 48 / 25, lambda: torch.tensor(1.92)),
    mistakes=(
        Mistake(
            "no-slopes",
            lambda: 4.0,
            Text(
                "4 is what the two weights alone give. Where is the slope of tanh?",
                "4 只是兩個權重相乘。tanh 的斜率呢？",
            ),
        ),
        Mistake(
            "no-weights",
            lambda: 0.48,
            Text(
                "0.48 is what the two slopes alone give. Each step also has the factor W_h.",
                "0.48 只是兩個斜率相乘。每一步還有 W_h 這個因子。",
            ),
        ),
        Mistake(
            "one-weight",
            lambda: 0.96,
            Text(
                "0.96 holds W_h only once. How many steps are there?",
                "0.96 只乘了一次 W_h。總共有幾步？",
            ),
        ),
        Mistake(
            "last-step-only",
            lambda: 1.5,
            Text(
                "1.5 is ∂h_2/∂h_1, the last step alone. The question goes back to h_0.",
                "1.5 是 ∂h_2/∂h_1，只有最後一步。題目要一路回到 h_0。",
            ),
        ),
        Mistake(
            "first-step-only",
            lambda: 1.28,
            Text(
                "1.28 is ∂h_1/∂h_0, the first step alone.",
                "1.28 是 ∂h_1/∂h_0，只有第一步。",
            ),
        ),
        Mistake(
            "added",
            lambda: 2.78,
            Text(
                "2.78 = 1.28 + 1.5: both factors are right. What does the chain rule do with them?",
                "2.78 = 1.28 + 1.5：兩個因子都對。連鎖律要怎麼處理它們？",
            ),
        ),
        Mistake(
            "not-squared",
            lambda: 0.8,
            Text(
                "0.8 comes out if the slope is 1 − h. Look again at the slope of tanh.",
                "把斜率當成 1 − h 才會得到 0.8。再看一次 tanh 的斜率。",
            ),
        ),
        Mistake(
            "squares-as-slopes",
            lambda: 0.36,
            Text(
                "0.36 comes out if the slope is h². That is what is missing from 1.",
                "把斜率當成 h² 才會得到 0.36。它是跟 1 相差的部分。",
            ),
        ),
        Mistake(
            "one-slope",
            lambda: 3.0,
            Text(
                "3 = 0.75 · 4: only the second step has its slope.",
                "3 = 0.75 · 4：只有第二步乘了斜率。",
            ),
        ),
        Mistake(
            "other-slope",
            lambda: 2.56,
            Text(
                "2.56 = 0.64 · 4: only the first step has its slope.",
                "2.56 = 0.64 · 4：只有第一步乘了斜率。",
            ),
        ),
    ),
)

SCORE_FOR_HALF = Exercise(
    name="score-for-half",
    chapter=1,
    title=Text("How loud must it be?", "要多大聲才聽得見？"),
    difficulty=2,
    minutes=5,
    reference=lambda: math.log(8),
    cases=by_hand,
    tolerance=5e-3,
    alternatives=(lambda: 2.08, lambda: 2.079, lambda: 3 * math.log(2)),
    mistakes=(
        Mistake(
            "itself-counted",
            lambda: math.log(9),
            Text(
                "ln 9 counts the ninth key among the others. How many have the score 0?",
                "ln 9 把第九個鍵自己也算進去了。分數是 0 的有幾個？",
            ),
        ),
        Mistake(
            "no-logarithm",
            lambda: 8.0,
            Text(
                "8 is what exp(score) must be, not the score.",
                "8 是分數取 exp 之後的值，不是分數本身。",
            ),
        ),
        Mistake(
            "common-logarithm",
            lambda: math.log10(8),
            Text(
                "0.903 is the logarithm to base 10. Here the base is e.",
                "0.903 是以 10 為底的對數。這裡的底是 e。",
            ),
        ),
        Mistake(
            "binary-logarithm",
            lambda: 3.0,
            Text(
                "3 is the logarithm of 8 to base 2. Here the base is e.",
                "3 是 8 以 2 為底的對數。這裡的底是 e。",
            ),
        ),
        Mistake(
            "zero-weights",
            lambda: 0.5,
            Text(
                "0.5 is the weight, not the score.",
                "0.5 是權重，不是分數。",
            ),
        ),
        Mistake(
            "equal-scores",
            lambda: 0.0,
            Text(
                "with score 0 all nine keys share alike, and each gets 1/9.",
                "分數是 0 的話，九個鍵平分，各得 1/9。",
            ),
        ),
        Mistake(
            "sign",
            lambda: -math.log(8),
            Text(
                "the sign is wrong: a key with a negative score gets less than the others.",
                "正負號反了：分數是負的鍵，權重會比其他的鍵小。",
            ),
        ),
        Mistake(
            "one-other",
            lambda: math.log(2),
            Text(
                "ln 2 makes exp(score) twice that of one other key. There are eight of them.",
                "ln 2 只讓取 exp 之後的值是另一個鍵的兩倍。其他的鍵有八個。",
            ),
        ),
        Mistake(
            "half-of-the-others",
            lambda: math.log(4),
            Text(
                "ln 4: the weight ½ is not half of what the others have together. It is half of "
                "the sum of all.",
                "ln 4：權重 ½ 不是其他鍵總和的一半，而是全部總和的一半。",
            ),
        ),
        Mistake(
            "twice-the-others",
            lambda: math.log(16),
            Text(
                "ln 16 gives the weight 2/3: twice what the others have together.",
                "ln 16 的權重是 2/3：是其他鍵總和的兩倍。",
            ),
        ),
    ),
)

EXERCISES = (TWO_STEP_DERIVATIVE, SCORE_FOR_HALF, RNN_STEP, LINEAR_RNN_JACOBIAN)
