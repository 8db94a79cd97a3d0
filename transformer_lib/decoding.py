"""Writing with a decoder: from scores for the next token to whole sequences.

:func:`greedy_decode`, :func:`beam_search` and :func:`sample` share their main arguments:

- ``model``: a Transformer with a decoder. It writes in evaluation mode and without gradients; its
  modes are as before afterwards.
- ``source_ids`` (batch, n_src): what the encoder reads; None for a decoder-only model.
- ``bos_id``: the token every sequence begins with; None where ``prompt_ids`` bring their own.
- ``eos_id``: the token that ends a sequence; None if there is none, all are max_len long then.
- ``max_len``: how many tokens to write at most, the end token included.
- ``prompt_ids`` (batch, n): tokens that follow ``bos_id`` and are to be continued. All have the
  same length, since padding would stand between a prompt and its continuation.
- ``use_cache``: keep keys and values instead of computing them anew for each token: the same
  result in less time.

They return ids (batch, n ≤ max_len) of what was written: without ``bos_id`` and the prompt, with
``eos_id``, and after it ``config.pad_id``. Padding itself is never chosen: its probability goes to
the other tokens. Among equal scores the lowest id wins. They raise TypeError or ValueError for
ids, lengths or options that cannot work, with what was expected and what came.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Real

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from transformer_lib.checks import check_float_tensor, check_ids, check_number, check_size
from transformer_lib.model import DecoderState, Transformer, TransformerConfig


def greedy_decode(
    model: Transformer,
    source_ids: Int[Tensor, "batch n_src"] | None = None,
    *,
    bos_id: int | None,
    eos_id: int | None,
    max_len: int,
    prompt_ids: Int[Tensor, "batch n"] | None = None,
    use_cache: bool = True,
) -> Int[Tensor, "batch n_new"]:
    """Write the most likely token, again and again.

    Args, returns, raises: see the module.
    """
    with _evaluation_mode(model):
        draft = _begin(model, source_ids, bos_id, eos_id, max_len, prompt_ids, use_cache)
        return _write(draft, eos_id, max_len, lambda logits: logits.argmax(-1))


def sample(
    model: Transformer,
    source_ids: Int[Tensor, "batch n_src"] | None = None,
    *,
    bos_id: int | None,
    eos_id: int | None,
    max_len: int,
    temperature: Real = 1.0,
    top_k: int | None = None,
    top_p: Real | None = None,
    prompt_ids: Int[Tensor, "batch n"] | None = None,
    generator: torch.Generator | None = None,
    use_cache: bool = True,
) -> Int[Tensor, "batch n_new"]:
    """Draw each token from the model's distribution, or from the likelier part of it.

    Args:
        temperature: softmax(logits / temperature): below 1 bolder, above 1 more varied.
        top_k: draw from the k likeliest tokens only (after the temperature).
        top_p: draw from the fewest tokens that hold this probability together (after top_k).
        generator: where the randomness comes from; torch's global one if None.

    Other arguments, returns, raises: see the module.

    Source: top-k, Fan et al. (2018), §5.4; top-p, Holtzman et al. (2020), §3.1.
    """
    _check_temperature(temperature)
    if top_k is not None:
        check_size("top_k", top_k)
    if top_p is not None:
        _check_top_p("top_p", top_p)

    def draw(logits: Tensor) -> Tensor:
        logits = _narrow(logits, temperature, top_k, top_p)
        return torch.multinomial(logits.softmax(-1), 1, generator=generator)[:, 0]

    with _evaluation_mode(model):
        draft = _begin(model, source_ids, bos_id, eos_id, max_len, prompt_ids, use_cache)
        return _write(draft, eos_id, max_len, draw)


def beam_search(
    model: Transformer,
    source_ids: Int[Tensor, "batch n_src"] | None = None,
    *,
    bos_id: int | None,
    eos_id: int | None,
    max_len: int,
    beam_width: int = 4,
    length_penalty: Real = 0.6,
    prompt_ids: Int[Tensor, "batch n"] | None = None,
    use_cache: bool = True,
) -> Int[Tensor, "batch n_new"]:
    """Follow the likeliest few beginnings side by side; return the best sequence that ended.

    A sequence Y scores log P(Y) / ((5 + |Y|) / 6)^α, |Y| counting the tokens written with the end
    token. A sentence is finished when ``beam_width`` of its sequences have ended, or when none
    still being written can beat the best of those. If none has ended after max_len tokens, the
    likeliest is returned as it is.

    Args:
        beam_width: how many beginnings to follow; 1 is greedy decoding.
        length_penalty: α ≥ 0; 0 leaves the bare probability, which favours short sequences.

    Other arguments, returns, raises: see the module.

    Source: Wu et al. (2016), eq. 14; width 4 and α = 0.6 from Vaswani et al. (2017), §6.1.
    """
    check_size("beam_width", beam_width)
    _check_length_penalty(length_penalty)
    with _evaluation_mode(model):
        draft = _begin(model, source_ids, bos_id, eos_id, max_len, prompt_ids, use_cache)
        return _search(draft, eos_id, max_len, beam_width, length_penalty)


# --- what narrows a distribution ------------------------------------------------------------


def _narrow(logits: Tensor, temperature: Real, top_k: int | None, top_p: Real | None) -> Tensor:
    # In the logits' precision 1e-50 would be 0, and 1e50 infinite.
    limits = torch.finfo(logits.dtype)
    temperature = min(max(float(temperature), limits.tiny), limits.max)
    # Less the largest, so that a small temperature cannot divide to +∞.
    logits = (logits - logits.amax(-1, keepdim=True)) / temperature
    logits = logits if top_k is None else top_k_filter(logits, top_k)
    return logits if top_p is None else top_p_filter(logits, top_p)


def top_k_filter(logits: Float[Tensor, "*batch vocab"], k: int) -> Float[Tensor, "*batch vocab"]:
    """Keep the k largest logits of each row, and −∞ for the others.

    Args:
        logits: (..., vocab).
        k: 1 or more; all are kept if there are no more than k. Of equals the lowest ids are kept.

    Raises:
        TypeError, ValueError: logits that are not floating point, k not an int or < 1.

    Source: Fan et al. (2018), §5.4.
    """
    check_float_tensor("logits", logits, least_dims=1)
    check_size("k", k)
    return logits.masked_fill(~_is_among_largest(logits, min(k, logits.size(-1))), -torch.inf)


def top_p_filter(logits: Float[Tensor, "*batch vocab"], p: Real) -> Float[Tensor, "*batch vocab"]:
    """Keep the fewest largest logits whose probabilities sum to p or more, and −∞ for the others.

    Args:
        logits: (..., vocab).
        p: in (0, 1]; 1 keeps all. Of equals the lowest ids are kept.

    Raises:
        TypeError, ValueError: logits that are not floating point, p not a number or not in (0, 1].

    Source: Holtzman et al. (2020), §3.1, "nucleus sampling".
    """
    check_float_tensor("logits", logits, least_dims=1)
    _check_top_p("p", p)
    if p == 1:  # rounded, the sum may reach 1 before the last token
        return logits
    ordered, order = logits.sort(dim=-1, descending=True, stable=True)
    probabilities = ordered.softmax(-1)
    before = probabilities.cumsum(-1) - probabilities  # the sum of all that are likelier
    enough = (before >= float(p)) & (before > 0)  # the likeliest stays, though p may round to 0
    dropped = torch.zeros_like(before, dtype=torch.bool).scatter(-1, order, enough)
    return logits.masked_fill(dropped, -torch.inf)


def _is_among_largest(scores: Float[Tensor, "*batch n"], k: int) -> Bool[Tensor, "*batch n"]:
    """``True`` at exactly k places of each row; torch.topk leaves open which of equals it takes."""
    kth = scores.topk(k).values[..., -1:]
    among = scores >= kth
    if among.count_nonzero() > k * kth.numel():  # equals at the edge: take the first of them
        equal = scores == kth
        room = k - (scores > kth).sum(-1, keepdim=True)
        among = among & (~equal | (equal.cumsum(-1) <= room))
    return among


def _largest(
    scores: Float[Tensor, "*batch n"], k: int
) -> tuple[Float[Tensor, "*batch {k}"], Int[Tensor, "*batch {k}"]]:
    """The k largest of each row and where they stand, largest first, of equals the first first."""
    index = _is_among_largest(scores, k).nonzero()[:, -1].view(*scores.shape[:-1], k)
    values, order = scores.gather(-1, index).sort(dim=-1, descending=True, stable=True)
    return values, index.gather(-1, order)


# --- one token after another ----------------------------------------------------------------


@dataclass
class _Draft:
    """A batch of sequences that a model is writing.

    Args:
        ids: (rows, n), all tokens so far; the first ``start`` of them were given.
        state: what the decoder remembers, or only the source's memory without a cache.
    """

    model: Transformer
    ids: Tensor
    start: int
    state: DecoderState
    use_cache: bool

    @property
    def pad_id(self) -> int:
        return self.model.config.pad_id

    @property
    def written(self) -> Tensor:
        return self.ids[:, self.start :]

    def next_logits(self) -> Float[Tensor, "rows vocab"]:
        """Scores of what may come next, in at least float32; −∞ for padding."""
        if self.use_cache:
            logits = self.model.step(self.ids[:, len(self.state) :], self.state, last_only=True)
        else:
            source = self.state.memory, self.state.memory_mask
            logits = self.model.decode(self.ids, *source, last_only=True)
        logits = logits[:, -1].to(torch.promote_types(logits.dtype, torch.float32), copy=True)
        if not (logits < torch.inf).all():
            raise ValueError("the model's logits are NaN or infinite: check its weights for NaN")
        logits[:, self.pad_id] = -torch.inf
        return logits

    def append(self, token: Int[Tensor, "rows"]) -> None:
        self.ids = torch.cat([self.ids, token[:, None]], dim=1)

    def select(self, rows: Int[Tensor, "new_rows"]) -> None:
        """Keep these sequences, in this order."""
        self.ids = self.ids[rows]
        self.state.select(rows)


def _write(
    draft: _Draft, eos_id: int | None, max_len: int, choose: Callable[[Tensor], Tensor]
) -> Tensor:
    """Append tokens until every sequence has ended; ``choose`` turns logits into a token a row."""
    ended = torch.zeros(draft.ids.size(0), dtype=torch.bool, device=draft.ids.device)
    for _ in range(max_len):
        token = choose(draft.next_logits()).masked_fill(ended, draft.pad_id)
        draft.append(token)
        ended = ended | _ends(token, eos_id)
        if ended.all():
            break
    return draft.written


def _ends(token: Tensor, eos_id: int | None) -> Tensor:
    return torch.zeros_like(token, dtype=torch.bool) if eos_id is None else token == eos_id


# --- several sequences a sentence -----------------------------------------------------------


def _search(
    draft: _Draft, eos_id: int | None, max_len: int, beam_width: int, alpha: Real
) -> Tensor:
    """The loop of :func:`beam_search`. Sentence s has the draft's rows from s·width on."""
    batch = draft.ids.size(0)
    log_probs = torch.zeros(batch, 1, device=draft.ids.device)  # of each sequence being written
    best = _Best.none(batch, max_len, draft)
    for n in range(1, max_len + 1):
        values, rows, token = _extend(draft, log_probs, beam_width)
        ended = _ends(token, eos_id)
        # Only what is among the beam_width best extensions ends; so width 1 is greedy decoding.
        found = values.masked_fill(~ended, -torch.inf)[:, :beam_width]
        best.update(found / _length_factor(n, alpha), draft.written, rows, eos_id)
        log_probs = _go_on(draft, values, rows, token, ended, beam_width)
        # Probabilities only fall, so this is the most a sequence can still get.
        bound = log_probs[:, 0] / _length_factor(max_len, alpha)
        finished = (best.count >= beam_width) | (best.score >= bound)
        log_probs = log_probs.masked_fill(finished[:, None], -torch.inf)
        if finished.all():
            break
    return best.result(draft, log_probs.size(1))


