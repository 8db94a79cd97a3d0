"""Exercises of chapter 3, embedding and position: right answers, and wrong ones people give."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from transformer_lib.exercises.data import Case, Exercise, Mistake, Text
from transformer_lib.exercises.inputs import A_BATCH, ONE_SEQUENCE, by_hand, normal
from transformer_lib.layers import shift_matrix, sinusoidal_encoding

# --- one-hot-embedding --------------------------------------------------------------------


def one_hot_embedding(token_ids, W_E):
    return W_E[token_ids]


def _embedding_cases():
    randn = normal(31)
    return [
        Case(ONE_SEQUENCE, (torch.tensor([4, 0, 6, 4]), randn(7, 5))),
        Case(A_BATCH, (torch.tensor([[1, 5, 2], [0, 3, 3]]), randn(7, 5))),
        Case(
            Text("a batch of batches", "批次裡還有批次"),
            (torch.tensor([[[2, 0], [1, 1]]]), randn(6, 3)),
        ),
        Case(
            Text("a vocabulary as large as d_model", "詞彙表大小剛好等於 d_model"),
            (torch.tensor([3, 1, 0]), randn(4, 4)),
        ),
    ]


def _one_hot(token_ids: Tensor, W_E: Tensor) -> Tensor:
    return F.one_hot(token_ids, W_E.size(0)).to(W_E.dtype)


def _rows_one_by_one(token_ids, W_E):
    rows = torch.stack([W_E[w] for w in token_ids.flatten().tolist()])
    return rows.view(*token_ids.shape, -1)


ONE_HOT_EMBEDDING = Exercise(
    name="one-hot-embedding",
    chapter=3,
    title=Text("Embedding", "嵌入"),
    difficulty=1,
    minutes=6,
    reference=one_hot_embedding,
    cases=_embedding_cases,
    alternatives=(
        lambda token_ids, W_E: F.embedding(token_ids, W_E),
        lambda token_ids, W_E: _one_hot(token_ids, W_E) @ W_E,
        lambda token_ids, W_E: F.linear(_one_hot(token_ids, W_E), W_E.mT),
        lambda token_ids, W_E: torch.einsum("...v,vd->...d", _one_hot(token_ids, W_E), W_E),
        lambda token_ids, W_E: torch.eye(len(W_E), dtype=W_E.dtype)[token_ids] @ W_E,
        _rows_one_by_one,
    ),
    mistakes=(
        Mistake(
            "weights-transposed",
            lambda token_ids, W_E: _one_hot(token_ids, W_E) @ W_E.mT,
            Text(
                "W_E is transposed. With one-hot vectors as rows the product is O W_E; transposed "
                "it only fits when V = d_model, and then gives columns of W_E instead of rows.",
                "你把 W_E 轉置了。one-hot 向量是列的時候，要算的是 O W_E；轉置之後只有 V = d_model "
                "時才對得上，而且得到的是 W_E 的行，不是列。",
            ),
        ),
        Mistake(
            "columns",
            lambda token_ids, W_E: W_E[:, token_ids],
            Text(
                "you take columns of W_E. A token owns a row: its id is an index of the first "
                "dimension.",
                "你取的是 W_E 的行。每個標記對應的是一列：編號要用在第一個維度。",
            ),
        ),
        Mistake(
            "scaled-already",
            lambda token_ids, W_E: W_E[token_ids] * math.sqrt(W_E.size(-1)),
            Text(
                "these are multiplied by √d_model already. Here the plain rows are asked for.",
                "你已經先乘上 √d_model 了。這一題要的是還沒縮放的列。",
            ),
        ),
        Mistake(
            "divided",
            lambda token_ids, W_E: W_E[token_ids] / math.sqrt(W_E.size(-1)),
            Text(
                "these are divided by √d_model. That belongs to scores, in chapter 4; embeddings "
                "are multiplied by it, and here not even that.",
                "你除以 √d_model 了。那是第 4 章算分數時才做的事；嵌入要用乘的，而且這一題連乘都不必。",
            ),
        ),
        Mistake(
            "one-hot-returned",
            _one_hot,
            Text(
                "these are the one-hot vectors. The second step is missing: what does W_E do with them?",
                "這是 one-hot 向量，還少第二步：W_E 要怎麼用在它們上面？",
            ),
        ),
        Mistake(
            "vocabulary-guessed",
            lambda token_ids, W_E: F.one_hot(token_ids).to(W_E.dtype) @ W_E,
            Text(
                "F.one_hot guesses the size of the vocabulary from the largest id it sees, so it "
                "fails where the last token does not occur. Tell it how many rows W_E has.",
                "F.one_hot 會從看到的最大編號去猜詞彙表的大小，最後一個標記沒出現時就會出錯。"
                "請告訴它 W_E 有幾列。",
            ),
        ),
        Mistake(
            "ids-from-one",
            lambda token_ids, W_E: W_E[token_ids - 1],
            Text(
                "you take the row before the right one. Ids count from 0, like rows. (Id 0 got the "
                "last row: Python counts -1 from the end.)",
                "你取到前一列了。編號和列一樣都從 0 開始。"
                "（編號 0 取到了最後一列，因為 Python 的 -1 是倒數第一個。）",
            ),
        ),
        Mistake(
            "positions-instead-of-ids",
            lambda token_ids, W_E: W_E[torch.arange(token_ids.size(-1))].expand(
                *token_ids.shape, -1
            ),
            Text(
                "token i gets row i, whatever its id is. Positions come later; here only the id counts.",
                "不管編號是多少，第 i 個標記都拿到第 i 列。位置是之後的事，這裡只看編號。",
            ),
        ),
        Mistake(
            "id-zero-as-padding",
            lambda token_ids, W_E: F.embedding(token_ids, W_E) * (token_ids != 0)[..., None],
            Text(
                "the token with id 0 gets zeros. There is no padding here: 0 is an id like any other.",
                "編號 0 的標記變成全 0 了。這裡沒有填充，0 和其他編號一樣。",
            ),
        ),
        Mistake(
            "id-zero-without-gradient",
            lambda token_ids, W_E: F.embedding(token_ids, W_E, padding_idx=0),
            Text(
                "the numbers are right, but row 0 gets no gradient: padding_idx=0 holds it fixed. "
                "There is no padding here.",
                "數值是對的，但第 0 列沒有梯度：padding_idx=0 會讓它固定不變。這裡沒有填充。",
            ),
        ),
        Mistake(
            "bag-of-words",
            lambda token_ids, W_E: W_E[token_ids].sum(-2),
            Text(
                "you add up all tokens of a sentence. Each token keeps a row of its own.",
                "你把句子裡的標記全部加起來了。每個標記都要保留自己的一列。",
            ),
        ),
        Mistake(
            "tokens-as-columns",
            lambda token_ids, W_E: W_E[token_ids].mT,
            Text(
                "the result lies on its side: each token should be a row.",
                "結果的列和行對調了：每個標記應該是一列。",
            ),
        ),
        Mistake(
            "batch-flattened",
            lambda token_ids, W_E: W_E[token_ids.flatten()],
            Text(
                "right for one sequence, but a batch is flattened. The result has the dimensions of "
                "token_ids, and d_model after them.",
                "單一序列時是對的，但有批次時就攤平了。結果應該保留 token_ids 的維度，後面再接 d_model。",
            ),
        ),
        Mistake(
            "detached",
            lambda token_ids, W_E: W_E.detach()[token_ids],
            Text(
                "the numbers are right, but no gradient reaches W_E: it could never be learned. "
                "Leave out .detach(), .data and no_grad().",
                "數值是對的，但梯度傳不到 W_E，它永遠學不到東西。請拿掉 .detach()、.data 和 no_grad()。",
            ),
        ),
    ),
)

# --- positional-encoding ------------------------------------------------------------------


def positional_encoding(n, d_model):
    return sinusoidal_encoding(n, d_model)


def _encoding_cases():
    return [
        Case(Text("a few positions", "幾個位置"), (5, 6)),
        Case(Text("as many positions as columns", "位置和行一樣多"), (8, 8)),
        Case(Text("far positions", "很遠的位置"), (600, 4)),
        Case(Text("one position", "只有一個位置"), (1, 10)),
        Case(Text("an odd d_model", "d_model 是奇數"), (4, 7)),
        Case(Text("a single column", "只有一行"), (9, 1)),
    ]


def _frequencies(exponent: Callable = lambda two_i, d, n: two_i / d, base=10000.0, sign=-1):
    """base^(sign · exponent) for each pair, where 2i steps by two; a slip changes a part."""
    return lambda n, d: base ** (sign * exponent(torch.arange(0, d, 2).double(), d, n))


_TRUE_FREQUENCIES = _frequencies()


def _encoding_variant(frequencies=_TRUE_FREQUENCIES, first=torch.sin, second=torch.cos, start=0):
    """An encoding with one part exchanged for a slip; the rest of it is right."""

    def answer(n, d_model):
        positions = torch.arange(start, n + start, dtype=torch.float64)
        angles = positions[:, None] * frequencies(n, d_model)
        return torch.stack([first(angles), second(angles)], dim=-1).flatten(1)[:, :d_model]

    return answer


def _one_by_one(n, d_model):
    def entry(pos, column):
        angle = pos / 10000 ** ((column - column % 2) / d_model)
        return math.cos(angle) if column % 2 else math.sin(angle)

    rows = [[entry(pos, column) for column in range(d_model)] for pos in range(n)]
    return torch.tensor(rows, dtype=torch.float64)


def _cosine_as_a_late_sine(n, d_model):
    column = torch.arange(d_model)
    angles = torch.arange(n).double()[:, None] * 10000 ** (-(column // 2 * 2).double() / d_model)
    return torch.sin(angles + column % 2 * math.pi / 2)


def _filled_in(angles: Tensor, n: int, d_model: int) -> Tensor:
    encoding = torch.zeros(n, d_model, dtype=angles.dtype)
    encoding[:, 0::2] = angles.sin()
    encoding[:, 1::2] = angles[:, : d_model // 2].cos()
    return encoding


def _by_exponential(n, d_model):
    frequencies = torch.exp(torch.arange(0, d_model, 2).double() * (-math.log(10000) / d_model))
    return _filled_in(torch.arange(n).double()[:, None] * frequencies, n, d_model)


def _crashes_when_odd(n, d_model):
    angles = torch.arange(n).double()[:, None] * _TRUE_FREQUENCIES(n, d_model)
    encoding = torch.zeros(n, d_model, dtype=torch.float64)
    encoding[:, 0::2] = angles.sin()
    encoding[:, 1::2] = angles.cos()
    return encoding


def _crashes_in_float32_when_odd(n, d_model):
    frequencies = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000) / d_model))
    angles = torch.arange(n)[:, None] * frequencies
    encoding = torch.zeros(n, d_model)
    encoding[:, 0::2] = angles.sin()
    encoding[:, 1::2] = angles.cos()
    return encoding


def _last_sine_left_out(n, d_model):
    encoding = sinusoidal_encoding(n, d_model)
    encoding[:, d_model // 2 * 2 :] = 0
    return encoding


def _one_column_too_many(n, d_model):
    angles = torch.arange(n).double()[:, None] * _TRUE_FREQUENCIES(n, d_model)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


def _halves(n, d_model):
    angles = torch.arange(n).double()[:, None] * _TRUE_FREQUENCIES(n, d_model)
    return torch.cat([angles.sin(), angles.cos()], dim=-1)[:, :d_model]


def _every_column_its_own(exponent):
    """Frequencies that change from column to column, so that no two form a pair."""

    def answer(n, d_model):
        column = torch.arange(d_model).double()
        angles = torch.arange(n).double()[:, None] / 10000 ** exponent(column, d_model)
        return torch.where(column % 2 == 0, angles.sin(), angles.cos())

    return answer


def _in_float32(n, d_model):
    frequencies = 1 / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    return _filled_in(torch.arange(n)[:, None] * frequencies, n, d_model)


POSITIONAL_ENCODING = Exercise(
    name="positional-encoding",
    chapter=3,
    title=Text("Positional encoding", "位置編碼"),
    difficulty=2,
    minutes=12,
    reference=positional_encoding,
    cases=_encoding_cases,
    alternatives=(
        _encoding_variant(),
        _one_by_one,
        _cosine_as_a_late_sine,
        _by_exponential,
    ),
    mistakes=(
        Mistake(
            "exponent-doubled",
            _encoding_variant(_frequencies(lambda two_i, d, n: 2 * two_i / d)),
            Text(
                "the first hand is right, the others slow down too fast: the exponent is twice as "
                "large as it should be. If your i already steps by two, it is the 2i of the formula.",
                "第一根指針對了，後面的卻慢得太快：指數變成兩倍了。"
                "如果你的 i 已經每次加 2，它就是公式裡的 2i。",
            ),
        ),
        Mistake(
            "exponent-halved",
            _encoding_variant(_frequencies(lambda two_i, d, n: two_i / 2 / d)),
            Text(
                "the first hand is right, the others are too fast: the exponent is half as large as "
                "it should be. The formula has 2i, not i.",
                "第一根指針對了，後面的卻太快：指數只有一半。公式裡是 2i，不是 i。",
            ),
        ),
        Mistake(
            "every-column-its-own",
            _every_column_its_own(lambda column, d: column / d),
            Text(
                "each column has a frequency of its own. A sine and the cosine beside it belong to "
                "the same hand: i is the number of the pair, not of the column.",
                "你的每一行都有自己的頻率。相鄰的正弦和餘弦屬於同一根指針："
                "i 是第幾對，不是第幾行。",
            ),
        ),
        Mistake(
            "column-number-doubled",
            _every_column_its_own(lambda column, d: 2 * column / d),
            Text(
                "the exponent is 2 · column / d_model. i is the number of the pair, so it "
                "runs to d_model/2 only, and two columns share each i.",
                "你的指數是 2 · 行號 / d_model。i 是第幾對，只到 d_model/2 為止，每兩行共用同一個 i。",
            ),
        ),
        Mistake(
            "n-in-place-of-d_model",
            _encoding_variant(_frequencies(lambda two_i, d, n: two_i / n)),
            Text(
                "you divide the exponent by n, the number of positions. A hand's speed must not "
                "depend on the length of the text: divide by the number of columns.",
                "你的指數除以 n，也就是位置的個數。指針的快慢不該跟文章長度有關：要除以行數。",
            ),
        ),
        Mistake(
            "sine-and-cosine-exchanged",
            _encoding_variant(first=torch.cos, second=torch.sin),
            Text(
                "sine and cosine have changed places: the even columns, 0 among them, hold sines. "
                "At position 0 the row starts with 0, 1.",
                "正弦和餘弦對調了：偶數行（包括第 0 行）放的是正弦。位置 0 那一列的開頭是 0、1。",
            ),
        ),
        Mistake(
            "halves",
            _halves,
            Text(
                "all the sines come first, then all the cosines. Here the two of a pair stand "
                "side by side: sine, cosine, sine, cosine. (Some libraries do it your way.)",
                "你先放了全部的正弦，再放全部的餘弦。這裡同一對要相鄰：正弦、餘弦、正弦、餘弦。"
                "（也有函式庫是照你這樣排的。）",
            ),
        ),
        Mistake(
            "sines-only",
            _encoding_variant(second=torch.sin),
            Text(
                "every column is a sine. Without the cosine one cannot see whether a sine is "
                "rising or falling.",
                "每一行都是正弦。少了餘弦，就看不出正弦是在上升還是下降。",
            ),
        ),
        Mistake(
            "cosines-only",
            _encoding_variant(first=torch.cos),
            Text(
                "every column is a cosine. The cosine is the same for an angle and its negative; "
                "the sine tells them apart.",
                "每一行都是餘弦。角度變號，餘弦不變；要靠正弦才分得出來。",
            ),
        ),
        Mistake(
            "in-degrees",
            _encoding_variant(lambda n, d_model: torch.deg2rad(_frequencies()(n, d_model))),
            Text(
                "your angles are taken as degrees. pos · ω_i is in radians, which is what sin and "
                "cos expect.",
                "你把角度當成度了。pos · ω_i 的單位是弧度，sin 和 cos 要的也是弧度。",
            ),
        ),
        Mistake(
            "sign-of-the-exponent",
            _encoding_variant(_frequencies(sign=1)),
            Text(
                "the later hands turn faster and faster instead of more slowly: the sign of the "
                "exponent, or of ln 10000, is wrong.",
                "後面的指針應該越轉越慢，你的卻越轉越快：指數（或 ln 10000）的正負號錯了。",
            ),
        ),
        Mistake(
            "base-1000",
            _encoding_variant(_frequencies(base=1000.0)),
            Text(
                "your base is 1000. Count the zeros in the formula.",
                "你的底數是 1000。數數看公式裡有幾個 0。",
            ),
        ),
        Mistake(
            "base-100000",
            _encoding_variant(_frequencies(base=100000.0)),
            Text(
                "your base is 100000, one zero too many.",
                "你的底數是 100000，多了一個 0。",
            ),
        ),
        Mistake(
            "base-forgotten",
            _encoding_variant(_frequencies(lambda two_i, d, n: 0 * two_i)),
            Text(
                "all hands turn at the same speed, 1. Each has its own frequency: where does i come in?",
                "所有指針都一樣快，每步轉 1。每根指針應該有自己的頻率：i 用在哪裡？",
            ),
        ),
        Mistake(
            "positions-from-one",
            _encoding_variant(start=1),
            Text(
                "your positions start at 1. At position 0 all hands point to twelve: 0, 1, 0, 1.",
                "你的位置從 1 開始了。位置 0 的指針全都指向十二點：0、1、0、1。",
            ),
        ),
        Mistake(
            "pairs-from-one",
            _encoding_variant(_frequencies(lambda two_i, d, n: (two_i + 2) / d)),
            Text(
                "your i starts at 1. The first hand is i = 0, with frequency 1.",
                "你的 i 從 1 開始了。第一根指針是 i = 0，頻率是 1。",
            ),
        ),
        Mistake(
            "one-step-fewer",
            _encoding_variant(_frequencies(lambda two_i, d, n: two_i / max(d - 2, 1))),
            Text(
                "your last hand reaches 1/10000. In the formula the exponent is divided by d_model "
                "itself, so it stops just short of that.",
                "你的最後一根指針轉到 1/10000 了。公式裡的指數是除以 d_model 本身，所以還差一步才到。",
            ),
        ),
        Mistake(
            "crashes-when-odd",
            _crashes_when_odd,
            Text(
                "right where d_model is even. If it is odd, there is one cosine column fewer than "
                "there are sine columns: cut the cosines to fit.",
                "d_model 是偶數時都對。是奇數時，餘弦比正弦少一行：要把多的餘弦去掉。",
            ),
        ),
        Mistake(
            "crashes-in-float32-when-odd",
            _crashes_in_float32_when_odd,
            Text(
                "two things are left. If d_model is odd, there is one cosine column fewer than there "
                "are sine columns. And all is computed in float32, where far positions lose digits.",
                "還剩兩件事。d_model 是奇數時，餘弦比正弦少一行；另外，你全程用 float32 計算，"
                "越遠的位置誤差越大。",
            ),
        ),
        Mistake(
            "last-sine-left-out",
            _last_sine_left_out,
            Text(
                "right where d_model is even. If it is odd, your last column stays 0: only the "
                "last cosine is left out, its sine is still there.",
                "d_model 是偶數時都對。是奇數時，你的最後一行全是 0：該省略的只有最後一個餘弦，正弦還是要有。",
            ),
        ),
        Mistake(
            "one-column-too-many",
            _one_column_too_many,
            Text(
                "right where d_model is even. If it is odd, you return one column too many: the "
                "last cosine is to be left out.",
                "d_model 是偶數時都對。是奇數時，你多傳回了一行：請省略最後一個餘弦。",
            ),
        ),
        Mistake(
            "positions-as-columns",
            lambda n, d_model: sinusoidal_encoding(n, d_model).mT,
            Text(
                "the result lies on its side: each position should be a row.",
                "結果的列和行對調了：每個位置應該是一列。",
            ),
        ),
        Mistake(
            "float32",
            _in_float32,
            Text(
                "the formula is right, but it is computed in float32, and far positions lose digits. "
                "Whole numbers that torch divides or takes exp of become float32; say dtype=torch.float64 or "
                ".double() at the start.",
                "公式對了，但你是用 float32 算的，越遠的位置誤差越大。torch 的整數經過相除或取 exp 就會變成 float32；"
                "請一開始就指定 dtype=torch.float64 或用 .double()。",
            ),
        ),
    ),
)

# --- shift-matrix -------------------------------------------------------------------------


def shift(k, d_model):
    return shift_matrix(k, d_model)


def _shift_cases():
    return [
        Case(Text("a step forward", "往後走"), (3, 6)),
        Case(Text("a step back", "往回走"), (-2, 8)),
        Case(Text("no step", "原地不動"), (0, 4)),
        Case(Text("a single pair", "只有一對"), (1, 2)),
        Case(Text("a long way", "走很遠"), (500, 10)),
    ]


def _angles(k: int, d_model: int) -> Tensor:
    return k / 10000 ** (torch.arange(0, d_model, 2).double() / d_model)


def _blocks(angles: Tensor) -> Tensor:
    cos, sin = angles.cos(), angles.sin()
    rows = [torch.stack([cos, sin], -1), torch.stack([-sin, cos], -1)]
    return torch.block_diag(*torch.stack(rows, -2))


def _by_complex_numbers(k, d_model):
    turn = torch.repeat_interleave(torch.exp(1j * _angles(k, d_model)), 2)
    beside = turn.imag[:-1] * (torch.arange(d_model - 1) % 2 == 0)
    return torch.diag(turn.real) + torch.diag(beside, 1) - torch.diag(beside, -1)


def _by_matrix_exponential(k, d_model):
    generator = torch.kron(
        torch.diag(_angles(k, d_model)), torch.tensor([[0.0, 1.0], [-1.0, 0.0]]).double()
    )
    return torch.matrix_exp(generator)


def _half_blocks(k, d_model):
    cos, sin = (torch.diag(f(_angles(k, d_model))) for f in (torch.cos, torch.sin))
    return torch.cat([torch.cat([cos, sin], 1), torch.cat([-sin, cos], 1)], 0)


def _both_sines_positive(k, d_model):
    M = shift_matrix(k, d_model)
    return M.triu() + M.triu(1).mT


def _encoding_of(k: int, d_model: int) -> Tensor:
    angles = _angles(k, d_model)
    return torch.stack([angles.sin(), angles.cos()], -1).flatten()


SHIFT_MATRIX = Exercise(
    name="shift-matrix",
    chapter=3,
    title=Text("The shift matrix", "位移矩陣"),
    difficulty=3,
    minutes=13,
    reference=shift,
    cases=_shift_cases,
    alternatives=(
        lambda k, d_model: _blocks(_angles(k, d_model)),
        lambda k, d_model: _blocks(_angles(-k, d_model)).mT,
        _by_complex_numbers,
        _by_matrix_exponential,
    ),
    mistakes=(
        Mistake(
            "transposed",
            lambda k, d_model: shift_matrix(k, d_model).mT,
            Text(
                "this is the transpose: it leads k positions back instead of on. Which of the two "
                "sines has the minus sign?",
                "這是轉置的矩陣：會往回走 k 個位置，而不是往後。兩個正弦裡，負號在哪一個？",
            ),
        ),
        Mistake(
            "identity",
            lambda k, d_model: torch.eye(d_model).double(),
            Text(
                "this is the identity, whatever k is: it leaves every position where it was.",
                "不管 k 是多少，你傳回的都是單位矩陣：每個位置都原地不動。",
            ),
        ),
        Mistake(
            "one-angle-for-all",
            lambda k, d_model: _blocks(torch.full((d_model // 2,), float(k)).double()),
            Text(
                "every pair is turned by the same angle k. Each hand has its own frequency: the "
                "angle is k ω_i.",
                "你讓每一對都轉同樣的角度 k。每根指針有自己的頻率：角度是 k ω_i。",
            ),
        ),
        Mistake(
            "half-blocks",
            _half_blocks,
            Text(
                "your pairs are made of a column of the first half and one of the second. Here sine "
                "and cosine of a pair are neighbours, so the blocks lie along the diagonal.",
                "你的每一對是前半的一行配後半的一行。這裡同一對的正弦和餘弦相鄰，"
                "所以區塊要沿著對角線排。",
            ),
        ),
        Mistake(
            "encoding-of-k",
            _encoding_of,
            Text(
                "this is the encoding of position k, a vector. Asked for is the matrix that turns "
                "the encoding of any position into the one k places on.",
                "這是位置 k 的編碼，是向量。題目要的是矩陣，能把任何位置的編碼變成 k 步之後的編碼。",
            ),
        ),
        Mistake(
            "diagonal-of-the-encoding",
            lambda k, d_model: torch.diag(_encoding_of(k, d_model)),
            Text(
                "this has the encoding of position k on its diagonal. A new sine is made of the old "
                "sine and the old cosine: each pair needs a block of four numbers.",
                "你把位置 k 的編碼放在對角線上。新的正弦要用到舊的正弦和舊的餘弦："
                "每一對都需要 2 × 2 的區塊。",
            ),
        ),
        Mistake(
            "cosines-only",
            lambda k, d_model: torch.diag(_angles(k, d_model).cos().repeat_interleave(2)),
            Text(
                "the cosines are there, the sines beside them are missing: a sine and its cosine "
                "must mix.",
                "餘弦有了，但旁邊少了正弦：正弦和餘弦必須互相混合。",
            ),
        ),
        Mistake(
            "both-sines-positive",
            _both_sines_positive,
            Text(
                "both sines have a plus sign. A rotation has one minus: look at the second addition "
                "theorem.",
                "兩個正弦都是正的。旋轉矩陣要有一個負號：請看第二個和角公式。",
            ),
        ),
        Mistake(
            "exponent-doubled",
            lambda k, d_model: _blocks(
                k / 10000 ** (2 * torch.arange(0, d_model, 2).double() / d_model)
            ),
            Text(
                "the first block is right, the others turn too little: the exponent is twice as "
                "large as it should be. If your i already steps by two, it is the 2i of the formula.",
                "第一個區塊對了，後面的轉得太少：指數變成兩倍了。"
                "如果你的 i 已經每次加 2，它就是公式裡的 2i。",
            ),
        ),
        Mistake(
            "exponent-halved",
            lambda k, d_model: _blocks(
                k / 10000 ** (torch.arange(0, d_model, 2).double() / (2 * d_model))
            ),
            Text(
                "the first block is right, the others turn too much: the exponent is half as large "
                "as it should be. The formula has 2i, not i.",
                "第一個區塊對了，後面的轉得太多：指數只有一半。公式裡是 2i，不是 i。",
            ),
        ),
        Mistake(
            "always-one-step",
            lambda k, d_model: shift_matrix(1, d_model),
            Text(
                "this is M_1, whatever k is. The angle of a block grows with k.",
                "不管 k 是多少，你傳回的都是 M_1。區塊的角度要跟著 k 變大。",
            ),
        ),
        Mistake(
            "sign-of-k-lost",
            lambda k, d_model: shift_matrix(abs(k), d_model),
            Text(
                "right for steps forward, but a negative k is treated like a positive one. It "
                "should lead back.",
                "往後走是對的，但負的 k 也當成正的了。負的應該往回走。",
            ),
        ),
        Mistake(
            "k-as-a-factor",
            lambda k, d_model: k * shift_matrix(1, d_model),
            Text(
                "this is k times M_1. Taking k steps means turning k times, not becoming k times longer.",
                "你把 M_1 乘上 k 了。走 k 步是轉 k 次，不是變成 k 倍長。",
            ),
        ),
        Mistake(
            "sign-of-the-exponent",
            lambda k, d_model: _blocks(
                k * 10000 ** (torch.arange(0, d_model, 2).double() / d_model)
            ),
            Text(
                "the later blocks turn faster instead of more slowly: multiply k by ω_i, which "
                "divides by the power of 10000.",
                "後面的區塊應該越轉越慢，你的卻越轉越快：k 要乘的是 ω_i，也就是除以 10000 的次方。",
            ),
        ),
        Mistake(
            "in-degrees",
            lambda k, d_model: _blocks(torch.deg2rad(_angles(k, d_model))),
            Text(
                "your angles are taken as degrees. k ω_i is in radians, which is what sin and cos "
                "expect.",
                "你把角度當成度了。k ω_i 的單位是弧度，sin 和 cos 要的也是弧度。",
            ),
        ),
    ),
)

# --- with a pencil ------------------------------------------------------------------------

PENCIL_WAVELENGTH = Exercise(
    name="pencil-wavelength",
    chapter=3,
    title=Text("A wavelength with a pencil", "用紙筆算波長"),
    difficulty=1,
    minutes=4,
    reference=lambda: 200 * math.pi,
    cases=by_hand,
    tolerance=1e-3,
    alternatives=(
        lambda: 628.3,
        lambda: torch.tensor(628.3185),
        lambda: 2 * math.pi * 10000 ** (4 / 8),
    ),
    mistakes=(
        Mistake(
            "without-the-turn",
            lambda: 100.0,
            Text(
                "after 100 positions the hand has turned by 1 radian. How many radians are a full turn?",
                "100 個位置之後，指針轉了 1 弧度。轉一整圈是幾弧度？",
            ),
        ),
        Mistake(
            "exponent-halved",
            lambda: 20 * math.pi,
            Text(
                "62.8 belongs to the hand before, i = 1. Either you counted from 1, or the exponent "
                "is i / d_model; it is 2i / d_model.",
                "62.8 是前一根指針 i = 1 的波長。可能你從 1 開始數，也可能指數用了 i / d_model；"
                "應該是 2i / d_model。",
            ),
        ),
        Mistake(
            "next-hand",
            lambda: 2000 * math.pi,
            Text(
                "6283 belongs to the hand after, i = 3. The hands are counted from 0.",
                "6283 是後一根指針 i = 3 的波長。指針從 0 開始數。",
            ),
        ),
        Mistake(
            "exponent-doubled",
            lambda: 20000 * math.pi,
            Text(
                "62832 comes from the exponent 1. It is 2i / d_model with i = 2 and d_model = 8.",
                "62832 是指數用 1 算出來的。指數是 2i / d_model，其中 i = 2、d_model = 8。",
            ),
        ),
        Mistake(
            "half-a-turn",
            lambda: 100 * math.pi,
            Text(
                "after 314 positions the hand points down: that is half a turn.",
                "314 個位置之後，指針指向正下方：只轉了半圈。",
            ),
        ),
        Mistake(
            "degrees",
            lambda: 36000.0,
            Text(
                "36000 takes ω for degrees. It is in radians: a full turn is 2π.",
                "36000 是把 ω 當成度了。ω 的單位是弧度：一整圈是 2π。",
            ),
        ),
        Mistake(
            "upside-down",
            lambda: 1 / (200 * math.pi),
            Text(
                "this is the number of turns in one position. Asked for is the number of positions "
                "in one turn.",
                "這是走一個位置轉了幾圈。題目問的是轉一圈要幾個位置。",
            ),
        ),
        Mistake(
            "first-hand",
            lambda: 2 * math.pi,
            Text(
                "6.28 is the wavelength of the first hand, i = 0. Hand 2 turns more slowly.",
                "6.28 是第一根指針 i = 0 的波長。第 2 根轉得比較慢。",
            ),
        ),
    ),
)

PENCIL_ENCODING_PRODUCT = Exercise(
    name="pencil-encoding-product",
    chapter=3,
    title=Text("A dot product with a pencil", "用紙筆算內積"),
    difficulty=2,
    minutes=5,
    reference=lambda: 32.0,
    cases=by_hand,
    tolerance=1e-3,
    alternatives=(lambda: 32, lambda: 64 / 2, lambda: torch.tensor(32.0)),
    mistakes=(
        Mistake(
            "columns",
            lambda: 64.0,
            Text(
                "64 counts 1 for each column. A sine and its cosine give 1 together: sin² + cos².",
                "64 是把每一行都算成 1。正弦和餘弦合起來才是 1：sin² + cos²。",
            ),
        ),
        Mistake(
            "one-pair",
            lambda: 1.0,
            Text(
                "1 is what a single pair of sine and cosine contributes. How many pairs are there?",
                "1 是一對正弦和餘弦的貢獻。總共有幾對？",
            ),
        ),
        Mistake(
            "length",
            lambda: math.sqrt(32),
            Text(
                "√32 is the length of the vector. The dot product with itself is its square.",
                "√32 是向量的長度。向量和自己的內積是長度的平方。",
            ),
        ),
        Mistake(
            "mean",
            lambda: 0.5,
            Text(
                "½ is the mean of the 64 squares. The dot product is their sum.",
                "½ 是 64 個平方的平均。內積是它們的總和。",
            ),
        ),
        Mistake(
            "times-the-position",
            lambda: 7.0 * 32,
            Text(
                "the position does not come in as a factor: it cancels in cos(γ − α).",
                "位置不是乘上去的因數：它在 cos(γ − α) 裡消掉了。",
            ),
        ),
        Mistake(
            "position-squared",
            lambda: 49.0,
            Text(
                "49 = 7 · 7 multiplies the positions. The product is taken of their encodings, "
                "64 sines and cosines.",
                "49 = 7 · 7 是把位置相乘。要相乘的是位置的編碼，也就是 64 個正弦和餘弦。",
            ),
        ),
    ),
)

EXERCISES = (
    PENCIL_WAVELENGTH,
    PENCIL_ENCODING_PRODUCT,
    ONE_HOT_EMBEDDING,
    POSITIONAL_ENCODING,
    SHIFT_MATRIX,
)
