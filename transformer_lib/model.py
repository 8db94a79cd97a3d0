"""The Transformer, assembled: encoder and decoder of layers, each of attention and feed-forward.

One set of parts makes three kinds of model: encoder–decoder, encoder-only (no decoder layers)
and decoder-only (no encoder layers).
"""

import dataclasses
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from transformer_lib.attention import KeyValueCache, MultiHeadAttention
from transformer_lib.checks import (
    check_batch,
    check_choice,
    check_flag,
    check_heads,
    check_id,
    check_ids,
    check_positive,
    check_probability,
    check_size,
)
from transformer_lib.layers import (
    ACTIVATIONS,
    FeedForward,
    LayerNorm,
    LearnedPositions,
    NoPositions,
    PositionalEncoding,
    Residual,
    RMSNorm,
    TokenEmbedding,
)
from transformer_lib.masks import causal_mask, padding_mask

NORMS = {"layer": LayerNorm, "rms": RMSNorm}
POSITIONS = {
    "sinusoidal": PositionalEncoding,
    "learned": LearnedPositions,
    "rotary": NoPositions,  # the attention turns its queries and keys
    "none": NoPositions,
}
FLAGS = (
    "pre_norm",
    "bias",
    "feed_forward_bias",
    "embedding_norm",
    "scale_embeddings",
    "tie_embeddings",
)


