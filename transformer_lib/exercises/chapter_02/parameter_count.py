"""Exercise parameter-count of chapter 2: count any Transformer."""

from collections.abc import Callable

import torch

from transformer_lib.exercises.data import Case, Exercise, Text, mistakes
from transformer_lib.model import TransformerConfig


def parameter_count(config):
    """The layers' attentions, feed-forward networks and norms; then the rows of the tables."""
    return (
        _attentions(config) * _attention(config)
        + _layers(config) * _feed_forward(config)
        + _norms(config) * _norm(config)
        + _tables(config) * config.d_model
    )


def _attention(config):
    return 4 * config.d_model**2 + 4 * config.d_model * config.bias


def _feed_forward(config):
    hidden = 2 if config.activation == "swiglu" else 1  # matrices that lead to d_ff: W_1, W_3
    weights = (hidden + 1) * config.d_model * config.d_ff
    return weights + hidden * config.d_ff + config.d_model


def _norm(config):
    return config.d_model if config.norm == "rms" else 2 * config.d_model


def _final_norms(config):
    wanted = config.pre_norm if config.final_norm is None else config.final_norm
    return _stacks(config) * wanted


def _stacks(config):
    return (config.n_encoder_layers > 0) + (config.n_decoder_layers > 0)


def _tables(config):
    """How many rows of length d_model there are outside the layers."""
    source, target = _tokens(config)
    output = 0 if config.tie_embeddings else target
    return (source if _is_shared(config) else source + target) + output + _places(config)


def _is_shared(config):
    """Whether one matrix embeds both languages."""
    source, target = _tokens(config)
    return config.tie_embeddings and source == target


def _tokens(config):
    """Sizes of the vocabularies there are: the encoder's and the decoder's, or 0."""
    source = config.vocab_size if config.n_encoder_layers else 0
    return source, config.target_size if config.n_decoder_layers else 0


def _places(config):
    return config.max_len if config.positions == "learned" else 0


def _cross(config):
    return config.n_decoder_layers if config.n_encoder_layers else 0


def _attentions(config):
    return config.n_encoder_layers + config.n_decoder_layers + _cross(config)


def _layers(config):
    return config.n_encoder_layers + config.n_decoder_layers


def _norms(config):
    return 2 * _layers(config) + _cross(config) + _final_norms(config)


def _is_swiglu(config):
    return config.activation == "swiglu"


_SMALL = {"d_model": 6, "n_heads": 3, "d_ff": 11, "n_encoder_layers": 2, "n_decoder_layers": 3}


def _count_cases():
    def case(en, zh, **fields):
        return Case(Text(en, zh), (TransformerConfig(**({"vocab_size": 17} | _SMALL | fields)),))

    modern = {"norm": "rms", "activation": "swiglu", "pre_norm": True, "tie_embeddings": False}
    return [
        case("a small model", "小模型"),
        Case(Text("the paper's base model", "論文的 base 模型"), (TransformerConfig.base(),)),
        case("matrices of their own (not tied)", "矩陣不共用", tie_embeddings=False),
        case("two vocabularies", "兩份詞彙表", target_vocab_size=23),
        case("biases in the attention", "注意力有偏置", bias=True),
        case("learned positions", "學出來的位置", positions="learned", max_len=29),
        case("pre-norm", "pre-norm", pre_norm=True),
        case("final_norm=True", "final_norm=True", final_norm=True),
        case(
            "pre-norm with final_norm=False",
            "pre-norm，但 final_norm=False",
            pre_norm=True,
            final_norm=False,
        ),
        case("RMSNorm", "RMSNorm", norm="rms"),
        case("SwiGLU", "SwiGLU", activation="swiglu"),
        case("an encoder alone", "只有編碼器", n_decoder_layers=0),
        case("a decoder alone", "只有解碼器", n_encoder_layers=0),
        case(
            "an encoder alone, not tied",
            "只有編碼器，矩陣不共用",
            n_decoder_layers=0,
            tie_embeddings=False,
        ),
        case("everything modern", "全部用現代的做法", target_vocab_size=23, bias=True, **modern),
    ]


