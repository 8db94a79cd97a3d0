"""Exercises of chapter 1, in the order of the chapter: each in the file of its name."""

NAMES = (
    "two-step-derivative",
    "score-for-half",
    "rnn-step",
    "linear-rnn-jacobian",
)
