"""Exercises of chapter 10, in the order of the chapter: each in the file of its name."""

NAMES = (
    "pencil-schedule-peak",
    "pencil-smoothed-loss",
    "noam-learning-rate",
    "label-smoothing-loss",
    "encoder-layer",
)
