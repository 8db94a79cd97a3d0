"""What a beginner gets wrong, and the message it gets: layers and model.

Those of scaled_dot_product_attention and of the masks stand in tests/test_attention.py and
tests/test_masks.py.
"""

import pytest
import torch
from torch import nn

from transformer_lib import (
    Decoder,
    DecoderLayer,
    Encoder,
    EncoderLayer,
    FeedForward,
    KeyValueCache,
    LayerNorm,
    LearnedPositions,
    MultiHeadAttention,
    PositionalEncoding,
    Residual,
    RMSNorm,
    TokenEmbedding,
    Transformer,
    TransformerConfig,
    rope,
    shift_matrix,
    sinusoidal_encoding,
)

X = torch.randn(2, 3, 4)
IDS = torch.tensor([[1, 2, 3], [4, 5, 0]])
CONFIG = TransformerConfig(6, d_model=4, n_heads=2, d_ff=8, dropout=0.0,
                           n_encoder_layers=1, n_decoder_layers=1)  # fmt: skip
MEMORY = torch.randn(2, 5, 4)


def config(**changes):
    return TransformerConfig(**({"vocab_size": 6, "d_model": 4, "n_heads": 2} | changes))


def model(**changes):
    fields = {name: getattr(CONFIG, name) for name in CONFIG.__dataclass_fields__}
    return Transformer(TransformerConfig(**(fields | changes)))


def encoder_only():
    return model(n_decoder_layers=0)


def decoder_only():
    return model(n_encoder_layers=0)


def used_cache():
    cache = KeyValueCache()
    MultiHeadAttention(4, 2)(X, cache=cache)
    return cache


def step_with_another_batch():
    lone = decoder_only()
    state = lone.start()
    lone.step(IDS, state)
    lone.step(IDS[:1], state)


