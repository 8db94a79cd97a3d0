"""The mathematics of the Transformer, as code one can read, check and use."""

from transformer_lib.attention import scaled_dot_product_attention
from transformer_lib.masks import causal_mask, padding_mask

__all__ = ["causal_mask", "padding_mask", "scaled_dot_product_attention"]
