"""Exercise shift-matrix of chapter 3: the shift matrix."""

import torch
from torch import Tensor

from transformer_lib.exercises.data import Case, Exercise, Text, mistakes
from transformer_lib.layers import shift_matrix


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


MISTAKES = mistakes(
    ("transposed", lambda k, d_model: shift_matrix(k, d_model).mT,
     "this is the transpose: it leads k positions back instead of on. Which of the two sines has the minus sign?",
     "這是轉置的矩陣：會往回走 k 個位置，而不是往後。兩個正弦裡，負號在哪一個？"),
    ("identity", lambda k, d_model: torch.eye(d_model).double(),
     "this is the identity, whatever k is: it leaves every position where it was.",
     "不管 k 是多少，你傳回的都是單位矩陣：每個位置都原地不動。"),
    ("one-angle-for-all", lambda k, d_model: _blocks(torch.full((d_model // 2,), float(k)).double()),
     "every pair is turned by the same angle k. Each hand has its own frequency: the angle is k ω_i.",
     "你讓每一對都轉同樣的角度 k。每根指針有自己的頻率：角度是 k ω_i。"),
    ("half-blocks", _half_blocks,
     "your pairs are made of a column of the first half and one of the second. Here sine and cosine of a pair are neighbours, so the blocks lie along the diagonal.",
     "你的每一對是前半的一行配後半的一行。這裡同一對的正弦和餘弦相鄰，所以區塊要沿著對角線排。"),
    ("encoding-of-k", _encoding_of,
     "this is the encoding of position k, a vector. Asked for is the matrix that turns the encoding of any position into the one k places on.",
     "這是位置 k 的編碼，是向量。題目要的是矩陣，能把任何位置的編碼變成 k 步之後的編碼。"),
    ("diagonal-of-the-encoding", lambda k, d_model: torch.diag(_encoding_of(k, d_model)),
     "this has the encoding of position k on its diagonal. A new sine is made of the old sine and the old cosine: each pair needs a block of four numbers.",
     "你把位置 k 的編碼放在對角線上。新的正弦要用到舊的正弦和舊的餘弦：每一對都需要 2 × 2 的區塊。"),
    ("cosines-only", lambda k, d_model: torch.diag(_angles(k, d_model).cos().repeat_interleave(2)),
     "the cosines are there, the sines beside them are missing: a sine and its cosine must mix.",
     "餘弦有了，但旁邊少了正弦：正弦和餘弦必須互相混合。"),
    ("both-sines-positive", _both_sines_positive,
     "both sines have a plus sign. A rotation has one minus: look at the second addition theorem.",
     "兩個正弦都是正的。旋轉矩陣要有一個負號：請看第二個和角公式。"),
    ("exponent-doubled",
     lambda k, d_model: _blocks(k / 10000 ** (2 * torch.arange(0, d_model, 2).double() / d_model)),
     "the first block is right, the others turn too little: the exponent is twice as large as it should be. If your i already steps by two, it is the 2i of the formula.",
     "第一個區塊對了，後面的轉得太少：指數變成兩倍了。如果你的 i 已經每次加 2，它就是公式裡的 2i。"),
    ("exponent-halved",
     lambda k, d_model: _blocks(k / 10000 ** (torch.arange(0, d_model, 2).double() / (2 * d_model))),
     "the first block is right, the others turn too much: the exponent is half as large as it should be. The formula has 2i, not i.",
     "第一個區塊對了，後面的轉得太多：指數只有一半。公式裡是 2i，不是 i。"),
    ("always-one-step", lambda k, d_model: shift_matrix(1, d_model),
     "this is M_1, whatever k is. The angle of a block grows with k.",
     "不管 k 是多少，你傳回的都是 M_1。區塊的角度要跟著 k 變大。"),
    ("sign-of-k-lost", lambda k, d_model: shift_matrix(abs(k), d_model),
     "right for steps forward, but a negative k is treated like a positive one. It should lead back.",
     "往後走是對的，但負的 k 也當成正的了。負的應該往回走。"),
    ("k-as-a-factor", lambda k, d_model: k * shift_matrix(1, d_model),
     "this is k times M_1. Taking k steps means turning k times, not becoming k times longer.",
     "你把 M_1 乘上 k 了。走 k 步是轉 k 次，不是變成 k 倍長。"),
    ("sign-of-the-exponent",
     lambda k, d_model: _blocks(k * 10000 ** (torch.arange(0, d_model, 2).double() / d_model)),
     "the later blocks turn faster instead of more slowly: multiply k by ω_i, which divides by the power of 10000.",
     "後面的區塊應該越轉越慢，你的卻越轉越快：k 要乘的是 ω_i，也就是除以 10000 的次方。"),
    ("in-degrees", lambda k, d_model: _blocks(torch.deg2rad(_angles(k, d_model))),
     "your angles are taken as degrees. k ω_i is in radians, which is what sin and cos expect.",
     "你把角度當成度了。k ω_i 的單位是弧度，sin 和 cos 要的也是弧度。"),
)  # fmt: skip

EXERCISE = Exercise(
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
    mistakes=MISTAKES,
)
