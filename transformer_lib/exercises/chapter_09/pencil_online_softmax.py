"""Exercise pencil-online-softmax of chapter 9: two blocks, merged with a pencil."""

import math

import torch

from transformer_lib.exercises.data import Exercise, Text, mistakes
from transformer_lib.exercises.inputs import by_hand

MISTAKES = mistakes(
    ("not-rescaled", 5.0,
     "5 = (24 + 6) / (4 + 2): you have added the two blocks as they stand. They subtracted different maxima; bring both to one maximum first.",
     "5 = (24 + 6) / (4 + 2)：你直接把兩塊加起來了。它們減掉的最大值不一樣，要先換成同一個。"),
    ("averaged", 4.5,
     "4.5 is the mean of 6 and 3, the outputs of the two blocks. The second block has larger scores and counts for more.",
     "4.5 是兩塊的輸出 6 和 3 的平均。第二塊的分數比較大，應該算得比較重。"),
    ("wrong-way", 17 / 3,
     "rescaled the wrong way round: the block with the lower maximum has to shrink, by exp(ln 2 − ln 8).",
     "縮放的方向反了：最大值比較小的那一塊要縮小，乘上 exp(ln 2 − ln 8)。"),
    ("denominator-not-rescaled", 2.0,
     "2 = 12 / 6: the output is rescaled, but the sum of the weights is not.",
     "2 = 12 / 6：輸出縮放了，但權重的總和沒有。"),
    ("accumulator-not-rescaled", 10.0,
     "10 = 30 / 3: the sum of the weights is rescaled, but the output is not.",
     "10 = 30 / 3：權重的總和縮放了，但輸出沒有。"),
    ("not-divided", 12.0,
     "12 is the output before the division. The sum of the weights is missing.",
     "12 是還沒除的輸出。請再除以權重的總和。"),
    ("outputs-added", 30.0,
     "30 = 24 + 6: the outputs are added as they stand. Bring both to one maximum first, and divide by the sum at the end.",
     "30 = 24 + 6：你直接把兩個輸出加起來了。要先換成同一個最大值，最後再除以總和。"),
    ("exp-of-the-numbers", (24 * math.exp(-6) + 6) / (4 * math.exp(-6) + 2),
     "the factor you use is exp(2 − 8). The maxima are ln 2 and ln 8: exp(ln 2 − ln 8).",
     "你用的係數是 exp(2 − 8)。最大值是 ln 2 和 ln 8：應該是 exp(ln 2 − ln 8)。"),
    ("difference-as-factor", (24 * math.log(1 / 4) + 6) / (4 * math.log(1 / 4) + 2),
     "the factor you use is the difference ln 2 − ln 8 itself. Its exp is the factor.",
     "你直接拿 ln 2 − ln 8 當係數了。取 exp 之後才是係數。"),
    ("added", 9.0,
     "9 = 6 + 3: each block is normalised by itself, and the results are added. Then the weights sum to 2.",
     "9 = 6 + 3：每一塊各自正規化，再相加。這樣權重的總和是 2。"),
    ("ratio-of-logarithms", 4.2,
     "the factor you use is ln 2 / ln 8 = 1/3. It is exp of the difference: exp(ln 2 − ln 8).",
     "你用的係數是 ln 2 / ln 8 = 1/3。應該先相減，再取 exp：exp(ln 2 − ln 8)。"),
    ("second-block-or-the-sum", 3.0,
     "3 is the sum of the weights after merging (or the output of the second block alone). The output is still to be divided by it.",
     "3 是合併後權重的總和（也剛好是第二塊自己的輸出）。輸出還要除以這個總和。"),
    ("first-block-alone", 6.0,
     "6 is the output of the first block alone (24 / 4). The second one counts too.",
     "6 只是第一塊自己的輸出（24 / 4）。第二塊也要算進去。"),
)  # fmt: skip

# A query meets its keys in two blocks. After the first alone: maximum m = ln 2, total ℓ = 4,
# output o = 24 (not divided yet). The second alone: m = ln 8, ℓ = 2, o = 6. What is the output?
EXERCISE = Exercise(
    name="pencil-online-softmax",
    chapter=9,
    title=Text("Two blocks, merged with a pencil", "用紙筆合併兩塊"),
    difficulty=1,
    minutes=4,
    reference=lambda: 4.0,
    cases=by_hand,
    tolerance=1e-3,
    alternatives=(
        lambda: 4,
        lambda: (24 * 2 / 8 + 6) / (4 * 2 / 8 + 2),
        lambda: torch.tensor((24 * 2 + 6 * 8) / (4 * 2 + 2 * 8)),
    ),
    mistakes=MISTAKES,
)
