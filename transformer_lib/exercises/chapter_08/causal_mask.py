"""Exercise causal-mask of chapter 8: the causal mask."""

import torch
import torch.nn.functional as F

from transformer_lib import masks
from transformer_lib.exercises.data import Case, Exercise, Text, mistakes
from transformer_lib.exercises.inputs import SQUARE


def causal_mask(n_q, n_k):
    return masks.causal_mask(n_q, n_k)


def _causal_cases():
    return [
        Case(SQUARE, (4, 4)),
        Case(Text("fewer queries than keys", "查詢比鍵少"), (3, 7)),
        Case(
            Text("one query, as when writing with a cache", "只有一個查詢，像用快取寫作時"), (1, 5)
        ),
        Case(Text("one key less to ask from", "查詢只比鍵少一個"), (5, 6)),
        Case(Text("a single token", "只有一個標記"), (1, 1)),
    ]


def _ones(n_q, n_k):
    return torch.ones(n_q, n_k, dtype=torch.bool)


def _causal_by_loops(n_q, n_k):
    mask = torch.zeros(n_q, n_k, dtype=torch.bool)
    for i in range(n_q):
        mask[i, : n_k - n_q + i + 1] = True
    return mask


def _additive_causal(n_q, n_k):
    return torch.zeros(n_q, n_k).masked_fill(~causal_mask(n_q, n_k), -torch.inf)