def _count_layer_by_layer(config):
    """Written as one would go through the figure."""
    d = config.d_model
    attention = 4 * d * d
    if config.bias:
        attention += 4 * d
    feed_forward = d * config.d_ff + config.d_ff + config.d_ff * d + d
    if config.activation == "swiglu":
        feed_forward += d * config.d_ff + config.d_ff
    norm = {"layer": 2 * d, "rms": d}[config.norm]
    final = norm if config.final_norm or (config.final_norm is None and config.pre_norm) else 0
    total = d * config.max_len if config.positions == "learned" else 0
    if config.n_encoder_layers:
        layer = attention + feed_forward + 2 * norm
        total += config.vocab_size * d + config.n_encoder_layers * layer + final
    if config.n_decoder_layers:
        layer = attention + feed_forward + 2 * norm
        if config.n_encoder_layers:
            layer += attention + norm
        total += config.n_decoder_layers * layer + final
        same = config.tie_embeddings and config.target_size == config.vocab_size
        if not (same and config.n_encoder_layers):
            total += config.target_size * d
        if not config.tie_embeddings:
            total += config.target_size * d
    return total


def _off_by(difference: Callable) -> Callable:
    """An answer that is wrong by ``difference(config)``."""
    return lambda config: parameter_count(config) + difference(config)


def _with_one_vocabulary(config):
    fields = {**vars(config), "target_vocab_size": None}
    return TransformerConfig(**fields)


