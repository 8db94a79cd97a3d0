"""Exercise flash-attention-backward of chapter 9: the backward pass in tiles."""

import math

import torch

from transformer_lib.exercises.chapter_09.shared import (
    A_BLOCK_LARGER_THAN_ALL,
    A_SHORT_LAST_BLOCK,
    LAST_BLOCK,
    MANY_TOKENS,
)
from transformer_lib.exercises.chapter_09.tiles import flash_attention, scale
from transformer_lib.exercises.data import Case, Exercise, Text, mistakes
from transformer_lib.exercises.inputs import BATCH_AND_HEADS, LARGE_SCORES, SQUARE, normal


def _backward(
    row_term=lambda grad, out: (grad * out).sum(-1, keepdim=True),
    weights=lambda scores, lse, root: (scores - lse).exp(),
    jacobian=lambda p, dp, D: p * (dp - D),
    dq_scale=lambda root: root,
    dk_scale=lambda root: root,
    dq=lambda ds, q, k: ds @ k,
    dk=lambda ds, q, k: ds.mT @ q,
    dv=lambda p, ds, dO, v: p.mT @ dO,
    collect=torch.add,
):
    """The backward pass in blocks of keys, with a place for each slip; ``root`` is 1 / √d_k."""

    @torch.no_grad()
    def answer(q, k, v, output, log_sum_exp, grad_output, block_size):
        root = q.size(-1) ** -0.5
        D, lse = row_term(grad_output, output), log_sum_exp[..., None]
        grad_q, grad_k, grad_v = torch.zeros_like(q), [], []
        for k_j, v_j in zip(k.split(block_size, -2), v.split(block_size, -2), strict=True):
            p = weights(q @ k_j.mT * root, lse, 1 / root)
            ds = jacobian(p, grad_output @ v_j.mT, D)
            grad_q = collect(grad_q, dq(ds, q, k_j) * dq_scale(root))
            grad_k.append(dk(ds, q, k_j) * dk_scale(root))
            grad_v.append(dv(p, ds, grad_output, v_j))
        return grad_q, torch.cat(grad_k, -2), torch.cat(grad_v, -2)

    return answer


flash_attention_backward = _backward()


