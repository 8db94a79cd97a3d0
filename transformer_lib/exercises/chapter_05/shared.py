"""What several exercises of chapter 5 share."""

from transformer_lib.exercises.data import Text

ONE_HEAD = Text("a single head", "只有一個頭")
AS_MANY_TOKENS_AS_HEADS = Text("as many tokens as heads", "標記和頭一樣多")
ONE_BATCH_DIMENSION = Text(
    "right for exactly one batch dimension. Counted from the end, the places of heads and tokens are the same for any number of batch dimensions.",
    "剛好一個批次維度時是對的。改從最後面往前數，不論有幾個批次維度，頭和標記的位置都一樣。",
)
INTERLEAVED = Text(
    "the columns are dealt out like cards, one to each head in turn. Head i should own d_k columns that stand next to each other.",
    "你像發牌一樣，把行輪流分給各個頭。每個頭應該拿到連在一起的 d_k 行。",
)


def split_heads(x, n_heads):
    return x.unflatten(-1, (n_heads, -1)).transpose(-3, -2)


def split_by_view(x, n_heads):
    *batch, n, d_model = x.shape
    return x.reshape(*batch, n_heads, n, d_model // n_heads)


def split_interleaved(x, n_heads):
    return x.unflatten(-1, (-1, n_heads)).movedim(-1, -3)


def merge_heads(x):
    return x.transpose(-3, -2).flatten(-2)


def merge_by_view(x):
    *batch, n_heads, n, d_k = x.shape
    return x.reshape(*batch, n, n_heads * d_k)