def _extend(
    draft: _Draft, log_probs: Float[Tensor, "batch width"], beam_width: int
) -> tuple[Tensor, Tensor, Tensor]:
    """The likeliest extensions of each sentence by a token: their log P, rows extended, tokens.

    Each (batch, 2·beam_width), or all there are. A row ends in only one way, so at least
    beam_width of them go on.
    """
    batch, width = log_probs.shape
    next_log_probs = draft.next_logits().log_softmax(-1).unflatten(0, (batch, width))
    totals = (log_probs[:, :, None] + next_log_probs).flatten(1)  # (batch, width · vocab)
    vocab = next_log_probs.size(-1)
    values, index = _largest(totals, min(2 * beam_width, width * vocab))
    first_rows = width * torch.arange(batch, device=index.device)[:, None]
    return values, first_rows + index // vocab, index % vocab


def _go_on(
    draft: _Draft, values: Tensor, rows: Tensor, token: Tensor, ended: Tensor, beam_width: int
) -> Float[Tensor, "batch new_width"]:
    """Put the best extensions that did not end into the draft; return their log P."""
    width = draft.ids.size(0) // max(values.size(0), 1)  # there may be no sentence at all
    # False sorts before True, and stably: those that go on, likeliest first.
    alive = ended.sort(dim=-1, stable=True).indices[:, : min(beam_width, values.size(1) - width)]
    draft.select(rows.gather(1, alive).flatten())
    draft.append(token.gather(1, alive).flatten())
    return values.gather(1, alive)


