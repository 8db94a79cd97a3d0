"""Attention block by block, with a place for each slip, and slips to put there."""

import math

import torch
import torch.nn.functional as F


def positions(n_q, n_k, block_size):
    """Where queries (a column) and keys stand in the sequence: the queries are the last."""
    return torch.arange(n_k - n_q, n_k)[:, None], torch.arange(n_k)


def starts(n_k, block_size):
    return range(0, n_k, block_size)


def scale(q, k, v):
    return q.size(-1) ** -0.5


def hide(scores, seen):
    return scores.masked_fill(~seen, -torch.inf)


def highest(old, scores):
    return torch.maximum(old, scores.amax(-1, keepdim=True))


def rescale(old, new):
    """exp(old − new); 0 while nothing has been seen, where both are −∞."""
    return (old - new.masked_fill(new.isinf(), 0.0)).exp()


def update(
    highest=highest,
    rescale_total=rescale,
    rescale_output=rescale,
    weigh=lambda scores, new, seen: rescale(scores, new),
):
    """One block more: the step from (maximum, total, output) to the next."""

    def update(state, scores, seen, v):
        maximum, total, output = state
        new = highest(maximum, scores)
        weights = weigh(scores, new, seen)
        total = total * rescale_total(maximum, new) + weights.sum(-1, keepdim=True)
        output = output * rescale_output(maximum, new) + weights @ v
        return new, total, output

    return update


next_state = update()


def divide(maximum, total, output):
    """The total is at least exp(0) = 1, except for a query that saw nothing: its output is 0."""
    return output / total.clamp(min=1.0)


def flash(
    tiled=False,
    positions=positions,
    starts=starts,
    seen=lambda i, j: j <= i,
    scale=scale,
    hide=hide,
    update=next_state,
    finish=divide,
    join_dim=-2,
):
    """Attention in blocks of keys (if ``tiled``, of queries too), with a place for each slip."""

    def answer(q, k, v, block_size, causal):
        i, j = positions(q.size(-2), k.size(-2), block_size)

        def attend(q, i):
            maximum = q.new_full((*q.shape[:-1], 1), -torch.inf)
            state = maximum, torch.zeros_like(maximum), q.new_zeros(*q.shape[:-1], v.size(-1))
            for first in starts(k.size(-2), block_size):
                block = slice(first, first + block_size)
                scores = q @ k[..., block, :].mT * scale(q, k, v)
                visible = seen(i, j[block]) | torch.tensor(not causal)
                state = update(state, hide(scores, visible), visible, v[..., block, :])
            return finish(*state)

        size = block_size if tiled else q.size(-2)
        return torch.cat(list(map(attend, q.split(size, -2), i.split(size))), join_dim)

    return answer


flash_attention = flash(tiled=True)


def softmax_of_all(q, k, causal, dim=-1):
    """The weights as in chapter 4, all of them in one matrix."""
    scores = q @ k.mT * scale(q, k, k)
    i, j = positions(q.size(-2), k.size(-2), 1)
    return hide(scores, (j <= i) | torch.tensor(not causal)).softmax(dim).nan_to_num(0.0)


def weights_with_the_old_maximum(state, scores, seen, v):
    """exp(score − old maximum), where the first old maximum is the lowest number there is."""
    maximum = state[0].clamp(min=torch.finfo(scores.dtype).min)
    weigh = update(rescale_total=raw, rescale_output=raw, weigh=lambda *_: raw(scores, maximum))
    return weigh((maximum, *state[1:]), scores, seen, v)


def divide_unless_0(maximum, total, output):
    """Where a slip may leave a total between 0 and 1."""
    return output / total.masked_fill(total == 0, 1.0)


def flash_normalised_in_each_block(state, scores, seen, v):
    """As in the first FlashAttention paper: divide each time, and undo it the next."""
    maximum, total, output = state
    new = highest(maximum, scores)
    weights = rescale(scores, new)
    old = total * rescale(maximum, new)
    total = old + weights.sum(-1, keepdim=True)
    return new, total, (output * old + weights @ v) / total.clamp(min=1e-30)