MISTAKES = mistakes(
    ("feed-forward-biases-forgotten",
     _off_by(lambda c: -_layers(c) * (_feed_forward(c) - (2 + _is_swiglu(c)) * c.d_model * c.d_ff)),
     "the biases of the feed-forward network are missing. `bias=False` is about the attention; the feed-forward network always has them.",
     "漏了前饋神經網路的偏置。`bias=False` 只管注意力；前饋神經網路一定有偏置。"),
    ("second-feed-forward-bias-forgotten", _off_by(lambda c: -_layers(c) * c.d_model),
     "a bias is missing in each feed-forward network: the one of the second product, which leads back to d_model.",
     "每個前饋神經網路都少了一個偏置：第二次相乘、回到 d_model 時，還要再加一次。"),
    ("first-feed-forward-bias-forgotten", _off_by(lambda c: -_layers(c) * c.d_ff * (1 + _is_swiglu(c))),
     "a bias is missing in each feed-forward network: the one of the hidden layer. How long is that layer?",
     "每個前饋神經網路都少了一個偏置：隱藏層的那一個。隱藏層有多長？"),
    ("feed-forward-biases-both-of-d_model",
     _off_by(lambda c: _layers(c) * (1 + _is_swiglu(c)) * (c.d_model - c.d_ff)),
     "you take every bias of the feed-forward network as long as d_model. A bias is as long as the product it is added to.",
     "你把前饋神經網路的偏置都當成 d_model 那麼長。偏置要和它加上去的那個乘積一樣長。"),
    ("attention-biases-forgotten", _off_by(lambda c: -4 * c.d_model * c.bias * _attentions(c)),
     "right without biases in the attention. With bias=True each of its four matrices has one.",
     "注意力沒有偏置時是對的。但 bias=True 時，它的四個矩陣都各有一個偏置。"),
    ("attention-biases-always", _off_by(lambda c: 4 * c.d_model * (1 - c.bias) * _attentions(c)),
     "you count biases in the attention that are not there. Look at config.bias.",
     "你把注意力裡沒有的偏置也算進去了。請看 config.bias。"),
    ("attention-bias-of-w_o-forgotten", _off_by(lambda c: -c.d_model * c.bias * _attentions(c)),
     "with bias=True a bias is missing in each attention. W_Q, W_K and W_V have theirs; which matrix comes after them?",
     "bias=True 時，每個注意力都少了一個偏置。W_Q、W_K、W_V 都有了；它們後面還有哪個矩陣？"),
    ("w_o-forgotten", _off_by(lambda c: -_attentions(c) * (c.d_model**2 + c.d_model * c.bias)),
     "a matrix is missing in each attention. After the heads are put side by side again, something mixes them.",
     "每個注意力都少了一個矩陣。各個頭併回一起之後，還要再混合一次。"),
    ("matrices-for-each-head", _off_by(lambda c: _attentions(c) * (c.n_heads - 1) * 4 * c.d_model**2),
     "you multiply by the number of heads. The heads share the width d_model among them: each has d_model / n_heads of its columns.",
     "你多乘了頭的個數。所有的頭一起分 d_model 的寬度，每個頭只分到 d_model / n_heads 行。"),
    ("cross-attention-forgotten", _off_by(lambda c: -_cross(c) * (_attention(c) + _norm(c))),
     "the decoder's layers are counted like the encoder's. They have one sublayer more, with a norm of its own.",
     "你把解碼器的層當成編碼器的層來算了。解碼器每層多一個子層，還有它自己的正規化。"),
    ("cross-attention-forgotten-but-its-norm", _off_by(lambda c: -_cross(c) * _attention(c)),
     "the norms are right, but an attention is missing in each layer of the decoder: how many does it have in the figure?",
     "正規化算對了，但解碼器的每一層都少了一個注意力：圖裡的解碼器層有幾個？"),
    ("norm-of-cross-attention-forgotten", _off_by(lambda c: -_cross(c) * _norm(c)),
     "almost: a norm is missing in each layer of the decoder. Every sublayer has one.",
     "就差一點：解碼器的每一層都少了一個正規化。每個子層都有一個。"),
    ("cross-attention-without-an-encoder",
     _off_by(lambda c: (c.n_decoder_layers - _cross(c)) * (_attention(c) + _norm(c))),
     "right with an encoder. Without one there is no memory to read, and the decoder's layers have no sublayer for it.",
     "有編碼器時是對的。沒有編碼器就沒有記憶可讀，解碼器的層也就沒有那個子層。"),
    ("norms-forgotten", _off_by(lambda c: -_norms(c) * _norm(c)),
     "the norms are missing. They have few parameters, but they have some: γ and β.",
     "漏了正規化。它的參數很少，但不是沒有：γ 和 β。"),
    ("one-norm-per-layer", _off_by(lambda c: -(_layers(c) + _cross(c)) * _norm(c)),
     "you count one norm a layer. In the figure there is one after each sublayer.",
     "你每一層只算了一個正規化。圖裡每個子層後面都有一個。"),
    ("beta-forgotten", _off_by(lambda c: -_norms(c) * (_norm(c) - c.d_model)),
     "right with RMSNorm, but a layer norm has two vectors: γ and β.",
     "用 RMSNorm 時是對的，但層正規化有兩個向量：γ 和 β。"),
    ("beta-in-rms-norm", _off_by(lambda c: _norms(c) * (2 * c.d_model - _norm(c))),
     "right with the layer norm. RMSNorm subtracts no mean and adds no β.",
     "用層正規化時是對的。RMSNorm 不減平均，也沒有 β。"),
    ("final-norms-forgotten", _off_by(lambda c: -_final_norms(c) * _norm(c)),
     "right while nothing follows the last layer. With pre-norm, or final_norm=True, a norm does.",
     "最後一層之後沒有別的東西時，是對的。但 pre-norm 或 final_norm=True 時，後面還有正規化。"),
    ("one-final-norm", _off_by(lambda c: (min(_final_norms(c), 1) - _final_norms(c)) * _norm(c)),
     "you count one final norm for the whole model. Encoder and decoder end with one each.",
     "整個模型你只算了一個最後的正規化。編碼器和解碼器的結尾各有一個。"),
    ("final-norm-by-pre_norm-alone",
     _off_by(lambda c: (_stacks(c) * c.pre_norm - _final_norms(c)) * _norm(c)),
     "you go by pre_norm alone. Where final_norm is not None, it decides.",
     "你只看了 pre_norm。final_norm 不是 None 的時候，要以它為準。"),
    ("final-norm-by-final_norm-alone",
     _off_by(lambda c: (_stacks(c) * bool(c.final_norm) - _final_norms(c)) * _norm(c)),
     "final_norm is None by default, and None does not mean no: then pre_norm decides.",
     "final_norm 預設是 None，而 None 不代表沒有：這時要看 pre_norm。"),
    ("embedding-twice", _off_by(lambda c: _is_shared(c) * c.vocab_size * c.d_model),
     "the embedding is counted twice. Tied, and with one vocabulary, source and target share one matrix.",
     "嵌入矩陣算了兩次。矩陣共用、詞彙表又只有一份的時候，來源和目標用的是同一個矩陣。"),
    ("tied-output-counted", _off_by(lambda c: c.tie_embeddings * _tokens(c)[1] * c.d_model),
     "you count a matrix for the output that is not there: tied, the embedding's own matrix gives the scores.",
     "你多算了輸出用的矩陣：矩陣共用時，輸出的分數就是用嵌入矩陣算的。"),
    ("embedding-three-times",
     _off_by(lambda c: c.tie_embeddings * _tokens(c)[1] * c.d_model + _is_shared(c) * c.vocab_size * c.d_model),
     "you count source, target and output each with a matrix of its own, also where they share it: look at tie_embeddings.",
     "來源、目標和輸出，你各算了一個矩陣，連共用的時候也是：請看 tie_embeddings。"),
    ("output-forgotten", _off_by(lambda c: -(not c.tie_embeddings) * _tokens(c)[1] * c.d_model),
     "not tied, the output has a matrix of its own; it is missing.",
     "矩陣不共用時，輸出有自己的矩陣；你漏了它。"),
    ("always-tied",
     _off_by(lambda c: (
         -(
             (not c.tie_embeddings)
             * c.d_model
             * (_tokens(c)[1] + (min(_tokens(c)) if len(set(_tokens(c))) == 1 else 0))
         )
     )),
     "you count one matrix for everything, also with tie_embeddings=False. How many are there then?",
     "tie_embeddings=False 時，你還是只算了一個矩陣。這時總共有幾個？"),
    ("output-of-an-encoder-alone",
     _off_by(lambda c: (not c.tie_embeddings) * (not c.n_decoder_layers) * c.vocab_size * c.d_model),
     "an encoder alone gives vectors, not scores: it has no output matrix.",
     "只有編碼器時，輸出的是向量，不是分數：沒有輸出矩陣。"),
    ("target-vocabulary-ignored",
     _off_by(lambda c: parameter_count(_with_one_vocabulary(c)) - parameter_count(c)),
     "you take vocab_size for both languages. With target_vocab_size the decoder has a vocabulary, and an embedding, of its own.",
     "兩種語言你都用了 vocab_size。有 target_vocab_size 時，解碼器有自己的詞彙表，也有自己的嵌入矩陣。"),
    ("embedding-forgotten", _off_by(lambda c: -(_tables(c) - _places(c)) * c.d_model),
     "the layers are right; the embedding is missing.",
     "各層都算對了；漏了嵌入矩陣。"),
    ("sinusoids-counted", _off_by(lambda c: (c.max_len - _places(c)) * c.d_model),
     "the sinusoidal positions are counted. They are computed from a formula: nothing is learned.",
     "你把正弦位置編碼也算進去了。它是用公式算出來的，沒有東西要學。"),
    ("learned-positions-forgotten", _off_by(lambda c: -_places(c) * c.d_model),
     "right with sinusoidal positions. Learned ones are a matrix: a row for each position.",
     "用正弦位置編碼時是對的。學出來的位置是一個矩陣：每個位置一列。"),
    ("learned-positions-twice", _off_by(lambda c: (_stacks(c) - 1) * _places(c) * c.d_model),
     "the learned positions are counted twice. Encoder and decoder share them here.",
     "學出來的位置算了兩次。在這裡，編碼器和解碼器共用它。"),
    ("third-matrix-of-swiglu-forgotten",
     _off_by(lambda c: -_layers(c) * _is_swiglu(c) * (c.d_model + 1) * c.d_ff),
     "right with ReLU. SwiGLU has a third matrix, with its bias: the gate.",
     "用 ReLU 時是對的。SwiGLU 還有第三個矩陣（連同偏置）：閘門。"),
    ("bias-of-the-gate-forgotten", _off_by(lambda c: -_layers(c) * _is_swiglu(c) * c.d_ff),
     "almost: with SwiGLU the third matrix has a bias as well.",
     "就差一點：SwiGLU 的第三個矩陣也有偏置。"),
    ("one-layer",
     _off_by(lambda c: (
         -(_layers(c) - _stacks(c)) * (_attention(c) + _feed_forward(c) + 2 * _norm(c))
         - max(_cross(c) - 1, 0) * (_attention(c) + _norm(c))
     )),
     "you count one layer of each stack. Every layer has weights of its own.",
     "編碼器和解碼器你都只算了一層。每一層都有自己的權重。"),
)  # fmt: skip

EXERCISE = Exercise(
    name="parameter-count",
    chapter=2,
    title=Text("Count any Transformer", "數任何一個 Transformer 的參數"),
    difficulty=3,
    minutes=20,
    reference=parameter_count,
    cases=_count_cases,
    tolerance=1e-9,  # of 63 million: every single parameter counts
    alternatives=(
        _count_layer_by_layer,
        lambda config: float(_count_layer_by_layer(config)),
        lambda config: torch.tensor(_count_layer_by_layer(config)),
    ),
    mistakes=MISTAKES,
)