@dataclass(frozen=True)
class TransformerConfig:
    """Everything that defines a model's shape; checked when it is made.

    Args:
        vocab_size: number of token ids (of both languages, if they share one vocabulary).
        target_vocab_size: of the decoder's language, if it has a vocabulary of its own.
        d_model, n_heads, d_ff: widths and heads.
        n_kv_heads: key/value heads, which divide n_heads (grouped-query attention); as many as
            n_heads if not given.
        n_encoder_layers, n_decoder_layers: 0 of one makes a model of the other alone.
        dropout: on embeddings and sublayers, as in the paper.
        activation: "relu", "gelu" or "swiglu".
        norm: "layer" or "rms"; eps its ε.
        pre_norm: the norm stands before each sublayer, and once more after the last layer.
        final_norm: a norm after the last layer; by default exactly where pre_norm needs it.
        bias, feed_forward_bias: biases in the attention's projections, and in the feed-forward
            network.
        positions: "sinusoidal", "learned" (up to max_len), "rotary" (in self-attention, with
            rope_base) or "none".
        embedding_norm: a norm after embedding and positions, before the first layer.
        scale_embeddings: times √d_model, as in the paper.
        tie_embeddings: one matrix embeds tokens and scores them; shared by both languages where
            they share the vocabulary.
        pad_id: the id that stands for padding.

    Later models, beside their sizes:

    - BERT: n_decoder_layers=0, bias, activation="gelu", positions="learned", embedding_norm,
      eps=1e-12, and no scale_embeddings;
    - Llama and SmolLM2: n_encoder_layers=0, pre_norm, norm="rms", activation="swiglu",
      positions="rotary", and neither scale_embeddings nor feed_forward_bias.

    Raises:
        TypeError, ValueError: with what was expected and what came.

    Source: Vaswani et al. (2017), table 3; what later models changed, chapter 13.
    """

    vocab_size: int
    target_vocab_size: int | None = None
    d_model: int = 512
    n_heads: int = 8
    n_kv_heads: int | None = None
    d_ff: int = 2048
    n_encoder_layers: int = 6
    n_decoder_layers: int = 6
    dropout: float = 0.1
    activation: str = "relu"
    norm: str = "layer"
    eps: float = 1e-5
    pre_norm: bool = False
    final_norm: bool | None = None
    bias: bool = False
    feed_forward_bias: bool = True
    positions: str = "sinusoidal"
    rope_base: float = 10_000.0
    max_len: int = 512
    embedding_norm: bool = False
    scale_embeddings: bool = True
    tie_embeddings: bool = True
    pad_id: int = 0

    def __post_init__(self) -> None:
        for name in ("vocab_size", "d_ff", "max_len"):
            check_size(name, getattr(self, name))
        for name in ("n_encoder_layers", "n_decoder_layers"):
            check_size(name, getattr(self, name), least=0)
        if self.target_vocab_size is not None:
            check_size("target_vocab_size", self.target_vocab_size)
        if not self.n_encoder_layers + self.n_decoder_layers:
            raise ValueError("a model needs at least one layer, got 0 encoder and 0 decoder layers")
        n_kv_heads = self.n_heads if self.n_kv_heads is None else self.n_kv_heads
        check_heads(self.d_model, self.n_heads, n_kv_heads, turned=self.positions == "rotary")
        check_probability("dropout", self.dropout)
        for name in ("eps", "rope_base"):
            check_positive(name, getattr(self, name))
        for name, choices in (
            ("activation", ACTIVATIONS),
            ("norm", NORMS),
            ("positions", POSITIONS),
        ):
            check_choice(name, getattr(self, name), choices)
        for name in FLAGS:
            check_flag(name, getattr(self, name))
        if self.final_norm is not None:
            check_flag("final_norm", self.final_norm)
        check_id("pad_id", self.pad_id, min(self.vocab_size, self.target_size))

    @property
    def target_size(self) -> int:
        """Size of the decoder's vocabulary."""
        return self.vocab_size if self.target_vocab_size is None else self.target_vocab_size

    @classmethod
    def base(cls, vocab_size: int = 37_000, **changes: object) -> "TransformerConfig":
        """The paper's base model; ``changes`` to any other field."""
        return cls(vocab_size, **changes)

    @classmethod
    def big(cls, vocab_size: int = 37_000, **changes: object) -> "TransformerConfig":
        """The paper's big model (its dropout for English–German)."""
        big = {"d_model": 1024, "n_heads": 16, "d_ff": 4096, "dropout": 0.3}
        return cls(vocab_size, **(big | changes))

    def make_norm(self) -> nn.Module:
        return NORMS[self.norm](self.d_model, self.eps)

    def make_residual(self) -> Residual:
        return Residual(self.make_norm(), self.dropout, pre_norm=self.pre_norm)

    def make_self_attention(self) -> MultiHeadAttention:
        return self._make_attention(self.rope_base if self.positions == "rotary" else None)

    def make_cross_attention(self) -> MultiHeadAttention:
        return self._make_attention(None)  # positions in two texts have no distance

    def _make_attention(self, rope_base: float | None) -> MultiHeadAttention:
        heads = {"n_heads": self.n_heads, "n_kv_heads": self.n_kv_heads}
        return MultiHeadAttention(self.d_model, **heads, bias=self.bias, rope_base=rope_base)

    def make_feed_forward(self) -> FeedForward:
        return FeedForward(
            self.d_model, self.d_ff, activation=self.activation, bias=self.feed_forward_bias
        )

    def make_positions(self) -> nn.Module:
        dropout = 0.0 if self.embedding_norm else self.dropout
        return POSITIONS[self.positions](self.d_model, self.max_len, dropout)

    def make_embedding_norm(self) -> nn.Module:
        if not self.embedding_norm:
            return nn.Identity()
        return nn.Sequential(self.make_norm(), nn.Dropout(self.dropout))

    def make_final_norm(self) -> nn.Module:
        wanted = self.pre_norm if self.final_norm is None else self.final_norm
        return self.make_norm() if wanted else nn.Identity()