def _backward_cases():
    randn = normal(93)

    def inputs(*batch, n_q, n_k, size=1.0):
        q, k, v = size * randn(*batch, n_q, 5), randn(*batch, n_k, 5), randn(*batch, n_k, 3)
        scores = q @ k.mT * scale(q, k, v)
        grad_output = randn(*batch, n_q, 3)
        return q, k, v, scores.softmax(-1) @ v, scores.logsumexp(-1), grad_output

    return [
        Case(A_SHORT_LAST_BLOCK, (*inputs(n_q=4, n_k=7), 3)),
        Case(BATCH_AND_HEADS, (*inputs(3, 2, n_q=4, n_k=6), 3)),
        Case(SQUARE, (*inputs(n_q=5, n_k=5), 5)),
        Case(LARGE_SCORES, (*inputs(n_q=3, n_k=5, size=1000.0), 2)),
        Case(A_BLOCK_LARGER_THAN_ALL, (*inputs(n_q=2, n_k=4), 6)),
        Case(MANY_TOKENS, (*inputs(n_q=60, n_k=64), 12), largest=60 * 64 // 2),
    ]


def _backward_in_tiles(q, k, v, output, log_sum_exp, grad_output, block_size):
    """Blocks of queries outside, blocks of keys inside."""
    parts = (t.split(block_size, -2) for t in (q, output, log_sum_exp[..., None], grad_output))
    grad_q, grad_k, grad_v = [], torch.zeros_like(k), torch.zeros_like(v)
    for q_i, output_i, lse_i, grad_i in zip(*parts, strict=True):
        args = q_i, k, v, output_i, lse_i[..., 0], grad_i, block_size
        dq, dk, dv = flash_attention_backward(*args)
        grad_q.append(dq)
        grad_k, grad_v = grad_k + dk, grad_v + dv
    return torch.cat(grad_q, -2), grad_k, grad_v


def _backward_by_einsum(q, k, v, output, log_sum_exp, grad_output, block_size):
    dq, dk, dv = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
    D = torch.einsum("...qe,...qe->...q", grad_output, output)
    q = q / math.sqrt(q.size(-1))
    for first in range(0, k.size(-2), block_size):
        block = ..., slice(first, first + block_size), slice(None)
        p = (torch.einsum("...qd,...kd->...qk", q, k[block]) - log_sum_exp[..., None]).exp()
        dp = torch.einsum("...qe,...ke->...qk", grad_output, v[block])
        ds = p * (dp - D[..., None])
        dq = dq + ds @ k[block] / math.sqrt(q.size(-1))
        dk[block] = ds.mT @ q
        dv[block] = p.mT @ grad_output
    return dq, dk, dv


def _backward_with_its_own_output(q, k, v, output, log_sum_exp, grad_output, block_size):
    """Makes the output anew, in blocks, rather than use the one it is given."""
    output = flash_attention(q, k, v, block_size, False)
    return flash_attention_backward(q, k, v, output, log_sum_exp, grad_output, block_size)


def _backward_of_everything(q, k, v, output, log_sum_exp, grad_output, block_size):
    """Right, but all the weights stand in one matrix."""
    return flash_attention_backward(q, k, v, output, log_sum_exp, grad_output, k.size(-2))


def _backward_of_full_blocks(q, k, v, output, log_sum_exp, grad_output, block_size):
    full = k.size(-2) // block_size * block_size
    args = output, log_sum_exp, grad_output, block_size
    return flash_attention_backward(q, k[..., :full, :], v[..., :full, :], *args)


def _backward_of_the_last_queries(*overwritten):
    """Those named hold what the last block of queries adds, and no more."""

    def answer(q, k, v, output, log_sum_exp, grad_output, block_size):
        given = q, k, v, output, log_sum_exp, grad_output
        right = flash_attention_backward(*given, block_size)
        first = (q.size(-2) - 1) // block_size * block_size
        rows = (t[..., first:, :] for t in (q, output, grad_output))
        q, output, grad_output = rows
        given = q, k, v, output, log_sum_exp[..., first:], grad_output
        last = flash_attention_backward(*given, block_size)
        names = "dq", "dk", "dv"
        return tuple(
            part if name in overwritten else whole
            for name, part, whole in zip(names, last, right, strict=True)
        )

    return answer


MISTAKES = mistakes(
    ("D-missing", _backward(jacobian=lambda p, dp, D: p * dp),
     "the term D is missing from the gradient of the softmax: dS = P ⊙ (dP − D). Raising one score lowers all the other weights of its row.",
     "softmax 的梯度少了 D 那一項：dS = P ⊙ (dP − D)。一個分數變大，同一列的其他權重都會變小。"),
    ("D-over-the-queries", _backward(row_term=lambda grad, out: (grad * out).sum(-2, keepdim=True)),
     "D is summed over the queries. Each query has a number of its own: the sum runs along its row, over the components of the output.",
     "D 是沿著查詢加總的。每個查詢要有自己的一個數：沿著它那一列，把輸出的各個分量加起來。"),
    ("D-is-one-number", _backward(row_term=lambda grad, out: (grad * out).sum((-2, -1), keepdim=True)),
     "D is one number for all queries. Each query has its own: sum over its row only.",
     "D 變成所有查詢共用的一個數。每個查詢要有自己的 D：只加它那一列。"),
    ("D-averaged", _backward(row_term=lambda grad, out: (grad * out).mean(-1, keepdim=True)),
     "D is a mean over the components of the output. It is their sum, as in any dot product.",
     "D 是輸出各分量的平均。應該是總和，和一般的內積一樣。"),
    ("D-without-the-output", _backward(row_term=lambda grad, out: grad.sum(-1, keepdim=True)),
     "D is the sum of grad_output alone. Which two rows does the dot product take?",
     "你的 D 只是把 grad_output 加起來。D 是內積，用的是哪兩列？"),
    ("D-without-grad-output", _backward(row_term=lambda grad, out: (out * out).sum(-1, keepdim=True)),
     "D is the output times itself. Which two rows does the dot product take?",
     "D 是輸出和自己的內積。應該用哪兩列？"),
    ("D-of-each-block", _backward(jacobian=lambda p, dp, D: p * (dp - (p * dp).sum(-1, keepdim=True))),
     "D is worked out from the block alone. A row's D sums over all of its keys; that is why it is made from output and grad_output, before the loop.",
     "D 只用這一塊來算。一列的 D 要加總它所有的鍵；所以才會在迴圈之前，用 output 和 grad_output 先算好。"),
    ("D-as-a-row", _backward(row_term=lambda grad, out: (grad * out).sum(-1)),
     "D has one number for each query, but without a last dimension of 1 it lies along the keys (and fits only where a block has as many keys as there are queries). keepdim=True or [..., None] makes it a column.",
     "D 是一個查詢一個數，但最後少了大小為 1 的維度，就變成沿著鍵排了（只有一塊裡的鍵和查詢一樣多時才對得上）。keepdim=True 或 [..., None] 可以讓它變成一行。"),
    ("log-sum-exp-as-a-row", _backward(weights=lambda s, lse, root: (s - lse[..., 0]).exp()),
     "log_sum_exp has one number for each query, but without a last dimension of 1 it lies along the keys (and fits only where a block has as many keys as there are queries). [..., None] makes it a column.",
     "log_sum_exp 是一個查詢一個數，但最後少了大小為 1 的維度，就變成沿著鍵排了（只有一塊裡的鍵和查詢一樣多時才對得上）。[..., None] 可以讓它變成一行。"),
    ("D-added", _backward(jacobian=lambda p, dp, D: p * (dp + D)),
     "D is added, where it should be subtracted.",
     "D 應該用減的，你用加的了。"),
    ("D-outside-the-product", _backward(jacobian=lambda p, dp, D: p * dp - D),
     "D is subtracted after the multiplication with P. It stands inside of the bracket: P multiplies it too.",
     "你先乘 P 才減 D。D 在括號裡面，也要乘上 P。"),
    ("P-forgotten-in-dS", _backward(jacobian=lambda p, dp, D: dp - D),
     "the factor P is missing in dS: a key with a small weight has a small gradient.",
     "dS 少乘了 P：權重小的鍵，梯度也小。"),
    ("D-minus-dP", _backward(jacobian=lambda p, dp, D: p * (D - dp)),
     "dv is right; dq and dk have the wrong sign: dS = P ⊙ (dP − D), not P ⊙ (D − dP).",
     "dv 對了；dq 和 dk 的正負號反了：dS = P ⊙ (dP − D)，不是 P ⊙ (D − dP)。"),
    ("diagonal-of-the-jacobian", _backward(jacobian=lambda p, dp, D: p * (1 - p) * dp),
     "you use p (1 − p) only, the diagonal of the Jacobian. A score moves the other weights of its row as well.",
     "你只用了 p (1 − p)，也就是 Jacobian 的對角線。一個分數也會影響同一列的其他權重。"),
    ("dq-not-scaled", _backward(dq_scale=lambda root: 1.0),
     "dk and dv are right, but dq lacks the factor 1/√d_k, through which the scores were made.",
     "dk 和 dv 對了，但 dq 少了 1/√d_k：分數當初是乘過它才得到的。"),
    ("dk-not-scaled", _backward(dk_scale=lambda root: 1.0),
     "dq and dv are right, but dk lacks the factor 1/√d_k, through which the scores were made.",
     "dq 和 dv 對了，但 dk 少了 1/√d_k：分數當初是乘過它才得到的。"),
    ("scaled-twice", _backward(dq_scale=lambda root: root**2, dk_scale=lambda root: root**2),
     "dq and dk are divided by √d_k twice. It stands in the scores once, and so once in each gradient.",
     "dq 和 dk 除了兩次 √d_k。分數裡只出現一次，每個梯度裡也只有一次。"),
    ("dq-and-dk-not-scaled", _backward(dq_scale=lambda root: 1.0, dk_scale=lambda root: 1.0),
     "dv is right, but dq and dk lack the factor 1/√d_k, through which the scores were made.",
     "dv 對了，但 dq 和 dk 少了 1/√d_k：分數當初是乘過它才得到的。"),
    ("multiplied-by-the-root",
     _backward(dq_scale=lambda root: 1 / root, dk_scale=lambda root: 1 / root),
     "dq and dk are multiplied by √d_k, where they should be divided.",
     "dq 和 dk 乘上 √d_k 了，應該用除的。"),
    ("scores-not-scaled", _backward(weights=lambda s, lse, root: (s * root - lse).exp()),
     "the scores that P is recomputed from are not divided by √d_k. They have to be those of the forward pass.",
     "重新計算 P 時，分數沒有除以 √d_k。要和正向時的分數一樣。"),
    ("log-sum-exp-not-subtracted", _backward(weights=lambda s, lse, root: s.exp()),
     "P is exp(score), not normalised. What has the forward pass kept for each row?",
     "你的 P 只是分數取 exp，沒有正規化。正向時，每一列留下了哪個數？"),
    ("softmax-of-each-block", _backward(weights=lambda s, lse, root: s.softmax(-1)),
     "P is recomputed as a softmax of the block alone, so each block's weights sum to 1. log_sum_exp knows the sum over all keys.",
     "你重新計算 P 時，只對這一塊做 softmax，所以每一塊的權重加起來都是 1。log_sum_exp 記著所有鍵的總和。"),
    ("exp-forgotten", _backward(weights=lambda s, lse, root: s - lse),
     "P is score − lse, the logarithm of a weight. The exp is missing.",
     "你的 P 是分數減 lse，那是權重的對數。還沒取 exp。"),
    ("log-sum-exp-outside-of-the-exp", _backward(weights=lambda s, lse, root: s.exp() - lse),
     "P is exp(score) − lse. The log-sum-exp is subtracted inside of the exp.",
     "你的 P 是分數取 exp 之後才減 lse。log-sum-exp 要放在 exp 裡面減。"),
    ("divided-by-the-log-sum-exp", _backward(weights=lambda s, lse, root: s.exp() / lse),
     "exp(score) is divided by the log-sum-exp itself. That is a logarithm: it belongs inside of the exp.",
     "你把分數取 exp 之後，直接除以 log-sum-exp。它是對數，應該放進 exp 裡面。"),
    ("exp-before-dividing", _backward(weights=lambda s, lse, root: s.exp() / lse.exp()),
     "right for small scores, but both exps overflow for large ones. Subtract first: exp(score − lse).",
     "分數小的時候正確，但分數一大，兩個 exp 都會溢位。要先相減：exp(score − lse)。"),
    ("powers-of-two", _backward(weights=lambda s, lse, root: (s - lse).exp2()),
     "P is recomputed with powers of 2. The log-sum-exp is a natural logarithm.",
     "重新計算 P 時用了 2 的次方。這裡的 log-sum-exp 是自然對數。"),
    ("log-sum-exp-added", _backward(weights=lambda s, lse, root: (s + lse).exp()),
     "the log-sum-exp is added to the scores. Dividing by the sum is subtracting its logarithm.",
     "你把 log-sum-exp 加到分數上了。除以總和，就是減掉它的對數。"),
    ("dv-with-P-not-transposed", _backward(dv=lambda p, ds, dO, v: p @ dO),
     "P is not transposed in dv. It fits only where there are as many queries as keys in a block; dv has a row for each key, so the sum runs over the queries.",
     "算 dv 時，P 沒有轉置。只有查詢和一塊裡的鍵一樣多時才對得上；dv 是一個鍵一列，所以要沿著查詢加總。"),
    ("dv-with-dS", _backward(dv=lambda p, ds, dO, v: ds.mT @ dO),
     "dv is made with dS. The values are weighted by P itself, without a detour through the scores.",
     "dv 用了 dS。值是直接用 P 加權的，不用繞到分數那邊。"),
    ("dv-is-grad-output-weighted-equally",
     _backward(dv=lambda p, ds, dO, v: torch.ones_like(p).mT @ dO),
     "P is missing in dv: every key gets the same gradient.",
     "dv 少了 P：每個鍵都拿到一樣的梯度。"),
    ("dk-with-dS-not-transposed", _backward(dk=lambda ds, q, k: ds @ q),
     "dS is not transposed in dk. It fits only where there are as many queries as keys in a block; dk has a row for each key.",
     "算 dk 時，dS 沒有轉置。只有查詢和一塊裡的鍵一樣多時才對得上；dk 是一個鍵一列。"),
    ("dk-with-k", _backward(dk=lambda ds, q, k: ds.mT @ k),
     "dk is made with the keys. A score is q · k: its gradient in k is q.",
     "dk 用了鍵。分數是 q · k：對 k 的梯度是 q。"),
    ("dq-with-q", _backward(dq=lambda ds, q, k: ds @ q),
     "dq is made with the queries. A score is q · k: its gradient in q is k.",
     "dq 用了查詢。分數是 q · k：對 q 的梯度是 k。"),
    ("dq-overwritten", _backward(collect=lambda old, new: new),
     "dk and dv are right, but dq holds the last block alone. Every block of keys adds its share to every query.",
     "dk 和 dv 對了，但 dq 只剩最後一塊。每一塊鍵都會對每個查詢貢獻一份，要加起來。"),
    ("dk-and-dv-overwritten", _backward_of_the_last_queries("dk", "dv"),
     "dq is right, but dk and dv hold the share of the last block of queries alone. Every block of queries adds its share to every key.",
     "dq 對了，但 dk 和 dv 只剩最後一塊查詢的那一份。每一塊查詢都會對每個鍵貢獻一份，要加起來。"),
    ("dk-overwritten", _backward_of_the_last_queries("dk"),
     "dq and dv are right, but dk holds the share of the last block of queries alone: add them up.",
     "dq 和 dv 對了，但 dk 只剩最後一塊查詢的那一份：要加起來。"),
    ("dv-overwritten", _backward_of_the_last_queries("dv"),
     "dq and dk are right, but dv holds the share of the last block of queries alone: add them up.",
     "dq 和 dk 對了，但 dv 只剩最後一塊查詢的那一份：要加起來。"),
    ("last-short-block-dropped", _backward_of_full_blocks, LAST_BLOCK),
    ("keys-first", lambda *args: tuple(flash_attention_backward(*args)[i] for i in (1, 0, 2)),
     "dq and dk have changed places: the order is dq, dk, dv.",
     "dq 和 dk 的位置對調了：順序是 dq、dk、dv。"),
    ("values-first", lambda *args: flash_attention_backward(*args)[::-1],
     "return them in the order dq, dk, dv.",
     "傳回的順序應該是 dq、dk、dv。"),
    ("dv-scaled", _backward(dv=lambda p, ds, dO, v: p.mT @ dO / math.sqrt(dO.size(-1))),
     "dv is scaled. The scale belongs to the scores; the values never met it.",
     "dv 多縮放了一次。縮放是分數的事，值沒有經過它。"),
)  # fmt: skip

EXERCISE = Exercise(
    name="flash-attention-backward",
    chapter=9,
    title=Text("The backward pass in tiles", "分塊算反向傳播"),
    difficulty=3,
    minutes=30,
    reference=flash_attention_backward,
    results=("dq", "dk", "dv"),
    cases=_backward_cases,
    alternatives=(
        _backward_in_tiles,
        _backward_by_einsum,
        _backward_with_its_own_output,
    ),
    wasteful=(_backward_of_everything,),
    mistakes=MISTAKES,
)