def divided_each_time(state, scores, seen, v):
    maximum, total, output = next_state(state, scores, seen, v)
    return maximum, total, output / total.clamp(min=1.0)


def each_block_by_itself(state, scores, seen, v):
    weights = scores.softmax(-1).nan_to_num(0.0)
    return state[0], state[1] + 1, state[2] + weights @ v


def overwritten(state, scores, seen, v):
    maximum, total, _ = next_state(state, scores, seen, v)
    return maximum, total, rescale(scores, maximum) @ v


def maximum_not_kept(state, scores, seen, v):
    """The next block starts from −∞ again; a hidden one changes nothing."""
    _, total, output = state
    new = highest(torch.full_like(total, -torch.inf), scores)
    factor, weights = 1.0 * new.isinf(), rescale(scores, new)
    total = total * factor + weights.sum(-1, keepdim=True)
    return state[0], total, output * factor + weights @ v


def new_weights_rescaled(state, scores, seen, v):
    maximum, total, output = state
    new = highest(maximum, scores)
    factor = rescale(maximum, new)
    weights = factor * rescale(scores, new)
    return new, total * factor + weights.sum(-1, keepdim=True), output * factor + weights @ v


def mask_not_in_total(state, scores, seen, v):
    """exp first; then hides the weights from the output, but not from the total."""
    maximum, total, output = state
    new = highest(maximum, scores)
    old, weights = rescale(maximum, new), rescale(scores, new)
    return new, total * old + weights.sum(-1, keepdim=True), output * old + weights * seen @ v


def padded_with_zeros(q, k, v, block_size, causal):
    filler = -k.size(-2) % block_size

    def without_filler(n_q, n_k, block_size):
        return positions(n_q, n_k - filler, block_size)[0], torch.arange(n_k)

    k, v = (F.pad(t, (0, 0, 0, filler)) for t in (k, v))
    return flash(positions=without_filler)(q, k, v, block_size, causal)


def only_diagonal_tiles_masked(top_left):
    def answer(q, k, v, block_size, causal):
        n_q, n_k = q.size(-2), k.size(-2)
        start = 0 if top_left else n_k - n_q

        def seen(i, j):
            return (j <= i) | ((i - start) // block_size != j // block_size)

        places = torch.arange(start, start + n_q)[:, None], torch.arange(n_k)
        return flash(positions=lambda *_: places, seen=seen)(q, k, v, block_size, causal)

    return answer


def tiles_skipped_by_number(q, k, v, block_size, causal):
    """Skips the tiles above the diagonal as if query 0 stood at position 0."""
    n_q, n_k = q.size(-2), k.size(-2)
    rows = []
    for first in range(0, n_q, block_size):
        i = positions(n_q, n_k, block_size)[0][first : first + block_size]
        end = min(first + block_size, n_k) if causal else n_k
        attend = flash(positions=lambda *_, i=i, end=end: (i, torch.arange(end)))
        q_i = q[..., first : first + block_size, :]
        rows.append(attend(q_i, k[..., :end, :], v[..., :end, :], block_size, causal))
    return torch.cat(rows, dim=-2)


def raw(a, b):
    """exp(a − b) without a thought for −∞."""
    return (a - b).exp()


def difference(old, new):
    return torch.where(old.isinf(), 0.0, old - new)


def exp_of_quotient(old, new):
    quotient = old.clamp(min=torch.finfo(old.dtype).min) / new
    return quotient.masked_fill(new.isinf(), 0.0).exp()


def power_of_2(a, b):
    return rescale(a * math.log(2), b * math.log(2))


def quotient(maximum, total, output):
    return output / total


def modulo(of_queries, of_keys):
    """Positions that begin anew in each block of queries or of keys."""

    def begun_anew(n_q, n_k, block_size):
        i, j = positions(n_q, n_k, block_size)
        within = torch.arange(n_q)[:, None] % block_size + n_k - n_q
        return within if of_queries else i, j % block_size if of_keys else j

    return begun_anew


def wrong_way(old, new):
    return torch.where(old.isinf(), 0.0, raw(new, old))
