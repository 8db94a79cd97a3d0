"""Exercise pencil-bytes-moved of chapter 9: bytes moved."""

import torch

from transformer_lib.exercises.data import Exercise, Text, mistakes
from transformer_lib.exercises.inputs import by_hand

MISTAKES = mistakes(
    ("once", 8.0,
     "8 MiB is the matrix itself. How many times does it, or one of its size, travel?",
     "8 MiB 是矩陣本身的大小。這麼大的矩陣，總共搬了幾趟？"),
    ("twice", 16.0,
     "16: either two of the four trips are missing (scores: out and in; weights: out and in), or you count numbers, not bytes.",
     "16：可能是四趟裡漏了兩趟（分數寫出、讀回；權重寫出、讀回），也可能是你算的是幾個數，不是幾個位元組。"),
    ("three-times", 24.0,
     "24 MiB is three trips. Both matrices, scores and weights, go out and come in again.",
     "24 MiB 是三趟。分數和權重這兩個矩陣，都要寫出去再讀回來。"),
    ("float32", 64.0,
     "64 MiB would be right with 4 bytes for each number (float32). Here they have 2.",
     "如果每個數是 4 個位元組（float32），64 MiB 就對了。這裡是 2 個。"),
    ("bits", 256.0,
     "256 counts bits. A byte has eight of them.",
     "256 算的是位元。一個位元組有 8 個位元。"),
    ("bytes", 33554432.0,
     "that is the number of bytes. One MiB is 1024 · 1024 of them.",
     "這是位元組的個數。1 MiB 是 1024 · 1024 個位元組。"),
    ("entries", 4194304.0,
     "that is how many numbers one matrix holds. How many bytes has each, and how many times does a matrix travel?",
     "這是一個矩陣裡有幾個數。每個數有幾個位元組？矩陣總共搬了幾趟？"),
    ("numbers", 16777216.0,
     "that is how many numbers travel. Each has 2 bytes, and the answer is in MiB.",
     "這是總共搬了幾個數。每個數有 2 個位元組，答案要用 MiB。"),
    ("kib", 32768.0, "those are KiB. One MiB is 1024 of them.", "這是幾 KiB。1 MiB 是 1024 KiB。"),
    ("megabytes", 33.554432,
     "those are MB, a million bytes each. One MiB is 1024 · 1024 bytes.",
     "這是 MB，以一百萬個位元組為單位。1 MiB 是 1024 · 1024 個位元組。"),
    ("with-the-rest", 33.0,
     "33 includes q, k, v and the output. The question is about the n × n matrices only.",
     "33 把 q、k、v 和輸出也算進去了。題目只問 n × n 的矩陣。"),
    ("only-the-rest", 1.0,
     "1 MiB is what q, k, v and the output take together. The question is about the n × n matrices.",
     "1 MiB 是 q、k、v 和輸出合起來的大小。題目問的是 n × n 的矩陣。"),
    ("not-squared", 0.015625,
     "you have counted n numbers. The matrix has n rows and n columns.",
     "你只算了 n 個數。這個矩陣有 n 列、n 行。"),
)  # fmt: skip

# One head, n = 2048, d_k = d_v = 64, float16 (2 bytes). Attention step by step writes the n × n
# scores to the large memory and reads them again for the softmax; it writes the n × n weights and
# reads them again for the product with V. How many MiB do these two matrices make it move?
EXERCISE = Exercise(
    name="pencil-bytes-moved",
    chapter=9,
    title=Text("Bytes moved", "搬了多少位元組"),
    difficulty=1,
    minutes=4,
    reference=lambda: 32.0,
    cases=by_hand,
    tolerance=1e-3,
    alternatives=(lambda: 32, lambda: 4 * 2048**2 * 2 / 2**20, lambda: torch.tensor(32)),
    mistakes=MISTAKES,
)
