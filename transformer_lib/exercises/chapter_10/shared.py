"""What several exercises of chapter 10 share."""

from transformer_lib.exercises.data import Text

P_AND_Q_EXCHANGED = Text(
    "p and q have changed places: the logarithm is of p, the model's belief.",
    "p 和 q 對調了：取對數的是 p，也就是模型的看法。",
)
EPSILON_EXCHANGED = Text(
    "ε and 1 − ε have changed places: the right token keeps the larger part.",
    "ε 和 1 − ε 對調了：正確的標記要留下較大的那一份。",
)
D_MODEL_NOT_ROOTED = Text(
    "d_model stands there without its root.",
    "d_model 忘了開根號。",
)