def _check_config(config: TransformerConfig) -> None:
    if not isinstance(config, TransformerConfig):
        raise TypeError(
            f"config must be a TransformerConfig, got {type(config).__name__}; "
            "make one with TransformerConfig(vocab_size, …)"
        )


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward, each with a residual connection and a norm.

    Source: Vaswani et al. (2017), §3.1.
    """

    def __init__(self, config: TransformerConfig):
        super().__init__()
        _check_config(config)
        self.self_attention = config.make_self_attention()
        self.feed_forward = config.make_feed_forward()
        self.residual_1 = config.make_residual()
        self.residual_2 = config.make_residual()

    def forward(
        self, x: Float[Tensor, "batch n d_model"], mask: Bool[Tensor, "..."] | None = None
    ) -> Float[Tensor, "batch n d_model"]:
        """x (batch, n, d_model); mask as in MultiHeadAttention, True = may attend."""
        x = self.residual_1(x, lambda y: self.self_attention(y, mask=mask))
        return self.residual_2(x, self.feed_forward)


@dataclass
class LayerCache:
    """What a decoder layer remembers between steps."""

    self_attention: KeyValueCache = dataclasses.field(default_factory=KeyValueCache)
    cross_attention: KeyValueCache = dataclasses.field(default_factory=KeyValueCache)

    def select(self, rows: Int[Tensor, "new_batch"]) -> None:
        self.self_attention.select(rows)
        self.cross_attention.select(rows)


class DecoderLayer(nn.Module):
    """Masked self-attention, attention to the memory (if there is an encoder), feed-forward.

    Source: Vaswani et al. (2017), §3.1.
    """

    def __init__(self, config: TransformerConfig):
        super().__init__()
        _check_config(config)
        has_encoder = config.n_encoder_layers > 0
        self.self_attention = config.make_self_attention()
        self.cross_attention = config.make_cross_attention() if has_encoder else None
        self.feed_forward = config.make_feed_forward()
        self.residual_1 = config.make_residual()
        self.residual_2 = config.make_residual() if has_encoder else None
        self.residual_3 = config.make_residual()

    def forward(
        self,
        x: Float[Tensor, "batch n d_model"],
        memory: Float[Tensor, "batch n_src d_model"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
        memory_mask: Bool[Tensor, "..."] | None = None,
        cache: LayerCache | None = None,
    ) -> Float[Tensor, "batch n d_model"]:
        """x (batch, n, d_model), attending to itself under ``mask``, to the memory under its own.

        With a cache x is what comes after the positions the layer has seen already.
        """
        self._check_memory(memory)
        seen = cache.self_attention if cache else None
        x = self.residual_1(x, lambda y: self.self_attention(y, mask=mask, cache=seen))
        if self.cross_attention is not None:
            read = cache.cross_attention if cache else None
            x = self.residual_2(
                x, lambda y: self.cross_attention(y, memory, memory_mask, cache=read)
            )
        return self.residual_3(x, self.feed_forward)

    def _check_memory(self, memory: Tensor | None) -> None:
        # Without this, attention to a memory that is None would be attention to x itself.
        if (self.cross_attention is None) != (memory is None):
            wanted = "no memory" if memory is not None else "the memory of model.encode(source_ids)"
            raise ValueError(f"the decoder of this model takes {wanted}")


class _Stack(nn.Module):
    """Layers one after the other, and a norm after the last where the config asks for one."""

    def __init__(self, config: TransformerConfig, layer: type[nn.Module], n_layers: int):
        super().__init__()
        self.layers = nn.ModuleList(layer(config) for _ in range(n_layers))
        self.norm = config.make_final_norm()


class Encoder(_Stack):
    """A stack of encoder layers."""

    def __init__(self, config: TransformerConfig):
        _check_config(config)
        super().__init__(config, EncoderLayer, config.n_encoder_layers)

    def forward(
        self, x: Float[Tensor, "batch n d_model"], mask: Bool[Tensor, "..."] | None = None
    ) -> Float[Tensor, "batch n d_model"]:
        """x through all layers, each with the same mask."""
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)


class Decoder(_Stack):
    """A stack of decoder layers; where the config has no encoder, they have no cross-attention."""

    def __init__(self, config: TransformerConfig):
        _check_config(config)
        super().__init__(config, DecoderLayer, config.n_decoder_layers)

    def forward(
        self,
        x: Float[Tensor, "batch n d_model"],
        memory: Float[Tensor, "batch n_src d_model"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
        memory_mask: Bool[Tensor, "..."] | None = None,
        cache: list[LayerCache] | None = None,
    ) -> Float[Tensor, "batch n d_model"]:
        """x through all layers, with the same masks and memory, each with a cache of its own."""
        caches = cache or [None] * len(self.layers)
        for layer, layer_cache in zip(self.layers, caches, strict=True):
            x = layer(x, memory, mask, memory_mask, layer_cache)
        return self.norm(x)


@dataclass
class DecoderState:
    """Where a decoder stands in writing a batch of sequences: what every layer remembers.

    Args:
        layers: a cache for each decoder layer.
        memory, memory_mask: what the encoder made of the source, if there is one.
        keys: (batch, 1, 1, n so far), which of the tokens so far are not padding.
    """

    layers: list[LayerCache]
    memory: Tensor | None = None
    memory_mask: Tensor | None = None
    keys: Tensor | None = None

    def __len__(self) -> int:
        return 0 if self.keys is None else self.keys.size(-1)

    def select(self, rows: Int[Tensor, "new_batch"]) -> None:
        """Keep these sequences of the batch, in this order (for beam search)."""
        for layer in self.layers:
            layer.select(rows)
        for name in ("memory", "memory_mask", "keys"):
            tensor = getattr(self, name)
            if tensor is not None:
                setattr(self, name, tensor[rows])


class Transformer(nn.Module):
    """Token ids in, scores over the vocabulary out.

    Three kinds of model, by the number of layers in the config:

    - encoder–decoder: ``model(source_ids, target_ids)`` gives logits for each target position;
    - decoder-only: ``model(target_ids)`` gives logits for each position;
    - encoder-only: ``model.encode(source_ids)`` gives a vector for each token.

    Masks are built from the ids: padding (``config.pad_id``) is never attended to, and the
    decoder never looks ahead.

    Source: Vaswani et al. (2017), figure 1.
    """

    def __init__(self, config: TransformerConfig):
        super().__init__()
        _check_config(config)
        self.config = config
        vocab = config.target_size
        shared = config.tie_embeddings and vocab == config.vocab_size
        has_encoder, has_decoder = config.n_encoder_layers > 0, config.n_decoder_layers > 0
        self.source_embedding = self._embedding(config.vocab_size) if has_encoder else None
        if has_decoder and has_encoder and shared:
            self.target_embedding = self.source_embedding
        else:
            self.target_embedding = self._embedding(vocab) if has_decoder else None
        self.positions = config.make_positions()
        self.embedding_norm = config.make_embedding_norm()
        self.encoder = Encoder(config) if has_encoder else None
        self.decoder = Decoder(config) if has_decoder else None
        tied = config.tie_embeddings or not has_decoder
        self.output = None if tied else nn.Linear(config.d_model, vocab, bias=False)
        self._initialise()

    def _embedding(self, vocab_size: int) -> TokenEmbedding:
        config = self.config
        scale = config.scale_embeddings
        return TokenEmbedding(vocab_size, config.d_model, config.pad_id, scale=scale)

    def _initialise(self) -> None:
        """Glorot's uniform weights and zero biases; embeddings keep their own scale."""
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def forward(
        self,
        source_ids: Int[Tensor, "batch n_src"],
        target_ids: Int[Tensor, "batch n_tgt"] | None = None,
    ) -> Float[Tensor, "batch n vocab"]:
        """Logits for each target position; a decoder-only model takes its ids alone.

        Raises:
            TypeError, ValueError: ids that are not integers (batch, n) of the vocabulary, or not
                the number of arguments that this kind of model takes.
        """
        if self.encoder is None:
            if target_ids is not None:
                raise ValueError("this model has no encoder: call model(ids), with one argument")
            return self.decode(source_ids)
        if self.decoder is None:
            raise ValueError("this model has no decoder: call model.encode(source_ids)")
        if target_ids is None:
            raise ValueError(
                "an encoder–decoder model takes model(source_ids, target_ids), got no target_ids; "
                "for the encoder's vectors alone call model.encode(source_ids)"
            )
        memory, memory_mask = self.encode(source_ids), padding_mask(source_ids, self.config.pad_id)
        return self.decode(target_ids, memory, memory_mask)

    def encode(self, source_ids: Int[Tensor, "batch n"]) -> Float[Tensor, "batch n d_model"]:
        """A vector for each source token, made in view of all others that are not padding."""
        if self.encoder is None:
            raise ValueError("this model has no encoder: its config has n_encoder_layers=0")
        x = self.embedding_norm(self.positions(self.source_embedding(source_ids)))
        return self.encoder(x, padding_mask(source_ids, self.config.pad_id))

    def decode(
        self,
        target_ids: Int[Tensor, "batch n"],
        memory: Float[Tensor, "batch n_src d_model"] | None = None,
        memory_mask: Bool[Tensor, "..."] | None = None,
        *,
        last_only: bool = False,
    ) -> Float[Tensor, "batch n_scored vocab"]:
        """Logits for each target position, which sees itself, those before it, and the memory.

        Args:
            target_ids: (batch, n).
            memory: what ``encode`` made of the source, if the model has an encoder.
            memory_mask: ``padding_mask(source_ids, config.pad_id)``; without it the memory's
                padding is attended to as well, for the memory does not say which of it is padding.
            last_only: score the last position alone, which is all that writing needs: a long text's
                scores over a large vocabulary take much memory, and a good part of the work.

        Raises:
            TypeError, ValueError: ids that are not integers (batch, n) of the vocabulary, a memory
                that is missing, of another batch, or for a model without an encoder.
        """
        self._check_decodes(target_ids, memory)
        keys = padding_mask(target_ids, self.config.pad_id)
        mask = causal_mask(target_ids.size(1)).to(keys.device) & keys
        x = self.embedding_norm(self.positions(self.target_embedding(target_ids)))
        x = self.decoder(x, memory, mask, memory_mask)
        return self.logits(x[:, -1:] if last_only else x)

    def start(self, source_ids: Int[Tensor, "batch n"] | None = None) -> DecoderState:
        """The state before the first target token, the source encoded once and for all."""
        if self.decoder is None:
            raise ValueError("this model has no decoder: its config has n_decoder_layers=0")
        if (self.encoder is None) != (source_ids is None):
            wanted = "no source_ids" if self.encoder is None else "source_ids"
            raise ValueError(f"start() of this model takes {wanted}")
        layers = [LayerCache() for _ in self.decoder.layers]
        if source_ids is None:
            return DecoderState(layers)
        pad_id = self.config.pad_id
        return DecoderState(layers, self.encode(source_ids), padding_mask(source_ids, pad_id))

    def step(
        self, target_ids: Int[Tensor, "batch n"], state: DecoderState, *, last_only: bool = False
    ) -> Float[Tensor, "batch n_scored vocab"]:
        """Like ``decode``, for the tokens that come after those in ``state``, which it extends."""
        self._check_decodes(target_ids, state.memory)
        if len(state):
            check_batch("target", target_ids.size(0), "state", state.keys.size(0))
        x = self.positions(self.target_embedding(target_ids), start=len(state))
        x = self.embedding_norm(x)
        keys = padding_mask(target_ids, self.config.pad_id)
        state.keys = torch.cat([state.keys, keys], dim=-1) if len(state) else keys
        mask = causal_mask(target_ids.size(1), len(state)).to(keys.device) & state.keys
        x = self.decoder(x, state.memory, mask, state.memory_mask, state.layers)
        return self.logits(x[:, -1:] if last_only else x)

    def logits(self, x: Float[Tensor, "batch n d_model"]) -> Float[Tensor, "batch n vocab"]:
        """Scores over the vocabulary, by the embedding matrix if tied, else by ``output``."""
        if self.decoder is None:
            raise ValueError(
                "this model has no decoder to score tokens for: its config has n_decoder_layers=0; "
                "for scores by the embedding matrix call model.source_embedding.logits(x)"
            )
        return self.target_embedding.logits(x) if self.output is None else self.output(x)

    def _check_decodes(self, target_ids: Tensor, memory: Tensor | None) -> None:
        check_ids("target_ids", target_ids)
        if self.decoder is None:
            raise ValueError("this model has no decoder: its config has n_decoder_layers=0")
        if memory is not None:
            check_batch("target", target_ids.size(0), "source", memory.size(0))
