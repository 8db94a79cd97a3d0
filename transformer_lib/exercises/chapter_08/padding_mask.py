"""Exercise padding-mask of chapter 8: the padding mask."""

import torch

from transformer_lib import masks
from transformer_lib.exercises.data import Case, Exercise, Text, mistakes


def padding_mask(token_ids, pad_id):
    return (token_ids != pad_id)[:, None, None, :]


def _padding_cases():
    right = torch.tensor([[7, 8, 9, 0, 0], [7, 5, 9, 5, 0]])
    return [
        Case(Text("padding on the right", "填充在右邊"), (right, 0)),
        Case(Text("padding on the left", "填充在左邊"), (right.flip(1), 0)),
        Case(
            Text("padding with a number amid the others", "填充的編號夾在其他編號中間"),
            (torch.tensor([[3, 9, 2, 5], [1, 0, 5, 5], [8, 4, 6, 7]]), 5),
        ),
        Case(
            Text("as many sentences as places", "句子數剛好等於長度"),
            (torch.tensor([[4, 1, 1], [4, 6, 1], [4, 6, 0]]), 1),
        ),
        Case(
            Text("padding with number −1", "填充的編號是 −1"), (torch.tensor([[3, 0, -1, -1]]), -1)
        ),
    ]


def _real(token_ids, pad_id):
    return token_ids != pad_id


def _up_to_length(token_ids, pad_id):
    lengths = _real(token_ids, pad_id).sum(1)
    return (torch.arange(token_ids.size(1)) < lengths[:, None])[:, None, None, :]


def _until_first_padding(token_ids, pad_id):
    return _real(token_ids, pad_id).int().cumprod(1).bool()[:, None, None, :]


def _padding_and_causal(token_ids, pad_id):
    return padding_mask(token_ids, pad_id) & masks.causal_mask(token_ids.size(1))


def _padding_by_loops(token_ids, pad_id):
    rows = [[token.item() != pad_id for token in sentence] for sentence in token_ids]
    return torch.tensor(rows).view(token_ids.size(0), 1, 1, -1)


