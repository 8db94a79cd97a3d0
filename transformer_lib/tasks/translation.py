"""Learning to translate from pairs of texts, character by character.

The recipe: a small Transformer, Adam with a learning rate that warms up and comes down to 0
(:func:`~transformer_lib.training.cosine_learning_rate`), smoothed labels, no dropout: there are
always new texts to see, so none is learned by heart.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Real

import torch
import torch.nn.functional as F
from torch import Tensor

from transformer_lib.checks import check_size
from transformer_lib.decoding import greedy_decode
from transformer_lib.model import Transformer, TransformerConfig
from transformer_lib.tasks.vocabulary import BOS_ID, EOS_ID, PAD_ID, Vocabulary
from transformer_lib.training import Batch, Trainer, cosine_learning_rate

Pair = tuple[str, str]  # a text, and its translation

SMALL = {"d_model": 64, "n_heads": 4, "d_ff": 256, "n_encoder_layers": 2, "n_decoder_layers": 2}
RECIPE = {"pre_norm": True, "dropout": 0.0, "pad_id": PAD_ID}


@dataclass(eq=False)
class Translator:
    """A model that translates texts, the characters it knows, and how long its texts may be.

    Args:
        model: an encoder–decoder with one vocabulary for both languages.
        vocabulary: of both languages.
        longest_source, longest_target: the most characters of a text and of a translation.
    """

    model: Transformer
    vocabulary: Vocabulary
    longest_source: int
    longest_target: int

    @classmethod
    def untrained(cls, pairs: Sequence[Pair], seed: int = 0, **changes: object) -> "Translator":
        """A model with random weights, for texts like these.

        Args:
            pairs: what it is to learn from.
            seed: of the weights. The global generator stays as it was.
            changes: to fields of the config: 2 + 2 layers, d_model = 64, 4 heads, pre-norm.

        Raises:
            TypeError, ValueError: no pairs, an empty text, a config that cannot be.
        """
        check_pairs(pairs)
        sources, targets = zip(*pairs, strict=True)
        vocabulary = Vocabulary([*sources, *targets])
        config = TransformerConfig(len(vocabulary), **(SMALL | RECIPE | changes))
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            model = Transformer(config)
        return cls(model, vocabulary, max(map(len, sources)), max(map(len, targets)))

    def __call__(
        self, texts: Sequence[str], decode: Callable[..., Tensor] = greedy_decode, **options: object
    ) -> list[str]:
        """The translation of each text.

        Args:
            texts: any number from 1.
            decode: greedy_decode, beam_search or sample, with their options.

        Raises:
            TypeError: a single string instead of a list.
            ValueError: an empty text, one that is too long, or a character outside the vocabulary.
        """
        source_ids = self.vocabulary.encode(texts)
        longest = max(texts, key=len)
        if len(longest) > self.longest_source:
            raise ValueError(
                f"{longest!r} has {len(longest)} characters; "
                f"the model has only seen texts of up to {self.longest_source}"
            )
        max_len = self.longest_target + 1  # and the end
        ids = decode(
            self.model, source_ids, bos_id=BOS_ID, eos_id=EOS_ID, max_len=max_len, **options
        )
        return self.vocabulary.decode(ids)

    def trainer(
        self,
        pairs: Sequence[Pair],
        steps: int,
        *,
        batch_size: int = 64,
        peak: Real = 8e-3,
        warmup: int = 100,
        smoothing: Real = 0.1,
        seed: int = 0,
    ) -> Trainer:
        """What trains the model on these pairs; its learning rate is 0 after ``steps`` steps.

        Args:
            pairs: texts and translations, in the characters of the vocabulary.
            steps: how many there will be.
            batch_size: pairs a step, drawn at random.
            peak, warmup: the highest learning rate, and at which step it is reached.
            smoothing, seed: see :class:`~transformer_lib.training.Trainer`.

        Raises:
            TypeError, ValueError: settings out of range, or pairs the vocabulary does not fit.
        """
        rate = partial(cosine_learning_rate, peak=peak, warmup=warmup, steps=steps)
        rate(1)  # what cannot be is refused now, not when training begins
        batches = pair_batches(pairs, self.vocabulary, batch_size)
        return Trainer(self.model, batches, rate, smoothing=smoothing, seed=seed)


def pair_batches(
    pairs: Sequence[Pair], vocabulary: Vocabulary, batch_size: int
) -> Callable[[int, torch.Generator], Batch]:
    """What a Trainer asks for: for each step random pairs, as ids, padded to the longest of them.

    Raises:
        TypeError, ValueError: no pairs, batch_size not a positive int, unknown characters.
    """
    check_pairs(pairs)
    check_size("batch_size", batch_size)
    source_ids, target_ids = map(vocabulary.encode, zip(*pairs, strict=True))
    target_ids = F.pad(target_ids, (1, 0), value=BOS_ID)

    def batch_at(step: int, generator: torch.Generator) -> Batch:
        rows = torch.randint(len(pairs), (batch_size,), generator=generator)
        return _trimmed(source_ids[rows]), _trimmed(target_ids[rows])

    return batch_at


def _trimmed(ids: Tensor) -> Tensor:
    """Without the columns that hold padding only."""
    return ids[:, (ids != PAD_ID).any(0)]


def exact_match(translator: Translator, pairs: Sequence[Pair], **options: object) -> float:
    """The share of texts that are translated right to the last character.

    Args:
        translator: trained or not.
        pairs: texts, and how they are to be translated.
        options: see :class:`Translator`.

    Raises:
        TypeError, ValueError: no pairs, or texts it does not translate.
    """
    return 1 - len(mistakes(translator, pairs, **options)) / len(pairs)


def mistakes(
    translator: Translator, pairs: Sequence[Pair], **options: object
) -> list[tuple[str, str, str]]:
    """The texts that are translated wrongly: (text, what the model says, what is right)."""
    check_pairs(pairs)
    texts, right = zip(*pairs, strict=True)
    answers = translator(texts, **options)
    triples = zip(texts, answers, right, strict=True)
    return [(text, answer, wanted) for text, answer, wanted in triples if answer != wanted]


def check_pairs(pairs: Sequence[Pair]) -> None:
    """At least one, and each a text and its translation, neither empty."""
    if not len(pairs):
        raise ValueError("there must be at least one pair (text, translation), got none")
    for pair in pairs:
        if not isinstance(pair, tuple) or [type(text) for text in pair] != [str, str]:
            raise TypeError(f"a pair is a tuple (text, translation) of strings, got {pair!r}")
        if "" in pair:
            raise ValueError(f"a text to learn from must not be empty, got {pair!r}")
