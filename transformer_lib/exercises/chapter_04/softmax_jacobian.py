"""Exercise softmax-jacobian of chapter 4: the softmax's Jacobian."""

import torch

from transformer_lib.exercises.data import Case, Exercise, Text, mistakes
from transformer_lib.exercises.inputs import normal


def softmax_jacobian(p):
    return torch.diag(p) - torch.outer(p, p)


def _jacobian_cases():
    randn = normal(44)
    one_hot = torch.tensor([0.0, 1.0, 0.0], dtype=torch.float64)
    return [
        Case(Text("four probabilities", "四個機率"), (randn(4).softmax(0),)),
        Case(Text("seven probabilities", "七個機率"), (randn(7).softmax(0),)),
        Case(Text("equal probabilities", "機率都相等"), (torch.full((5,), 0.2).double(),)),
        Case(Text("all the weight on one entry", "機率全集中在一項"), (one_hot,)),
    ]


def _jacobian_by_loops(p):
    n = len(p)
    rows = [[p[i] * (float(i == j) - p[j]) for j in range(n)] for i in range(n)]
    return torch.stack([torch.stack(row) for row in rows])


MISTAKES = mistakes(
    ("diagonal-only", lambda p: torch.diag(p * (1 - p)),
     "only the diagonal is filled. A score also changes the other probabilities, for they share one denominator: ∂p_i/∂s_j is not 0 for i ≠ j.",
     "只有對角線有值。改變一個分數，其他機率也會跟著變，因為它們共用同一個分母：i ≠ j 時，∂p_i/∂s_j 不是 0。"),
    ("sign", lambda p: torch.outer(p, p) - torch.diag(p),
     "every sign is the wrong way round: raising a score raises its own probability.",
     "正負號全都反了：一個分數變大，它自己的機率應該跟著變大。"),
    ("outer-only", lambda p: -torch.outer(p, p),
     "the term from differentiating the numerator is missing on the diagonal (i = j).",
     "對角線上（i = j）少了分子微分的那一項。"),
    ("plus", lambda p: torch.diag(p) + torch.outer(p, p),
     "the two terms are added. The quotient rule brings a minus; check that each row sums to 0.",
     "你把兩項相加了。商的微分法則會帶來一個負號；可以檢查每一列的和是不是 0。"),
    ("diagonal-rule-everywhere", lambda p: torch.outer(p, 1 - p),
     "p_i (1 − p_j) stands everywhere. The 1 belongs to i = j alone.",
     "每一格都是 p_i (1 − p_j)。只有 i = j 時才有那個 1。"),
    ("vector-subtracted", lambda p: torch.diag(p) - p,
     "the vector p is subtracted from each row. What belongs there is the matrix p_i p_j (an outer product).",
     "你把向量 p 從每一列減掉。那裡應該是矩陣 p_i p_j（外積）。"),
    ("dot-product", lambda p: torch.diag(p) - p @ p,
     "p @ p is one number, the dot product. What belongs there is the matrix p_i p_j (an outer product).",
     "p @ p 是一個數（內積）。那裡應該是矩陣 p_i p_j（外積）。"),
    ("softmax-again", lambda p: softmax_jacobian(p.softmax(0)),
     "p is a probability vector already, but you put it through a softmax once more.",
     "p 已經是機率向量了，你又對它套了一次 softmax。"),
    ("diagonal-as-a-vector", lambda p: p * (1 - p),
     "this is the diagonal as a vector. The Jacobian is a matrix: each probability depends on each score.",
     "這是把對角線寫成向量。Jacobian 是一個矩陣：每個機率都和每個分數有關。"),
    ("identity", lambda p: torch.eye(len(p), dtype=p.dtype) - torch.outer(p, p),
     "the identity matrix stands where diag(p) belongs: the diagonal is p_i (1 − p_i).",
     "應該放 diag(p) 的地方放了單位矩陣：對角線應該是 p_i (1 − p_i)。"),
    ("entry-by-entry", lambda p: torch.diag(p) - p * p,
     "p * p multiplies entry by entry and gives a vector. Every p_i meets every p_j: that is a matrix.",
     "p * p 是逐項相乘，得到的是向量。每個 p_i 都要和每個 p_j 相乘，那是一個矩陣。"),
    ("column-subtracted", lambda p: torch.diag(p) - p[:, None],
     "p is subtracted from each column, as it stands. A factor is missing: away from the diagonal the entry depends on both p_i and p_j.",
     "你直接把 p 從每一行減掉，少乘了一個因子：對角線以外的每一格都和 p_i、p_j 兩個都有關。"),
    ("plus-off-the-diagonal", lambda p: torch.outer(p, p) + torch.diag(p - 2 * p**2),
     "the diagonal is right, but the other entries have the wrong sign: raising one score lowers all other probabilities.",
     "對角線是對的，但其他格的正負號反了：一個分數變大，其他機率都會變小。"),
    ("factor-missing", lambda p: torch.eye(len(p), dtype=p.dtype) - p,
     "this is 1 (if i = j) minus p_j: the factor p_i in front is missing.",
     "這是 1（i = j 時）減 p_j：前面少乘了 p_i。"),
    ("square-subtracted-twice", lambda p: torch.diag(p * (1 - p)) - torch.outer(p, p),
     "on the diagonal p_i² is subtracted twice: p_i (1 − p_i) holds it already, and the outer product brings it again.",
     "對角線上的 p_i² 被減了兩次：p_i (1 − p_i) 已經減過一次，外積又減了一次。"),
)  # fmt: skip

EXERCISE = Exercise(
    name="softmax-jacobian",
    chapter=4,
    title=Text("The softmax's Jacobian", "softmax 的 Jacobian 矩陣"),
    difficulty=2,
    minutes=12,
    reference=softmax_jacobian,
    cases=_jacobian_cases,
    alternatives=(
        lambda p: p[:, None] * (torch.eye(len(p)) - p),
        lambda p: p.diag() - torch.einsum("i,j->ij", p, p),
        lambda p: torch.diag_embed(p) - p[:, None] * p[None, :],
        lambda p: torch.where(torch.eye(len(p)).bool(), p * (1 - p), -torch.outer(p, p)),
        lambda p: torch.diag(p) @ (torch.eye(len(p), dtype=p.dtype) - p.expand(len(p), -1)),
        _jacobian_by_loops,
    ),
    mistakes=MISTAKES,
)