def _length_factor(n: int, alpha: Real) -> float:
    """((5 + n) / 6)^α, Wu et al. (2016), eq. 14."""
    return ((5 + n) / 6) ** alpha


@dataclass
class _Best:
    """The best ended sequence of each sentence, its score, and how many have ended."""

    ids: Tensor  # (batch, max_len), padded
    score: Tensor  # (batch,), −∞ while there is none
    count: Tensor  # (batch,)

    @classmethod
    def none(cls, batch: int, max_len: int, draft: _Draft) -> "_Best":
        count = torch.zeros(batch, dtype=torch.long, device=draft.ids.device)
        ids = draft.ids.new_full((batch, max_len), draft.pad_id)
        return cls(ids, torch.full_like(count, -torch.inf, dtype=torch.float64), count)

    def update(self, scores: Tensor, written: Tensor, rows: Tensor, eos_id: int | None) -> None:
        """Count the sequences that end now (the others score −∞); keep one where it is better."""
        self.count = self.count + (scores > -torch.inf).sum(-1)
        score, rank = scores.max(-1)
        better = score > self.score
        if better.any():
            row = rows.gather(1, rank[:, None])[better, 0]
            ids = F.pad(written[row], (0, 1), value=eos_id)
            self.ids[better, : ids.size(1)] = ids
        self.score = torch.where(better, score.double(), self.score)

    def result(self, draft: _Draft, width: int) -> Tensor:
        """The best of each sentence, or its likeliest unfinished sequence where none has ended."""
        none = self.score == -torch.inf
        if none.any():
            self.ids[none] = draft.written[::width][none]
        longest = int((self.ids != draft.pad_id).any(0).sum())
        return self.ids[:, :longest]