MISTAKES = mistakes(
    ("top-left", lambda n_q, n_k: _ones(n_q, n_k).tril(),
     "right where the mask is square. With fewer queries than keys your triangle sits top left, as if the queries were the first positions; they are the last ones.",
     "方陣時是對的。查詢比鍵少時，你的三角形靠在左上角，好像查詢是最前面的位置；它們其實是最後面的。"),
    ("wrong-triangle", lambda n_q, n_k: _ones(n_q, n_k).triu(n_k - n_q),
     "the wrong triangle: every token sees itself and the future. Rows ask, columns are asked.",
     "三角形反了：每個標記看到的是自己和未來。列是發問的，行是被問的。"),
    ("wrong-triangle-top-left", lambda n_q, n_k: _ones(n_q, n_k).triu(),
     "the wrong triangle: every token sees itself and the future. And with fewer queries than keys it sits top left, while the queries are the last positions.",
     "三角形反了：每個標記看到的是自己和未來。而且查詢比鍵少時靠在左上角，但查詢是最後面的位置。"),
    ("inverted", lambda n_q, n_k: _ones(n_q, n_k).triu(n_k - n_q + 1),
     "inverted: True stands where a token must not look. In this book True = may attend (PyTorch's modules have it the other way round).",
     "真假顛倒了：不能看的地方是 True。本書的慣例是 True＝可以關注（PyTorch 的模組剛好相反）。"),
    ("inverted-top-left", lambda n_q, n_k: _ones(n_q, n_k).triu(1),
     "inverted: True stands where a token must not look, and True should mean “may attend”. Besides, with fewer queries than keys the queries are the last positions.",
     "真假顛倒了：不能看的地方是 True，但 True 應該代表可以關注。另外，查詢比鍵少時，查詢是最後面的位置。"),
    ("diagonal-blocked", lambda n_q, n_k: _ones(n_q, n_k).tril(n_k - n_q - 1),
     "no token may see itself; the first one is left with nothing at all. It may: its own word is known.",
     "每個標記都看不到自己，第一個更是什麼都看不到。自己這個詞是已知的，當然可以看。"),
    ("diagonal-blocked-top-left", lambda n_q, n_k: _ones(n_q, n_k).tril(-1),
     "no token may see itself, though its own word is known. And with fewer queries than keys the queries are the last positions, not the first.",
     "每個標記都看不到自己，但自己這個詞是已知的。另外，查詢比鍵少時，查詢是最後面的位置，不是最前面的。"),
    ("one-too-far", lambda n_q, n_k: _ones(n_q, n_k).tril(n_k - n_q + 1),
     "every token sees one word of the future: the triangle reaches one diagonal too far.",
     "每個標記都多看到一個未來的詞：三角形多了一條對角線。"),
    ("one-too-far-top-left", lambda n_q, n_k: _ones(n_q, n_k).tril(1),
     "in a square every token sees one word of the future; and with fewer queries than keys the triangle sits top left. Look for the diagonal on which the queries stand.",
     "方陣時，每個標記都多看到一個未來的詞；查詢比鍵少時，三角形又靠到左上角。想想查詢站在哪一條對角線上。"),
    ("offset-the-wrong-way", lambda n_q, n_k: _ones(n_q, n_k).tril(n_q - n_k),
     "right where the mask is square; otherwise the triangle has moved the wrong way, and queries are left with nothing. Which is larger, n_q or n_k?",
     "方陣時是對的；其他時候三角形移錯了方向，有的查詢什麼都看不到。n_q 和 n_k 哪一個比較大？"),
    ("square-of-queries", lambda n_q, n_k: _ones(n_q, n_q).tril(),
     "n_k is not used: the mask needs one column for each key.",
     "n_k 沒有用到：每個鍵都要有一行。"),
    ("square-of-keys", lambda n_q, n_k: _ones(n_k, n_k).tril(),
     "n_q is not used: the mask needs one row for each query. Which rows of this square are the queries'?",
     "n_q 沒有用到：每個查詢才有一列。這個方陣裡，哪幾列是查詢的？"),
    ("transposed", lambda n_q, n_k: _ones(n_q, n_k).tril(n_k - n_q).T,
     "rows and columns are exchanged: a row belongs to a query, a column to a key.",
     "列和行對調了：一列對應一個查詢，一行對應一個鍵。"),
    ("everything-allowed", _ones,
     "every query may see every key: the future is not hidden.",
     "每個查詢都看得到每個鍵：未來沒有遮住。"),
    ("only-itself", lambda n_q, n_k: _ones(n_q, n_k).tril(n_k - n_q).triu(n_k - n_q),
     "every token sees itself only. The words before it are known too.",
     "每個標記只看得到自己。前面的詞也是已知的。"),
    ("cache-hidden", lambda n_q, n_k: F.pad(_ones(n_q, n_q).tril(), (n_k - n_q, 0)),
     "the queries see each other rightly, but none of the keys before them. Those lie in the past of every query.",
     "查詢彼此之間是對的，但更前面的鍵全都看不到。那些鍵對每個查詢來說都是過去。"),
    ("additive-with-a-number",
     lambda n_q, n_k: torch.zeros(n_q, n_k).masked_fill(~causal_mask(n_q, n_k), -1000000000.0),
     "these are numbers to be added, 0 and −10⁹. Here a Boolean mask is asked for: True = may attend.",
     "這是要加到分數上的數（0 和 −10⁹）。這一題要的是布林遮罩：True＝可以關注。"),
    ("additive", _additive_causal,
     "these are numbers to be added, 0 and −∞. Here a Boolean mask is asked for: True = may attend.",
     "這是要加到分數上的數（0 和 −∞）。這一題要的是布林遮罩：True＝可以關注。"),
    ("extra-dimensions", lambda n_q, n_k: causal_mask(n_q, n_k)[None, None],
     "right, but with dimensions for batch and heads in front. The shape asked for is (n_q, n_k); it broadcasts by itself.",
     "內容對了，但前面多了批次和頭的維度。要的形狀是 (n_q, n_k)，它自己就會廣播。"),
    ("no-column", lambda n_q, n_k: torch.arange(n_k) <= torch.arange(n_k - n_q, n_k),
     "two rows are compared entry by entry. Turn the queries' positions into a column with [:, None]; then each is compared with every key.",
     "你把兩列逐項相比了。用 [:, None] 把查詢的位置變成一行，才會每個查詢和每個鍵都比。"),
    ("nothing-allowed", lambda n_q, n_k: ~_ones(n_q, n_k),
     "every entry is False: nobody sees anything. True = may attend.",
     "每一格都是 False：誰都看不到。True 代表可以關注。"),
    ("additive-top-left", lambda n_q, n_k: torch.full((n_q, n_k), -torch.inf).triu(1),
     "these are numbers to be added, and the triangle sits top left. Here a Boolean mask is asked for, True = may attend, and the queries are the last positions.",
     "這是要加到分數上的數，而且三角形靠在左上角。這一題要的是布林遮罩（True＝可以關注），查詢是最後面的位置。"),
    ("additive-with-the-smallest-number",
     lambda n_q, n_k: torch.zeros(n_q, n_k).masked_fill(
         ~causal_mask(n_q, n_k), torch.finfo(torch.float32).min
     ),
     "these are numbers to be added, 0 and the smallest float32. Here a Boolean mask is asked for: True = may attend.",
     "這是要加到分數上的數（0 和 float32 最小的數）。這一題要的是布林遮罩：True＝可以關注。"),
    ("mirrored", lambda n_q, n_k: causal_mask(n_q, n_k).flip(1),
     "the triangle is mirrored left to right: the keys stand in order, the oldest in the first column.",
     "三角形左右顛倒了：鍵照順序排，最舊的在第一行。"),
)  # fmt: skip

EXERCISE = Exercise(
    name="causal-mask",
    chapter=8,
    title=Text("The causal mask", "因果遮罩"),
    difficulty=1,
    minutes=8,
    reference=causal_mask,
    cases=_causal_cases,
    alternatives=(
        lambda n_q, n_k: _ones(n_q, n_k).tril(n_k - n_q),
        lambda n_q, n_k: ~_ones(n_q, n_k).triu(n_k - n_q + 1),
        lambda n_q, n_k: _ones(n_k, n_k).tril()[n_k - n_q :],
        lambda n_q, n_k: torch.arange(n_k) <= torch.arange(n_k - n_q, n_k)[:, None],
        _causal_by_loops,
    ),
    mistakes=MISTAKES,
)
