"""Characters as tokens: texts to ids and back."""

from collections.abc import Iterable, Sequence

import torch
from jaxtyping import Int
from torch import Tensor

PAD_ID, BOS_ID, EOS_ID = 0, 1, 2  # padding, beginning and end of a sequence
N_SPECIAL = 3


class Vocabulary:
    """A token for each character of some texts, after the three for padding, beginning and end.

    Args:
        texts: whatever is to be written with these characters. Their order does not matter.

    Attributes:
        characters: the characters, sorted; the first has id 3.

    Raises:
        TypeError: texts that are not strings.
        ValueError: no character at all.
    """

    def __init__(self, texts: Iterable[str]):
        self.characters = "".join(sorted(set("".join(texts))))
        if not self.characters:
            raise ValueError("a vocabulary needs texts with at least one character, got none")
        self._ids = {character: i for i, character in enumerate(self.characters, start=N_SPECIAL)}

    def __len__(self) -> int:
        return N_SPECIAL + len(self.characters)

    def encode(self, texts: Sequence[str]) -> Int[Tensor, "batch n"]:
        """Ids of the characters of each text and then EOS_ID, padded to the longest.

        Raises:
            TypeError: a single string instead of a list of them.
            ValueError: no texts, an empty one, or a character outside the vocabulary.
        """
        if isinstance(texts, str):
            raise TypeError(f"texts must be a list of strings, got one string; write [{texts!r}]")
        rows = [torch.tensor(self._encode(text)) for text in texts]
        if not rows:
            raise ValueError("texts must hold at least one text, got none")
        return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD_ID)

    def _encode(self, text: str) -> list[int]:
        if not text:
            raise ValueError("the text is empty")
        unknown = "".join(dict.fromkeys(c for c in text if c not in self._ids))
        if unknown:
            raise ValueError(
                f"{text!r} has characters outside the vocabulary: {unknown!r}; "
                f"those it has are {self.characters!r}"
            )
        return [*(self._ids[character] for character in text), EOS_ID]

    def decode(self, ids: Int[Tensor, "batch n"]) -> list[str]:
        """The text of each row, up to its EOS_ID; other special tokens are left out.

        Raises:
            ValueError: an id outside the vocabulary.
        """
        return [self._decode(row) for row in ids.tolist()]

    def _decode(self, row: list[int]) -> str:
        row = row[: row.index(EOS_ID)] if EOS_ID in row else row
        if not all(0 <= i < len(self) for i in row):
            raise ValueError(f"ids must be in 0 … {len(self) - 1}, got {min(row)} … {max(row)}")
        return "".join(self.characters[i - N_SPECIAL] for i in row if i >= N_SPECIAL)