# --- before it starts -----------------------------------------------------------------------


@contextmanager
def _evaluation_mode(model: Transformer) -> Iterator[None]:
    """No dropout, no gradients; afterwards each module trains that did before."""
    # Not isinstance: what torch.compile makes of a Transformer is none, but writes as well.
    if not isinstance(getattr(model, "config", None), TransformerConfig):
        raise TypeError(f"model must be a Transformer, got {type(model).__name__}")
    training = [module for module in model.modules() if module.training]
    model.eval()
    try:
        # Not inference_mode: its tensors could not be trained on later.
        with torch.no_grad():
            yield
    finally:
        for module in training:
            module.training = True


def _begin(
    model: Transformer,
    source_ids: Tensor | None,
    bos_id: int | None,
    eos_id: int | None,
    max_len: int,
    prompt_ids: Tensor | None,
    use_cache: bool,
) -> _Draft:
    """The given tokens, checked, and the source encoded."""
    _check_kind(model, source_ids)
    for name, ids in (("source_ids", source_ids), ("prompt_ids", prompt_ids)):
        _check_given_ids(model, name, ids)
    for name, token_id in (("bos_id", bos_id), ("eos_id", eos_id)):
        _check_special_id(model, name, token_id)
    given = _given_tokens(model, source_ids, bos_id, prompt_ids)
    _check_lengths(model, given.size(1), max_len)
    return _Draft(model, given, given.size(1), model.start(source_ids), use_cache)