CASES = {
    # --- sizes
    "heads do not divide": (
        lambda: MultiHeadAttention(10, 4),
        ValueError,
        r"d_model \(10\) must be divisible by n_heads \(4\)",
    ),
    "no head": (lambda: MultiHeadAttention(4, 0), ValueError, "n_heads must be 1 or more, got 0"),
    "d_model 4.0": (lambda: MultiHeadAttention(4.0, 2), TypeError, "d_model must be an int.*float"),
    "d_ff 0": (lambda: FeedForward(4, 0), ValueError, "d_ff must be 1 or more, got 0"),
    "norm of width 0": (lambda: LayerNorm(0), ValueError, "d_model must be 1 or more, got 0"),
    "RMS norm '4'": (lambda: RMSNorm("4"), TypeError, "d_model must be an int, got str"),
    "empty vocabulary": (lambda: TokenEmbedding(0, 4), ValueError, "vocab_size must be 1 or more"),
    "vocabulary None": (lambda: TokenEmbedding(None, 4), TypeError, "vocab_size.*got NoneType"),
    "max_len 0": (lambda: PositionalEncoding(4, 0), ValueError, "max_len must be 1 or more, got 0"),
    "max_len -1": (
        lambda: LearnedPositions(4, -1),
        ValueError,
        "max_len must be 1 or more, got -1",
    ),
    "n −1": (lambda: sinusoidal_encoding(-1, 4), ValueError, "n must be 0 or more, got -1"),
    "n True": (lambda: sinusoidal_encoding(True, 4), TypeError, "n must be an int, got bool"),
    "shift 1.5": (lambda: shift_matrix(1.5, 4), TypeError, "k must be an int, got float"),
    "shift, odd width": (lambda: shift_matrix(1, 5), ValueError, "even.*its cosine, got 5"),
    "kv heads do not divide": (
        lambda: MultiHeadAttention(8, 4, n_kv_heads=3),
        ValueError,
        r"n_heads \(4\) must be divisible by n_kv_heads \(3\)",
    ),
    "no kv head": (lambda: MultiHeadAttention(4, 2, n_kv_heads=0), ValueError, "n_kv_heads must"),
    "turned, odd d_k": (
        lambda: MultiHeadAttention(6, 2, rope_base=10.0),
        ValueError,
        "d_k = d_model / n_heads must be even, got 6 / 2 = 3",
    ),
    "rope, odd width": (
        lambda: rope(X[..., :3], torch.arange(3)),
        ValueError,
        r"x must have an even last dimension, to turn pairs, got \(2, 3, 3\)",
    ),
    "rope, too few positions": (
        lambda: rope(X, torch.arange(2)),
        ValueError,
        r"positions must have shape \(3,\), one for each vector of x, got \(2,\)",
    ),
    "rope, a number": (lambda: rope(X, 3), TypeError, "positions must be a torch tensor of int"),
    "rope, float positions": (
        lambda: rope(X, torch.ones(3)),
        TypeError,
        r"positions must be integers, got torch.float32; convert with positions.long\(\)",
    ),
    "rope, a list": (lambda: rope([[1.0]], torch.arange(1)), TypeError, "x must be a torch tensor"),
    "rope, base 0": (lambda: rope(X, torch.arange(3), 0), ValueError, "base must be above 0"),
    # --- dropout, eps, choices
    "dropout −0.1": (
        lambda: MultiHeadAttention(4, 2, dropout=-0.1),
        ValueError,
        r"dropout must be in \[0, 1\), got -0.1",
    ),
    "dropout 1": (lambda: PositionalEncoding(4, dropout=1), ValueError, r"in \[0, 1\), got 1"),
    "dropout 10 (%)": (lambda: Residual(LayerNorm(4), 10), ValueError, r"in \[0, 1\), got 10"),
    "dropout '0.1'": (lambda: FeedForward(4, 8, dropout="0.1"), TypeError, "number, got str"),
    "dropout, learned": (lambda: LearnedPositions(4, dropout=2), ValueError, r"\[0, 1\), got 2"),
    "eps 0": (lambda: LayerNorm(4, 0), ValueError, "eps must be above 0, got 0"),
    "eps None": (lambda: RMSNorm(4, None), TypeError, "eps must be a number, got NoneType"),
    "activation": (
        lambda: FeedForward(4, 8, activation="ReLU"),
        ValueError,
        "activation must be one of 'relu', 'gelu', 'swiglu', got 'ReLU'",
    ),
    # --- token ids
    "ids as a list": (lambda: TokenEmbedding(6, 4)([[1]]), TypeError, "torch tensor of integers"),
    "float ids": (
        lambda: TokenEmbedding(6, 4)(IDS.float()),
        TypeError,
        r"must be integers, got torch.float32; convert with token_ids.long\(\)",
    ),
    "Boolean ids": (lambda: TokenEmbedding(6, 4)(IDS > 1), TypeError, "integers, got torch.bool"),
    "ids without a batch": (
        lambda: TokenEmbedding(6, 4)(IDS[0]),
        ValueError,
        r"must have shape \(batch, n\), got \(3,\)",
    ),
    "empty sequence": (lambda: TokenEmbedding(6, 4)(IDS[:, :0]), ValueError, r"empty.*\(2, 0\)"),
    "id too large": (
        lambda: TokenEmbedding(5, 4)(IDS),
        ValueError,
        r"token_ids must be in 0 … 4, got 0 … 5",
    ),
    "negative id": (lambda: TokenEmbedding(6, 4)(IDS - 1), ValueError, "in 0 … 5, got -1 … 4"),
    "ids elsewhere": (
        lambda: TokenEmbedding(6, 4)(IDS.to("meta")),
        ValueError,
        "on the device of the weights, cpu, got meta",
    ),
    "pad_id": (
        lambda: TokenEmbedding(6, 4, pad_id=6),
        ValueError,
        "pad_id must be in 0 … 5, got 6",
    ),
    "pad_id −1": (lambda: TokenEmbedding(6, 4, pad_id=-1), ValueError, "pad_id must be 0 or more"),
    "pad_id '0'": (lambda: TokenEmbedding(6, 4, pad_id="0"), TypeError, "pad_id must be an int"),
    # --- vectors
    "a list": (lambda: FeedForward(4, 8)([[1.0]]), TypeError, "x must be a torch tensor, got list"),
    "ids in place of vectors": (
        lambda: MultiHeadAttention(4, 2)(IDS),
        TypeError,
        r"x must be floating point, got torch.int64; convert with x.float\(\)",
    ),
    "no batch": (
        lambda: MultiHeadAttention(4, 2)(X[0]),
        ValueError,
        r"x must have at least the dimensions \(batch, n, d_model\), got shape \(3, 4\)",
    ),
    "width, attention": (
        lambda: MultiHeadAttention(6, 2)(X),
        ValueError,
        r"x must have shape \(batch, n, 6\), got \(2, 3, 4\)",
    ),
    "width, feed-forward": (lambda: FeedForward(6, 8)(X), ValueError, r"\(batch, n, 6\), got"),
    "width, layer norm": (lambda: LayerNorm(6)(X), ValueError, r"\(..., 6\), got \(2, 3, 4\)"),
    "width, RMS norm": (lambda: RMSNorm(6)(X), ValueError, r"\(..., 6\), got \(2, 3, 4\)"),
    "width 1, positions": (
        lambda: PositionalEncoding(4)(X[..., :1]),
        ValueError,
        r"x must have shape \(batch, n, 4\), got \(2, 3, 1\)",
    ),
    "width 1, learned": (lambda: LearnedPositions(4)(X[..., :1]), ValueError, r"got \(2, 3, 1\)"),
    "width, logits": (lambda: TokenEmbedding(6, 3).logits(X), ValueError, r"\(batch, n, 3\), got"),
    "four dimensions": (
        lambda: MultiHeadAttention(4, 2)(X[None]),
        ValueError,
        r"\(batch, n, 4\), got \(1, 2, 3, 4\)",
    ),
    "dtype, attention": (
        lambda: MultiHeadAttention(4, 2)(X.double()),
        TypeError,
        "x must have the dtype of the weights, torch.float32, got torch.float64",
    ),
    "dtype, norm": (lambda: LayerNorm(4)(X.half()), TypeError, "float32, got torch.float16"),
    "dtype, positions": (lambda: PositionalEncoding(4)(X.double()), TypeError, "got torch.float64"),
    "device": (
        lambda: FeedForward(4, 8)(X.to("meta")),
        ValueError,
        "x must be on the device of the weights, cpu, got meta",
    ),
    "beyond max_len": (
        lambda: LearnedPositions(4, max_len=2)(X),
        ValueError,
        r"sequences may be 2 long \(max_len\), got 3",
    ),
    "start −1": (lambda: PositionalEncoding(4)(X, -1), ValueError, "start must be 0 or more"),
    "start 1.0": (
        lambda: LearnedPositions(4)(X, 1.0),
        TypeError,
        "start must be an int, got float",
    ),
    "a sublayer that sums": (
        lambda: Residual(nn.Identity())(X, lambda x: x.sum(1, keepdim=True)),
        ValueError,
        r"a sublayer must keep the shape \(2, 3, 4\), got \(2, 1, 4\)",
    ),
    # --- attention's context, mask and cache
    "context width": (
        lambda: MultiHeadAttention(4, 2)(X, MEMORY[..., :3]),
        ValueError,
        r"context must have shape \(batch, n, 4\), got \(2, 5, 3\)",
    ),
    "context batch": (
        lambda: MultiHeadAttention(4, 2)(X, MEMORY[:1]),
        ValueError,
        "x and context must have the same batch, got 2 and 1",
    ),
    "context dtype": (
        lambda: MultiHeadAttention(4, 2)(X, MEMORY.double()),
        TypeError,
        "context must have the dtype of the weights",
    ),
    "float mask": (
        lambda: MultiHeadAttention(4, 2)(X, mask=torch.ones(3, 3)),
        TypeError,
        "mask must be Boolean.*got torch.float32.*mask != 0.*mask == 0",
    ),
    "mask shape": (
        lambda: MultiHeadAttention(4, 2)(X, mask=torch.ones(3, 5).bool()),
        ValueError,
        r"broadcast to .* \(2, 2, 3, 3\), got \(3, 5\)",
    ),
    "mask shape, weights": (
        lambda: MultiHeadAttention(4, 2)(X, mask=torch.ones(5, 3).bool(), return_weights=True),
        ValueError,
        r"got \(5, 3\)",
    ),
    "mask (batch, n_q, n_k), as many heads": (
        lambda: MultiHeadAttention(4, 2)(X, mask=torch.ones(2, 3, 3).bool()),
        ValueError,
        r"\(2, 2, 3, 3\) or only the last two, got \(2, 3, 3\); write mask\[:, None\]",
    ),
    "mask (batch, n_q, n_k), other heads": (
        lambda: MultiHeadAttention(4, 4)(X, mask=torch.ones(2, 3, 3).bool()),
        ValueError,
        r"\(2, 4, 3, 3\) or only the last two, got \(2, 3, 3\); write mask\[:, None\]",
    ),
    "padding mask (batch, n)": (
        lambda: EncoderLayer(CONFIG)(X, IDS != 0),
        ValueError,
        r"\(2, 2, 3, 3\), got \(2, 3\)",
    ),
    "cache batch": (
        lambda: MultiHeadAttention(4, 2)(X[:1], cache=used_cache()),
        ValueError,
        "x and cache must have the same batch, got 1 and 2",
    ),
    # --- config
    "config heads": (lambda: config(n_heads=3), ValueError, r"d_model \(4\).*n_heads \(3\)"),
    "config float": (lambda: config(d_ff=8.0), TypeError, "d_ff must be an int, got float"),
    "config vocabulary": (lambda: config(vocab_size=0), ValueError, "vocab_size must be 1 or more"),
    "config target": (
        lambda: config(target_vocab_size=0),
        ValueError,
        "target_vocab_size must be 1",
    ),
    "config layers": (lambda: config(n_encoder_layers=-1), ValueError, "must be 0 or more, got -1"),
    "config no layer": (
        lambda: config(n_encoder_layers=0, n_decoder_layers=0),
        ValueError,
        "at least one layer",
    ),
    "config dropout": (lambda: config(dropout=1.5), ValueError, r"dropout must be in \[0, 1\)"),
    "config eps": (lambda: config(eps=-1e-5), ValueError, "eps must be above 0"),
    "config norm": (lambda: config(norm="batch"), ValueError, "norm must be one of 'layer', 'rms'"),
    "config positions": (lambda: config(positions="rope"), ValueError, "positions must be one of"),
    "config kv heads": (lambda: config(n_kv_heads=4), ValueError, r"n_kv_heads \(4\)"),
    "config rope": (lambda: config(rope_base=0), ValueError, "rope_base must be above 0, got 0"),
    "config odd rope": (
        lambda: config(d_model=6, positions="rotary"),
        ValueError,
        "must be even, got 6 / 2 = 3",
    ),
    "config no scale": (lambda: config(scale_embeddings="no"), TypeError, "scale_embeddings must"),
    "config embedding norm": (lambda: config(embedding_norm=1), TypeError, "embedding_norm must"),
    "config feed-forward": (
        lambda: config(feed_forward_bias=None),
        TypeError,
        "feed_forward_bias must be True or False, got NoneType",
    ),
    "embedding scale": (lambda: TokenEmbedding(6, 4, scale=2), TypeError, "scale must be True or"),
    "config activation": (lambda: config(activation="tanh"), ValueError, "activation must be one"),
    "config pre_norm": (
        lambda: config(pre_norm="False"),
        TypeError,
        "pre_norm must be True or False, got str",
    ),
    "config bias": (lambda: config(bias=None), TypeError, "bias must be True or False, got None"),
    "config tie": (lambda: config(tie_embeddings=1), TypeError, "tie_embeddings must be True or"),
    "config final_norm": (lambda: config(final_norm="rms"), TypeError, "True or False, got str"),
    "bias, attention": (
        lambda: MultiHeadAttention(4, 2, bias=1),
        TypeError,
        "bias must be True or False, got int",
    ),
    "bias, feed-forward": (
        lambda: FeedForward(4, 8, bias="no"),
        TypeError,
        "bias must be True or False, got str",
    ),
    "residual pre_norm": (
        lambda: Residual(LayerNorm(4), pre_norm=1),
        TypeError,
        "pre_norm must be True or False, got int",
    ),
    "config pad_id": (lambda: config(pad_id=6), ValueError, "pad_id must be in 0 … 5, got 6"),
    "config pad_id of the target": (
        lambda: config(pad_id=5, target_vocab_size=3),
        ValueError,
        "pad_id must be in 0 … 2, got 5",
    ),
    "no config": (
        lambda: Transformer(37_000),
        TypeError,
        r"must be a TransformerConfig, got int; make one with TransformerConfig\(vocab_size",
    ),
    "no config, encoder layer": (
        lambda: EncoderLayer(512),
        TypeError,
        "TransformerConfig, got int",
    ),
    "no config, decoder layer": (
        lambda: DecoderLayer({}),
        TypeError,
        "TransformerConfig, got dict",
    ),
    "no config, encoder": (lambda: Encoder(None), TypeError, "TransformerConfig, got NoneType"),
    "no config, decoder": (lambda: Decoder("big"), TypeError, "TransformerConfig, got str"),
    # --- model
    "no target": (
        lambda: model()(IDS),
        ValueError,
        r"takes model\(source_ids, target_ids\).*call model.encode\(source_ids\)",
    ),
    "two inputs, no encoder": (
        lambda: decoder_only()(IDS, IDS),
        ValueError,
        r"no encoder: call model\(ids\), with one argument",
    ),
    "no decoder": (lambda: encoder_only()(IDS), ValueError, r"no decoder: call model.encode\("),
    "encode, no encoder": (lambda: decoder_only().encode(IDS), ValueError, "n_encoder_layers=0"),
    "decode, no decoder": (lambda: encoder_only().decode(IDS), ValueError, "n_decoder_layers=0"),
    "logits, no decoder": (
        lambda: encoder_only().logits(X),
        ValueError,
        r"n_decoder_layers=0; .* call model.source_embedding.logits\(x\)",
    ),
    "start, no decoder": (lambda: encoder_only().start(IDS), ValueError, "n_decoder_layers=0"),
    "start, no source": (lambda: model().start(), ValueError, "takes source_ids"),
    "start, a source": (lambda: decoder_only().start(IDS), ValueError, "takes no source_ids"),
    "source batch": (
        lambda: model()(IDS[:1], IDS),
        ValueError,
        "source and target must have the same batch, got 1 and 2",
    ),
    "state batch": (
        step_with_another_batch,
        ValueError,
        "state and target must have the same batch, got 2 and 1",
    ),
    "decode without memory": (
        lambda: model().decode(IDS),
        ValueError,
        r"takes the memory of model.encode\(source_ids\)",
    ),
    "decode with memory, no encoder": (
        lambda: decoder_only().decode(IDS, MEMORY),
        ValueError,
        "takes no memory",
    ),
    "decoder without memory": (lambda: Decoder(CONFIG)(X), ValueError, "takes the memory of"),
    "layer without memory": (lambda: DecoderLayer(CONFIG)(X), ValueError, "takes the memory of"),
    "model, float ids": (
        lambda: model()(IDS, IDS.float()),
        TypeError,
        r"target_ids must be integers, got torch.float32; convert with target_ids.long\(\)",
    ),
    "model, id too large": (lambda: model()(IDS, IDS + 1), ValueError, "in 0 … 5, got 1 … 6"),
    "model, empty target": (lambda: model()(IDS, IDS[:, :0]), ValueError, "target_ids holds empty"),
    "model beyond max_len": (
        lambda: model(positions="learned", max_len=2)(IDS, IDS),
        ValueError,
        "may be 2 long",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_input_is_refused(case, unchecked):
    call, error, message = CASES[case]
    with pytest.raises(error, match=message):
        call()
