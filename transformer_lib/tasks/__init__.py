"""Tasks small enough to be learned in a minute on a laptop: texts, as tokens, to train on.

- :mod:`~transformer_lib.tasks.vocabulary`: characters as tokens.
- :mod:`~transformer_lib.tasks.dates`: English dates and the same in Traditional Chinese.
- :mod:`~transformer_lib.tasks.numerals`: English number words and Chinese numerals.
- :mod:`~transformer_lib.tasks.translation`: learning from pairs of texts, and being tested.
"""