MISTAKES = mistakes(
    ("inverted", lambda token_ids, pad_id: ~padding_mask(token_ids, pad_id),
     "inverted: True stands on the padding. In this book True = may attend (nn.MultiheadAttention's key_padding_mask has it the other way round).",
     "真假顛倒了：填充的地方是 True。本書的慣例是 True＝可以關注（nn.MultiheadAttention 的 key_padding_mask 剛好相反）。"),
    ("query-rows", lambda token_ids, pad_id: _real(token_ids, pad_id)[:, None, :, None],
     "this hides the rows of padding queries, and every key stays visible. It is the keys, the last dimension, that must be hidden.",
     "這樣遮住的是填充的查詢那幾列，所有的鍵都還看得到。要遮的是鍵，也就是最後一個維度。"),
    ("rows-and-columns",
     lambda token_ids, pad_id: (
         padding_mask(token_ids, pad_id) & _real(token_ids, pad_id)[:, None, :, None]
     ),
     "keys and query rows are both hidden. That makes rows which allow nothing. Leave the query rows alone: nobody reads their output.",
     "鍵和查詢的列都遮了，結果有些列什麼都看不到。查詢的列不用管：沒有人會讀它們的輸出。"),
    ("keys-for-each-query",
     lambda token_ids, pad_id: padding_mask(token_ids, pad_id).expand(-1, 1, token_ids.size(1), -1),
     "right, but written out for every query. One row is enough: (batch, 1, 1, n) broadcasts, whatever the number of queries.",
     "內容對了，但每個查詢都寫了一列。一列就夠：(batch, 1, 1, n) 不管有幾個查詢都會廣播。"),
    ("two-dimensions", _real,
     "right, but (batch, n): against (batch, heads, n_q, n_k) the batch would be taken for the queries. Two dimensions of size 1 are missing in between.",
     "內容對了，但形狀是 (batch, n)：和 (batch, heads, n_q, n_k) 廣播時，批次會當成查詢。中間還少兩個大小為 1 的維度。"),
    ("three-dimensions", lambda token_ids, pad_id: _real(token_ids, pad_id)[:, None, :],
     "right, but (batch, 1, n): against (batch, heads, n_q, n_k) the batch would be taken for the heads. One more dimension of size 1 is missing.",
     "內容對了，但形狀是 (batch, 1, n)：和 (batch, heads, n_q, n_k) 廣播時，批次會當成頭。還少一個大小為 1 的維度。"),
    ("batch-as-queries", lambda token_ids, pad_id: _real(token_ids, pad_id)[None, None],
     "the two new dimensions stand in front: (1, 1, batch, n). The batch comes first, then the two.",
     "兩個新的維度加在最前面了：(1, 1, batch, n)。批次要在最前面，然後才是這兩個。"),
    ("dimensions-at-the-end", lambda token_ids, pad_id: _real(token_ids, pad_id)[:, :, None, None],
     "the two new dimensions stand at the end: (batch, n, 1, 1). The keys must be the last.",
     "兩個新的維度加在最後面了：(batch, n, 1, 1)。鍵一定要是最後一個維度。"),
    ("pad-is-zero", lambda token_ids, pad_id: (token_ids != 0)[:, None, None, :],
     "0 is taken for padding, whatever pad_id is: the argument is not used.",
     "不管 pad_id 是多少，你都把 0 當成填充：這個參數沒有用到。"),
    ("larger-than-pad", lambda token_ids, pad_id: (token_ids > pad_id)[:, None, None, :],
     "you compare with >, so tokens with numbers below pad_id are hidden as well. Padding need not be the smallest number.",
     "你用了 >，編號比 pad_id 小的標記也遮住了。填充的編號不一定最小。"),
    ("at-least-pad", lambda token_ids, pad_id: (token_ids >= pad_id)[:, None, None, :],
     "you compare with >=, so the padding itself stays visible. Which comparison says “is not padding”?",
     "你用了 >=，填充本身反而還看得到。要說「不是填充」，該用哪個比較？"),
    ("up-to-the-length", _up_to_length,
     "right where the padding is on the right. You count the real tokens and allow the first so many; with padding on the left these are the wrong ones.",
     "填充在右邊時是對的。你數了真正的標記有幾個，再開放最前面那幾格；填充在左邊時就開錯了。"),
    ("until-the-first-padding", _until_first_padding,
     "everything after the first padding is hidden, real tokens as well. With padding on the left nothing is left.",
     "第一個填充之後全都遮住了，連真正的標記也是。填充在左邊時就什麼都不剩了。"),
    ("causal-too", _padding_and_causal,
     "the causal mask is in it already. Here only the padding is to be hidden; the two are combined later, with &.",
     "你把因果遮罩也放進去了。這一題只要遮填充；兩個遮罩之後再用 & 合起來。"),
    ("additive",
     lambda token_ids, pad_id: torch.zeros(token_ids.shape).masked_fill(
         token_ids == pad_id, -torch.inf
     )[:, None, None, :],
     "these are numbers to be added, 0 and −∞. Here a Boolean mask is asked for.",
     "這是要加到分數上的數（0 和 −∞）。這一題要的是布林遮罩。"),
    ("additive-with-a-number",
     lambda token_ids, pad_id: torch.zeros(token_ids.shape).masked_fill(
         token_ids == pad_id, -1e9
     )[:, None, None, :],
     "these are numbers to be added, 0 and −10⁹. Here a Boolean mask is asked for.",
     "這是要加到分數上的數（0 和 −10⁹）。這一題要的是布林遮罩。"),
    ("ids-themselves", lambda token_ids, pad_id: token_ids[:, None, None, :],
     "the shape is right, but these are the ids themselves. Which of them are padding? A comparison with pad_id says so.",
     "形狀對了，但裡面還是編號本身。哪些是填充？和 pad_id 比較就知道。"),
    ("inverted-two-dimensions", lambda token_ids, pad_id: token_ids == pad_id,
     "inverted, and (batch, n): True should stand on the real tokens, and two dimensions of size 1 are missing in between.",
     "真假顛倒了，形狀也只有 (batch, n)：真正的標記才是 True，而且中間還少兩個大小為 1 的維度。"),
    ("everything-allowed",
     lambda token_ids, pad_id: torch.ones_like(token_ids).bool()[:, None, None, :],
     "every key is visible, the padding too.",
     "每個鍵都看得到，填充也是。"),
    ("inverted-three-dimensions", lambda token_ids, pad_id: (token_ids == pad_id)[:, None, :],
     "inverted, and (batch, 1, n): True should stand on the real tokens, and one more dimension of size 1 is missing.",
     "真假顛倒了，形狀也只有 (batch, 1, n)：真正的標記才是 True，而且還少一個大小為 1 的維度。"),
    ("smaller-than-pad", lambda token_ids, pad_id: (token_ids < pad_id)[:, None, None, :],
     "you compare with <, so tokens with numbers above pad_id are hidden. Padding need not be the largest number.",
     "你用了 <，編號比 pad_id 大的標記都遮住了。填充的編號不一定最大。"),
    ("lengths", lambda token_ids, pad_id: _real(token_ids, pad_id).sum(1),
     "these are the numbers of real tokens in each sentence. Asked for is, for every place, whether a real token stands there.",
     "這是每個句子有幾個真正的標記。題目要的是：每個位置上，是不是真正的標記。"),
    ("is-not", lambda token_ids, pad_id: token_ids is not pad_id,
     "“is not” asks whether two Python objects are the same one, and gives a single answer. Entry by entry compares !=.",
     "is not 問的是兩個 Python 物件是不是同一個，只會有一個答案。要逐項比較的話，!= 才行。"),
    ("batch-last", lambda token_ids, pad_id: _real(token_ids, pad_id).T[:, None, None, :],
     "batch and places are exchanged: (n, 1, 1, batch). The batch comes first, the keys last.",
     "批次和位置對調了：(n, 1, 1, batch)。批次要在最前面，鍵在最後面。"),
    ("rows-and-columns-three-dimensions",
     lambda token_ids, pad_id: (
         _real(token_ids, pad_id)[:, None, :] & _real(token_ids, pad_id)[:, :, None]
     ),
     "(batch, n, n), with the query rows hidden as well. Only keys are to be hidden, the same for every query: (batch, 1, 1, n).",
     "形狀是 (batch, n, n)，連查詢的列也遮了。要遮的只有鍵，而且每個查詢都一樣：(batch, 1, 1, n)。"),
)  # fmt: skip

EXERCISE = Exercise(
    name="padding-mask",
    chapter=8,
    title=Text("The padding mask", "填充遮罩"),
    difficulty=1,
    minutes=5,
    reference=padding_mask,
    cases=_padding_cases,
    alternatives=(
        masks.padding_mask,
        lambda token_ids, pad_id: token_ids.ne(pad_id).unsqueeze(1).unsqueeze(2),
        lambda token_ids, pad_id: ~(token_ids == pad_id).view(len(token_ids), 1, 1, -1),
        _padding_by_loops,
    ),
    mistakes=MISTAKES,
)
