"""PyTorch's own modules with the weights of ours, and how equal two results are.

A parameter of ours and its twin differ in name only: ``twin_name`` translates.
"""

import torch
from torch import Tensor, nn

from transformer_lib import LayerNorm, MultiHeadAttention, Transformer, TransformerConfig

RENAMINGS = (
    ("self_attention", "self_attn"),
    ("cross_attention", "multihead_attn"),
    ("W_QKV.", "in_proj_"),
    ("W_O", "out_proj"),
    ("feed_forward.W_", "linear"),
    (".norm.gamma", ".norm.weight"),
    (".norm.beta", ".norm.bias"),
    *((f"residual_{i}.norm", f"norm{i}") for i in (1, 2, 3)),
    ("gamma", "weight"),
    ("beta", "bias"),
)


def twin_name(name: str) -> str:
    for mine, theirs in RENAMINGS:
        name = name.replace(mine, theirs)
    return name


def carry_over(mine: nn.Module, theirs: nn.Module) -> nn.Module:
    """Give PyTorch's module our weights: every one of them, and none is left over."""
    theirs.load_state_dict({twin_name(name): w for name, w in mine.state_dict().items()})
    return theirs


def attention_twin(mine: MultiHeadAttention) -> nn.MultiheadAttention:
    d_model, bias = mine.W_O.in_features, mine.W_O.bias is not None
    theirs = nn.MultiheadAttention(d_model, mine.n_heads, bias=bias, batch_first=True)
    return carry_over(mine, theirs.to(mine.W_O.weight))


def layer_norm_twin(mine: LayerNorm) -> nn.LayerNorm:
    return carry_over(mine, nn.LayerNorm(mine.gamma.shape, mine.eps).to(mine.gamma))


class Stacks(nn.Module):
    """Our encoder and decoder alone: nn.Transformer has no embeddings."""

    def __init__(self, model: Transformer):
        super().__init__()
        self.encoder, self.decoder = model.encoder, model.decoder


def transformer_twin(model: Transformer) -> nn.Transformer:
    """For a model with biases and a norm after the last layer, as nn.Transformer has them."""
    c, weight = model.config, model.target_embedding.weight
    layer = {
        "d_model": c.d_model,
        "nhead": c.n_heads,
        "dim_feedforward": c.d_ff,
        "dropout": 0.0,
        "activation": c.activation,
        "layer_norm_eps": c.eps,
        "norm_first": c.pre_norm,
        "batch_first": True,
    }
    encoder, decoder = nn.TransformerEncoderLayer(**layer), nn.TransformerDecoderLayer(**layer)
    theirs = nn.Transformer(
        c.d_model,
        c.n_heads,
        batch_first=True,
        custom_encoder=nn.TransformerEncoder(
            encoder, c.n_encoder_layers, _norm(c), enable_nested_tensor=False
        ),
        custom_decoder=nn.TransformerDecoder(decoder, c.n_decoder_layers, _norm(c)),
    )
    return carry_over(Stacks(model), theirs.to(weight))


def _norm(config: TransformerConfig) -> nn.LayerNorm:
    return nn.LayerNorm(config.d_model, config.eps)


def assert_equal(mine: Tensor, theirs: Tensor, tolerance: float = 1e-12) -> None:
    """Their largest difference, relative to their largest entry, is at most the tolerance."""
    assert mine.shape == theirs.shape and mine.dtype == theirs.dtype == torch.float64
    difference = (mine - theirs).abs().max()
    assert difference <= tolerance * theirs.abs().max(), f"off by {difference}"


def assert_equal_gradients(mine: nn.Module, theirs: nn.Module) -> None:
    """Of every parameter."""
    twins = dict(theirs.named_parameters())
    for name, parameter in mine.named_parameters():
        assert_equal(parameter.grad, twins.pop(twin_name(name)).grad)
    assert not twins
