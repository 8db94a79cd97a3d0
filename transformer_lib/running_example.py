"""The book's running example: 狗 咬 人 ("dog bites man"), small enough for a pencil.

Three tokens, d_model = 4, and weights that are small integers. Every chapter goes on with
these numbers. √d_k = 2, so the scaled scores are whole, and in each row they are 2, 1, 0.

The coordinates of X have meanings here, so that one can follow what happens: noun, verb,
animal, human. In a trained model nobody has named them.
"""

import numpy as np

TOKENS = ["狗", "咬", "人"]

X = np.array(
    [
        # noun, verb, animal, human
        [1.0, 0.0, 1.0, 0.0],  # 狗 dog
        [0.0, 1.0, 0.0, 0.0],  # 咬 bites
        [1.0, 0.0, 0.0, 1.0],  # 人 man
    ]
)

W_Q = np.array(
    [
        # looks for: verb, noun, human, animal
        [2.0, 0.0, 0.0, 0.0],  # a noun looks for a verb,
        [0.0, 1.0, 0.0, 1.0],  # a verb for a noun, best an animal,
        [0.0, 0.0, 1.0, 0.0],  # an animal for a human,
        [0.0, 0.0, 0.0, 1.0],  # a human for an animal
    ]
)

W_K = np.array(
    [
        # offers: verb, noun, human, animal
        [0.0, 2.0, 0.0, 0.0],  # noun
        [2.0, 0.0, 0.0, 0.0],  # verb
        [0.0, 0.0, 0.0, 2.0],  # animal
        [0.0, 0.0, 2.0, 0.0],  # human
    ]
)

W_V = np.array(
    [
        [1.0, 0.0, 0.0, 1.0],
        [0.0, 3.0, 1.0, 0.0],
        [2.0, 0.0, 0.0, 0.0],
        [-1.0, 0.0, 1.0, 0.0],
    ]
)

W_O = np.array(
    [
        [1.0, 0.0, 0.0, 0.0],
        [0.0, 1.0, 0.0, 1.0],
        [0.0, 0.0, 1.0, 0.0],
        [1.0, 0.0, 0.0, -1.0],
    ]
)

# The feed-forward network of chapter 6, d_ff = 8: a column of W_1 is what a hidden unit looks
# for, an entry of b_1 its threshold, a row of W_2 what it adds where it finds it.

W_1 = np.array(
    [
        [1.0, -1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 1.0, -1.0, 0.0, 0.0, 0.0, 0.0, 1.0],
        [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 0.0],
        [0.0, 0.0, 0.0, -1.0, 1.0, 1.0, 0.0, 0.0],
    ]
)

b_1 = np.array([0.0, 0.0, 0.0, 0.0, -1.0, -2.0, -1.0, -3.0])

W_2 = np.array(
    [
        [1.0, 0.0, 0.0, 0.0],
        [0.0, 1.0, 0.0, 0.0],
        [0.0, 0.0, 1.0, 0.0],
        [0.0, 0.0, 0.0, 2.0],
        [0.0, 0.0, 1.0, 0.0],
        [1.0, 0.0, 0.0, -1.0],
        [0.0, -1.0, 0.0, 2.0],
        [3.0, 3.0, 3.0, 3.0],
    ]
)

b_2 = np.array([0.0, 0.0, 0.0, 1.0])