def _given_tokens(
    model: Transformer, source_ids: Tensor | None, bos_id: int | None, prompt_ids: Tensor | None
) -> Int[Tensor, "batch n"]:
    """bos_id, then the prompt."""
    batch = next((ids.size(0) for ids in (source_ids, prompt_ids) if ids is not None), 1)
    if prompt_ids is None:
        prompt_ids = torch.empty(batch, 0, dtype=torch.long, device=_device(model))
    if prompt_ids.size(0) != batch:
        raise ValueError(
            "source_ids and prompt_ids must have the same batch, "
            f"got {batch} and {prompt_ids.size(0)}"
        )
    if (prompt_ids == model.config.pad_id).any():
        raise ValueError(
            f"prompt_ids hold padding ({model.config.pad_id}): give prompts of one length only, "
            "and those of other lengths in a batch of their own"
        )
    given = prompt_ids.long() if bos_id is None else F.pad(prompt_ids.long(), (1, 0), value=bos_id)
    if given.size(1) == 0:
        raise ValueError("there is nothing to begin with: give bos_id or prompt_ids")
    return given


def _device(model: Transformer) -> torch.device:
    return model.target_embedding.weight.device


def _check_kind(model: Transformer, source_ids: Tensor | None) -> None:
    if model.decoder is None:
        raise ValueError("this model cannot write: it has no decoder (n_decoder_layers=0)")
    if model.encoder is None and source_ids is not None:
        raise ValueError("this model has no encoder: give prompt_ids, not source_ids")
    if model.encoder is not None and source_ids is None:
        raise ValueError("this model has an encoder: give source_ids for it to read")


def _check_given_ids(model: Transformer, name: str, ids: Tensor | None) -> None:
    if ids is None:
        return
    check_ids(name, ids)
    if ids.device != _device(model):
        raise ValueError(
            f"{name} must be on the model's device, {_device(model)}, got {ids.device}"
        )


def _check_special_id(model: Transformer, name: str, token_id: int | None) -> None:
    if token_id is None:
        return
    check_size(name, token_id, least=0)
    vocab = model.target_embedding.weight.size(0)
    if token_id >= vocab:
        raise ValueError(f"{name} must be in the vocabulary, 0 … {vocab - 1}, got {token_id}")
    if token_id == model.config.pad_id:
        raise ValueError(f"{name} must not be the pad_id ({token_id}), which is never attended to")


def _check_lengths(model: Transformer, n_given: int, max_len: int) -> None:
    """The model has a position for every token but the last, which it need not read."""
    check_size("max_len", max_len)
    needed, learned = n_given + max_len - 1, model.config.max_len
    if model.config.positions == "learned" and needed > learned:
        raise ValueError(
            f"{n_given} given tokens and max_len ({max_len}) need {needed} positions, the model "
            f"has learned {learned}: max_len must be {learned + 1 - n_given} or less"
        )


def _check_temperature(temperature: Real) -> None:
    check_number("temperature", temperature)
    if not 0 < temperature < math.inf:
        raise ValueError(
            f"temperature must be more than 0 and finite, got {temperature}; "
            "for the most likely tokens use greedy_decode"
        )


def _check_length_penalty(alpha: Real) -> None:
    check_number("length_penalty", alpha)
    if not 0 <= alpha < math.inf:
        raise ValueError(f"length_penalty must be 0 or more and finite, got {alpha}")


def _check_top_p(name: str, p: Real) -> None:
    check_number(name, p)
    if not 0 < p <= 1:
        raise ValueError(f"{name} must be in (0, 1], got {p}")
