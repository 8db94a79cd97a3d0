"""Exercise causal-linear-attention of chapter 9: linear attention as a recurrence."""

import torch
import torch.nn.functional as F

from transformer_lib.exercises.chapter_09.linear import (
    causal_where_it_fits,
    feature,
    identity,
    linear_attention,
    shared_mistakes,
)
from transformer_lib.exercises.chapter_09.shared import MANY_TOKENS
from transformer_lib.exercises.chapter_09.tiles import softmax_of_all
from transformer_lib.exercises.data import Case, Exercise, Text, mistakes
from transformer_lib.exercises.inputs import BATCH_AND_HEADS, ONE_SEQUENCE, normal


def _keys_so_far(q, k):
    """φ(qᵢ) · Σ φ(kⱼ) over j ≤ i, a column."""
    return (q * k.cumsum(-2)).sum(-1, keepdim=True)


def _causal_linear(
    phi_q=feature,
    phi_k=feature,
    phi_v=identity,
    normaliser=_keys_so_far,
    states=lambda kv: kv.cumsum(-3),
    shift=0,
):
    """Causal linear attention with a place for each slip; with ``shift`` 1, i sees j ≤ i − 1."""

    def answer(q, k, v):
        q, k, v = phi_q(q), phi_k(k), phi_v(v)
        k, v = (F.pad(x, (0, 0, shift, -shift)) for x in (k, v))
        state = states(k.unsqueeze(-1) * v.unsqueeze(-2))  # (…, n, d_k, d_v)
        output = (q.unsqueeze(-2) @ state).squeeze(-2)
        return output / normaliser(q, k) if normaliser else output

    return answer


causal_linear_attention = _causal_linear()


