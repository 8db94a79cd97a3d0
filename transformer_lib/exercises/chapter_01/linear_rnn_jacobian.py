"""Exercise linear-rnn-jacobian of chapter 1: the Jacobian of many steps."""

import torch

from transformer_lib.exercises.data import Case, Exercise, Text, mistakes
from transformer_lib.exercises.inputs import normal


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


MISTAKES = mistakes(
    ("transposed", lambda W_h, n_steps: torch.linalg.matrix_power(W_h, n_steps),
     "rows and columns have changed places. In J the row belongs to the output j, while in h @ W_h the input runs down the rows of W_h.",
     "列和行對調了。J 的列對應輸出 j，而在 h @ W_h 裡，W_h 的列對應的是輸入。"),
    ("one-step-too-many", lambda W_h, n_steps: torch.linalg.matrix_power(W_h.mT, n_steps + 1),
     "one step too many. After one step there should be one factor.",
     "多走了一步。走一步之後，應該只有一個因子。"),
    ("one-step-too-few", lambda W_h, n_steps: torch.linalg.matrix_power(W_h.mT, max(n_steps - 1, 0)),
     "one step too few. From h_0 to h_n there are n steps, so how many factors?",
     "少走了一步。從 h_0 到 h_n 總共有 n 步，所以有幾個因子？"),
    ("entry-by-entry", _entry_by_entry,
     "** raises each entry to the power by itself. Here whole matrices are multiplied with one another.",
     "** 是每個元素各自取次方。這裡要的是整個矩陣互相相乘。"),
    ("entry-by-entry-transposed", lambda W_h, n_steps: W_h**n_steps,
     "two slips: ** raises each entry by itself, where whole matrices should be multiplied; and the row of J should belong to the output.",
     "有兩個地方不對：** 是每個元素各自取次方，但這裡要的是矩陣相乘；而且 J 的列應該對應輸出。"),
    ("times-n", lambda W_h, n_steps: n_steps * W_h.mT,
     "you add the steps up. The chain rule does something else with the factors of a chain.",
     "你把每一步加起來了。連鎖律對一連串的因子不是這樣處理的。"),
    ("one-step", lambda W_h, n_steps: W_h.mT,
     "this is the Jacobian of one step: n_steps has no influence on it.",
     "這是一步的 Jacobian，n_steps 完全沒有作用。"),
    ("one-step-not-transposed", lambda W_h, n_steps: W_h,
     "this is W_h itself: n_steps has no influence, and the row of J should belong to the output.",
     "這就是 W_h 本身：n_steps 沒有作用，而且 J 的列應該對應輸出。"),
    ("inverse", lambda W_h, n_steps: torch.linalg.matrix_power(torch.linalg.inv(W_h.mT), n_steps),
     "this leads back from h_n to h_0. The question goes the other way.",
     "這是從 h_n 回到 h_0，方向反了。"),
    ("alternating",
     lambda W_h, n_steps: torch.linalg.multi_dot(
         [torch.eye(len(W_h), dtype=W_h.dtype)] * 2
         + [W_h.mT if step % 2 == 0 else W_h for step in range(n_steps)]
     ),
     "every second factor is transposed. Is J transposed anew in your loop? All factors are the same.",
     "因子每隔一個就被轉置一次。你是不是在迴圈裡又把 J 轉置？每個因子都應該一樣。"),
)  # fmt: skip

EXERCISE = Exercise(
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
    mistakes=MISTAKES,
)
