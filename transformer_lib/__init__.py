"""The mathematics of the Transformer, as code one can read, check and use."""

from transformer_lib.attention import (
    KeyValueCache,
    MultiHeadAttention,
    scaled_dot_product_attention,
)
from transformer_lib.decoding import beam_search, greedy_decode, sample
from transformer_lib.efficient import linear_attention
from transformer_lib.flash import flash_attention
from transformer_lib.layers import (
    FeedForward,
    LayerNorm,
    LearnedPositions,
    NoPositions,
    PositionalEncoding,
    Residual,
    RMSNorm,
    TokenEmbedding,
    rope,
    shift_matrix,
    sinusoidal_encoding,
)
from transformer_lib.masks import causal_mask, padding_mask, sliding_window_mask
from transformer_lib.model import (
    Decoder,
    DecoderLayer,
    Encoder,
    EncoderLayer,
    Transformer,
    TransformerConfig,
)

__all__ = [
    "Decoder",
    "DecoderLayer",
    "Encoder",
    "EncoderLayer",
    "FeedForward",
    "KeyValueCache",
    "LayerNorm",
    "LearnedPositions",
    "MultiHeadAttention",
    "NoPositions",
    "PositionalEncoding",
    "RMSNorm",
    "Residual",
    "TokenEmbedding",
    "Transformer",
    "TransformerConfig",
    "beam_search",
    "causal_mask",
    "flash_attention",
    "greedy_decode",
    "linear_attention",
    "padding_mask",
    "rope",
    "sample",
    "scaled_dot_product_attention",
    "shift_matrix",
    "sinusoidal_encoding",
    "sliding_window_mask",
]