def _causal_linear_cases():
    randn = normal(95)

    def qkv(*batch, n):
        return randn(*batch, n, 5), randn(*batch, n, 5), randn(*batch, n, 3)

    return [
        Case(ONE_SEQUENCE, qkv(n=6)),
        Case(BATCH_AND_HEADS, qkv(3, 2, n=4)),
        Case(Text("a single token", "只有一個標記"), qkv(n=1)),
        Case(MANY_TOKENS, qkv(n=40), largest=40 * 40 // 2),
    ]


def _as_a_recurrence(q, k, v):
    q, k, outputs = feature(q), feature(k), []
    state = q.new_zeros(*q.shape[:-2], q.size(-1), v.size(-1))
    total = q.new_zeros(*q.shape[:-2], q.size(-1))
    for q_i, k_i, v_i in zip(q.unbind(-2), k.unbind(-2), v.unbind(-2), strict=True):
        state = state + k_i[..., None] * v_i[..., None, :]
        total = total + k_i
        above = torch.einsum("...d,...de->...e", q_i, state)
        outputs.append(above / (q_i * total).sum(-1, keepdim=True))
    return torch.stack(outputs, dim=-2)


def _in_chunks(q, k, v, size=8):
    """Within a chunk by a small causal matrix, from chunk to chunk by the state."""
    v = torch.cat([v, torch.ones_like(v[..., :1])], dim=-1)
    state, rows = 0.0, []
    for q_c, k_c, v_c in zip(
        *(x.split(size, -2) for x in (feature(q), feature(k), v)), strict=True
    ):
        rows.append((q_c @ k_c.mT).tril() @ v_c + (q_c @ state if rows else 0.0))
        state = state + k_c.mT @ v_c
    both = torch.cat(rows, dim=-2)
    return both[..., :-1] / both[..., -1:]


def _causal_by_einsum(q, k, v):
    q, k = feature(q), feature(k)
    state = torch.einsum("...nd,...ne->...nde", k, v).cumsum(-3)
    total = torch.einsum("...nd,...nd->...n", q, k.cumsum(-2))
    return torch.einsum("...nd,...nde->...ne", q, state) / total[..., None]


def _cumulative_outputs(q, k, v):
    q, k = feature(q), feature(k)
    return ((q * k).sum(-1, keepdim=True) * v).cumsum(-2) / _keys_so_far(q, k)


MISTAKES = mistakes(
    *shared_mistakes(_causal_linear),
    ("not-causal", linear_attention,
     "every position sees all keys, later ones included. Position i may use j ≤ i only: what has been added up by then?",
     "每個位置都看到所有的鍵，連後面的也算進去。位置 i 只能用 j ≤ i：到那時累積了什麼？"),
    ("sees-only-the-past", _causal_linear(shift=1),
     "position i does not see itself: its key is added to the state only after the state was read (so the first divides 0 by 0).",
     "位置 i 沒有看到自己：你先讀了狀態，才把它的鍵加進去，所以第一個位置變成 0 除以 0。"),
    ("normaliser-one-behind",
     _causal_linear(normaliser=lambda q, k: (q * (k.cumsum(-2) - k)).sum(-1, keepdim=True)),
     "the state is right, but the normaliser is one step behind: it is read before the key of the position is added (so the first divides by 0).",
     "狀態對了，但分母慢了一步：你先讀了分母，才把這個位置的鍵加進去（所以第一個位置會除以 0）。"),
    ("normaliser-starts-at-1",
     _causal_linear(normaliser=lambda q, k: (q * (1 + k.cumsum(-2))).sum(-1, keepdim=True)),
     "the sum of φ(k) starts at 1, as if a key had been read already. Nothing has been read: it starts at 0.",
     "分母裡的總和從 1 開始，就好像已經讀過一個鍵。什麼都還沒讀，應該從 0 開始。"),
    ("keys-as-queries", lambda q, k, v: causal_linear_attention(k, k, v) + 0 * q.sum(),
     "the state is asked with φ(k). The queries ask: φ(q).",
     "你拿鍵去問狀態了，也就是 φ(k)。提問的應該是查詢，用 φ(q)。"),
    ("sees-one-ahead", _causal_linear(shift=-1),
     "position i sees the key after it already: the state is one step ahead.",
     "位置 i 已經看到下一個鍵了：狀態多走了一步。"),
    ("from-the-end", lambda q, k, v: causal_linear_attention(*(x.flip(-2) for x in (q, k, v))).flip(-2),
     "the sums run from the end: position i sees j ≥ i, the future.",
     "累加的方向反了：位置 i 看到的是 j ≥ i，也就是未來。"),
    ("normaliser-of-all-keys",
     _causal_linear(normaliser=lambda q, k: (q * k.sum(-2, keepdim=True)).sum(-1, keepdim=True)),
     "the output is causal, but the normaliser sums over all keys, later ones included: the weights no longer sum to 1.",
     "輸出是因果的，但分母把所有的鍵都加起來了，連後面的也算進去，權重加起來就不是 1 了。"),
    ("state-of-all-keys", _causal_linear(states=lambda kv: kv.sum(-3, keepdim=True)),
     "the normaliser is causal, but the state sums over all keys, later ones included.",
     "分母是因果的，但狀態把所有的鍵都加起來了，連後面的也算進去。"),
    ("normaliser-not-added-up", _causal_linear(normaliser=lambda q, k: (q * k).sum(-1, keepdim=True)),
     "the normaliser holds the key of the position alone. It adds up all keys until then, like the state.",
     "分母只用了這個位置的鍵。它要像狀態一樣，把到目前為止的鍵都加起來。"),
    ("state-not-added-up", _causal_linear(states=identity),
     "the state is overwritten at each position instead of added to; only the normaliser adds up.",
     "狀態在每個位置都被蓋掉，沒有累加；只有分母在累加。"),
    ("nothing-added-up", lambda q, k, v: v + 0 * (q.sum() + k.sum()),
     "each position sees itself alone, so that its output is its own value. The state has to be carried on.",
     "每個位置只看到自己，輸出就是自己的值。狀態要一路累積下去。"),
    ("normalised-by-the-count",
     _causal_linear(normaliser=lambda q, k: torch.arange(1, k.size(-2) + 1, dtype=k.dtype)[:, None]),
     "divided by the number of keys seen. Divide by the sum of their weights.",
     "你除的是看到幾個鍵。應該除以它們權重的總和。"),
    ("normaliser-without-q", _causal_linear(normaliser=lambda q, k: k.cumsum(-2).sum(-1, keepdim=True)),
     "φ(q) is missing in the normaliser.",
     "分母少了 φ(q)。"),
    ("summed-over-dimension-0",
     _causal_linear(
         states=lambda kv: kv.cumsum(0),
         normaliser=lambda q, k: (q * k.cumsum(0)).sum(-1, keepdim=True),
     ),
     "right for one sequence, but with a batch the running sums go over dimension 0, from one sequence to the next. Count the dimension from the end.",
     "單一序列時是對的，但有批次時，你沿著第 0 維累加，從一個序列加到下一個去了。請從後面數是第幾個維度。"),
    ("summed-over-the-features", _causal_linear(states=lambda kv: kv.cumsum(-2)),
     "the running sum goes over the features. It goes over the positions.",
     "你沿著特徵累加了。應該沿著位置累加。"),
    ("product-of-sums",
     _causal_linear(
         phi_v=lambda v: v.cumsum(-2),
         phi_k=lambda k: feature(k).cumsum(-2),
         states=identity,
         normaliser=lambda q, k: (q * k).sum(-1, keepdim=True),
     ),
     "keys and values are added up by themselves and then multiplied, so that each key meets the values of all others. Multiply first, then add up.",
     "你先把鍵和值各自累加，再相乘，這樣每個鍵都會碰到別人的值。要先相乘，再累加。"),
    ("averaged-state",
     _causal_linear(
         states=lambda kv: (
             kv.cumsum(-3) / torch.arange(1, kv.size(-3) + 1, dtype=kv.dtype)[:, None, None]
         )
     ),
     "the state is a mean, the normaliser a sum. Both have to be sums (or both means).",
     "狀態用平均，分母卻用總和。兩個都要用總和（或都用平均）。"),
    ("softmax-attention", lambda q, k, v: softmax_of_all(q, k, True) @ v,
     "this is causal attention with a softmax. Linear attention puts φ(q) · φ(k) in place of exp.",
     "這是有 softmax 的因果注意力。線性注意力裡，取代 exp 的是 φ(q) · φ(k)。"),
    ("causal-sum-of-outputs", _cumulative_outputs,
     "the running sum is taken over finished outputs. It belongs to the state, before the queries come in.",
     "你累加的是算好的輸出。要累加的是狀態，在查詢用到之前。"),
)  # fmt: skip

EXERCISE = Exercise(
    name="causal-linear-attention",
    chapter=9,
    title=Text("Linear attention as a recurrence", "寫成遞迴的線性注意力"),
    difficulty=3,
    minutes=15,
    reference=causal_linear_attention,
    cases=_causal_linear_cases,
    alternatives=(_as_a_recurrence, _in_chunks, _causal_by_einsum),
    wasteful=(causal_where_it_fits,),
    mistakes=MISTAKES,
)
