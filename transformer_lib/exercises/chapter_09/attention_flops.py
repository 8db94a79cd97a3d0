"""Exercise attention-flops of chapter 9: what attention costs."""

import torch

from transformer_lib.exercises.data import Case, Exercise, Text, mistakes


def attention_flops(n_q, n_k, d_k, d_v):
    return 2 * n_q * n_k * (d_k + d_v)


def _flops_cases():
    label = Text(
        "{0[0]} queries, {0[1]} keys, widths {0[2]} and {0[3]}",
        "{0[0]} 個查詢、{0[1]} 個鍵，寬度 {0[2]} 和 {0[3]}",
    )
    sizes = (3, 5, 7, 2), (4, 4, 6, 6), (1, 8, 3, 5), (512, 1024, 64, 128)
    return [Case(Text(label.en.format(s), label.zh.format(s)), s) for s in sizes]


def _flops_by_loops(n_q, n_k, d_k, d_v):
    scores = sum(2 * d_k for _ in range(n_q) for _ in range(n_k))
    return scores + sum(2 * n_k for _ in range(n_q) for _ in range(d_v))


MISTAKES = mistakes(
    ("adds-not-counted", lambda n_q, n_k, d_k, d_v: n_q * n_k * (d_k + d_v),
     "you count a multiply-add once. It is a multiplication and an addition: two operations.",
     "一次乘加你只算一次運算。它是一次乘法加一次加法，要算兩次。"),
    ("scores-only", lambda n_q, n_k, d_k, d_v: 2 * n_q * n_k * d_k,
     "these are the scores, Q Kᵀ. There is a second product: the weights times the values.",
     "這是分數 Q Kᵀ 的部分。還有第二次矩陣乘法：權重乘上值。"),
    ("scores-only-and-adds-not-counted", lambda n_q, n_k, d_k, d_v: n_q * n_k * d_k,
     "these are the multiplications in the scores, Q Kᵀ. Each comes with an addition, and there is a second product: the weights times the values.",
     "這是分數 Q Kᵀ 裡的乘法次數。每次乘法還配一次加法，而且還有第二次矩陣乘法：權重乘上值。"),
    ("adds-of-the-first-product-not-counted",
     lambda n_q, n_k, d_k, d_v: n_q * n_k * d_k + 2 * n_q * n_k * d_v,
     "the weighted sum is right. In the scores, too, each multiplication comes with an addition: two operations.",
     "加權總和的部分對了。算分數也一樣，每次乘法都配一次加法，要算兩次運算。"),
    ("weighted-sum-only", lambda n_q, n_k, d_k, d_v: 2 * n_q * n_k * d_v,
     "this is the weighted sum of the values. The scores cost something too.",
     "這是值的加權總和的部分。算分數也要花運算。"),
    ("queries-for-keys", lambda n_q, n_k, d_k, d_v: 2 * n_q * n_q * (d_k + d_v),
     "you have squared n_q. There is a score for each pair of a query and a key.",
     "你把 n_q 平方了。每一對查詢和鍵都有一個分數。"),
    ("keys-for-queries", lambda n_q, n_k, d_k, d_v: 2 * n_k * n_k * (d_k + d_v),
     "you have squared n_k. There is a score for each pair of a query and a key.",
     "你把 n_k 平方了。每一對查詢和鍵都有一個分數。"),
    ("d_k-twice", lambda n_q, n_k, d_k, d_v: 4 * n_q * n_k * d_k,
     "right where d_v = d_k. How long is what the second product adds up: a key or a value?",
     "d_v = d_k 時是對的。第二次矩陣乘法加總的是鍵還是值？它有多長？"),
    ("d_v-twice", lambda n_q, n_k, d_k, d_v: 4 * n_q * n_k * d_v,
     "right where d_v = d_k. How long are the vectors whose dot product is a score?",
     "d_v = d_k 時是對的。分數是內積，那兩個向量有多長？"),
    ("factor-4", lambda n_q, n_k, d_k, d_v: 4 * n_q * n_k * (d_k + d_v),
     "twice too much. The two products are both in d_k + d_v already; a multiply-add is 2 operations.",
     "多了一倍。d_k + d_v 已經包含兩次矩陣乘法了；一次乘加算 2 次運算。"),
    ("widths-multiplied", lambda n_q, n_k, d_k, d_v: 2 * n_q * n_k * d_k * d_v,
     "d_k and d_v are multiplied. The two products come one after the other, so their costs are added.",
     "你把 d_k 和 d_v 相乘了。兩次矩陣乘法是先後做的，所以成本要相加。"),
    ("costs-multiplied", lambda n_q, n_k, d_k, d_v: 4 * n_q**2 * n_k**2 * d_k * d_v,
     "the costs of the two products are multiplied. They come one after the other: add them.",
     "你把兩次矩陣乘法的成本相乘了。它們是先後做的，要相加。"),
    ("lengths-added", lambda n_q, n_k, d_k, d_v: 2 * (n_q + n_k) * (d_k + d_v),
     "n_q and n_k are added. Every query meets every key: how many pairs are there?",
     "你把 n_q 和 n_k 相加了。每個查詢都會碰到每個鍵：總共有幾對？"),
    ("first-addition-left-out",
     lambda n_q, n_k, d_k, d_v: n_q * n_k * (2 * d_k - 1) + n_q * d_v * (2 * n_k - 1),
     "you have counted exactly: d products need d − 1 additions only. Asked for is the usual count, 2 for each multiply-add.",
     "你算得很精確：d 個乘積只要加 d − 1 次。但題目要的是一般的算法：每次乘加算 2。"),
    ("adds-of-the-second-product-not-counted",
     lambda n_q, n_k, d_k, d_v: 2 * n_q * n_k * d_k + n_q * n_k * d_v,
     "the scores are right. In the second product, too, each multiplication comes with an addition: two operations.",
     "分數的部分對了。第二次矩陣乘法也一樣，每次乘法都配一次加法，要算兩次運算。"),
    ("sizes-of-the-inputs", lambda n_q, n_k, d_k, d_v: 2 * n_q * d_k + 2 * n_k * d_v,
     "this touches each number of Q and of V once. But every query meets every key: how many pairs are there?",
     "這樣 Q 和 V 的每個數只用到一次。但每個查詢都會碰到每個鍵：總共有幾對？"),
    ("bracket-missing", lambda n_q, n_k, d_k, d_v: 2 * n_q * n_k * d_k + d_v,
     "d_v stands alone at the end: a bracket is missing around d_k + d_v.",
     "最後只單獨加了一個 d_v：d_k + d_v 外面少了括號。"),
    ("softmax-counted", lambda n_q, n_k, d_k, d_v: 2 * n_q * n_k * (d_k + d_v) + 3 * n_q * n_k,
     "you have also counted the softmax. Here only the two products count.",
     "你把 softmax 也算進去了。這裡只算兩次矩陣乘法。"),
    ("scaling-counted", lambda n_q, n_k, d_k, d_v: 2 * n_q * n_k * (d_k + d_v) + n_q * n_k,
     "you have also counted an operation for each score, such as the scaling. Here only the two products count.",
     "你還多算了每個分數各一次的運算，例如縮放。這裡只算兩次矩陣乘法。"),
    ("causal-half", lambda n_q, n_k, d_k, d_v: n_q * (n_k + 1) * (d_k + d_v),
     "you have counted a causal triangle only. Without a mask every query meets every key.",
     "你只算了因果遮罩留下的三角形。沒有遮罩時，每個查詢都會碰到每個鍵。"),
    ("linear-attention", lambda n_q, n_k, d_k, d_v: 2 * (n_q + n_k) * d_k * d_v,
     "this is what linear attention costs. Here the scores are made first: the n_q × n_k matrix.",
     "這是線性注意力的成本。這裡要先算分數：n_q × n_k 的矩陣。"),
    ("numbers-stored", lambda n_q, n_k, d_k, d_v: n_q * (d_k + d_v) + n_k * (d_k + d_v) + n_q * n_k,
     "this counts the numbers that are stored. Asked for are the operations.",
     "你算的是存了幾個數。題目問的是運算次數。"),
    ("scores-without-n_k", lambda n_q, n_k, d_k, d_v: 2 * n_q * d_k + 2 * n_q * n_k * d_v,
     "the second product is right. In the first, each query meets one key only.",
     "第二次矩陣乘法對了。但第一次裡，你讓每個查詢只碰到一個鍵。"),
    ("output-without-n_k", lambda n_q, n_k, d_k, d_v: 2 * n_q * n_k * d_k + 2 * n_q * d_v,
     "the scores are right. In the second product, each number of the output is a sum over n_k keys.",
     "分數的部分對了。第二次矩陣乘法裡，輸出的每個數都是 n_k 個鍵的加總。"),
)  # fmt: skip

EXERCISE = Exercise(
    name="attention-flops",
    chapter=9,
    title=Text("What attention costs", "注意力要花多少運算"),
    difficulty=1,
    minutes=5,
    reference=attention_flops,
    cases=_flops_cases,
    tolerance=1e-9,  # of 200 million: every single operation counts
    alternatives=(
        lambda n_q, n_k, d_k, d_v: 2 * n_q * n_k * d_k + 2 * n_q * n_k * d_v,
        lambda n_q, n_k, d_k, d_v: 2.0 * n_q * (d_k + d_v) * n_k,
        lambda *sizes: torch.tensor(attention_flops(*sizes)),
        _flops_by_loops,
    ),
    mistakes=MISTAKES,
)
