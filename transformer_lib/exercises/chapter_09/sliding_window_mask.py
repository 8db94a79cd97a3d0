"""Exercise sliding-window-mask of chapter 9: A sliding window."""

import torch

from transformer_lib.exercises.data import Case, Exercise, Text, mistakes
from transformer_lib.exercises.families import edited


def _window(seen):
    """The mask of those places where ``seen(i, j, window)``."""

    def answer(n, window):
        i = torch.arange(n)
        return seen(i[:, None], i, window)

    return answer


sliding_window_mask = _window(lambda i, j, window: (j <= i) & (i - j < window))


def _window_cases():
    label = Text("{n} tokens, window {window}", "{n} 個標記，視窗 {window}")
    sizes = (7, 3), (6, 2), (5, 1), (4, 9), (5, 4), (1, 1)
    return [Case(label.format(n=n, window=window), (n, window)) for n, window in sizes]


def _window_by_loops(n, window):
    mask = torch.zeros(n, n, dtype=torch.bool)
    for i in range(n):
        mask[i, max(0, i - window + 1) : i + 1] = True
    return mask


MISTAKES = mistakes(
    ("two-sided", _window(lambda i, j, w: (i - j).abs() < w),
     "the window reaches as far ahead as back. In a causal model nobody sees what comes later.",
     "視窗往過去看多遠，往未來也看多遠。在因果模型裡，誰都不能看後面的標記。"),
    ("centred", _window(lambda i, j, w: (i - j).abs() <= w // 2),
     "the window is centred on the position, half of it lies ahead. It ends at the position itself.",
     "視窗以這個位置為中心，有一半在後面。視窗的終點應該是這個位置自己。"),
    ("one-too-wide", _window(lambda i, j, w: (j <= i) & (i - j <= w)),
     "one position too many: itself and the window − 1 before it make window in all.",
     "多看了一個位置：自己加上前面 window − 1 個，總共是 window 個。"),
    ("one-too-narrow", _window(lambda i, j, w: (j <= i) & (i - j < w - 1)),
     "one position too few: itself and the window − 1 before it make window in all.",
     "少看了一個位置：自己加上前面 window − 1 個，總共是 window 個。"),
    ("itself-hidden", _window(lambda i, j, w: (j < i) & (i - j < w)),
     "a position does not see itself. The diagonal is allowed.",
     "每個位置看不到自己。對角線應該是允許的。"),
    ("the-window-before-it", _window(lambda i, j, w: (j < i) & (i - j <= w)),
     "you take the window positions before it, without itself. It counts itself as one of them.",
     "你取的是它前面的 window 個，不包含自己。自己也要算一個。"),
    ("no-window", _window(lambda i, j, w: j <= i),
     "this is the causal mask: window has no effect. What is too far back has to go.",
     "這是因果遮罩：window 沒有作用。太前面的也要遮住。"),
    ("not-causal", _window(lambda i, j, w: i - j < w),
     "the past is cut off rightly, but the future is seen.",
     "過去遮對了，但還看得到未來。"),
    ("the-future", _window(lambda i, j, w: (j >= i) & (j - i < w)),
     "the band lies above the diagonal: position i sees itself and what comes after it. Rows are queries, columns are keys.",
     "這條帶子在對角線上方：位置 i 看到的是自己和後面的標記。列是查詢，行是鍵。"),
    ("inverted", _window(lambda i, j, w: (j > i) | (i - j >= w)),
     "inverted: here True means that a position may be seen.",
     "反了：這裡 True 代表可以看。"),
    ("what-lies-outside", _window(lambda i, j, w: (j <= i) & (i - j >= w)),
     "these are the positions too far back: just those that the window leaves out.",
     "這些是太前面的位置：正好是視窗看不到的。"),
    ("blocks", _window(lambda i, j, w: i // w == j // w),
     "the sequence is cut into blocks whose members see each other. The window moves along with each position.",
     "你把序列切成一塊一塊，同一塊裡互相看得到。視窗應該跟著每個位置移動。"),
    ("causal-blocks", _window(lambda i, j, w: (i // w == j // w) & (j <= i)),
     "the sequence is cut into blocks: the first position of each sees itself alone. The window moves along with each position.",
     "你把序列切成一塊一塊：每一塊的第一個位置只看得到自己。視窗應該跟著每個位置移動。"),
    ("the-last-keys", _window(lambda i, j, w: (j <= i) & (j >= len(i) - w)),
     "you count back from the end of the sequence. The window is counted back from each position.",
     "你是從序列的結尾往回數。視窗要從每個位置各自往回數。"),
    ("the-first-keys", _window(lambda i, j, w: (j <= i) & (j < w)),
     "only the first keys are seen. The window moves along with the position.",
     "只看得到最前面的鍵。視窗應該跟著位置移動。"),
    ("only-the-edge", _window(lambda i, j, w: i - j == w - 1),
     "only the farthest position of the window is seen. Those between it and i as well!",
     "只看得到視窗裡最遠的那一個。它和 i 之間的也要看得到。"),
    ("dilated", _window(lambda i, j, w: (j <= i) & ((i - j) % w == 0)),
     "you take every window-th position back to the beginning. A window holds neighbours.",
     "你每隔 window 個取一個，一路取到最前面。視窗裡應該是相鄰的位置。"),
    ("diagonal-alone", _window(lambda i, j, w: i == j),
     "each position sees itself alone, whatever the window.",
     "不管 window 是多少，每個位置都只看得到自己。"),
    ("sign-of-the-diagonal",
     lambda n, window: torch.ones(n, n, dtype=torch.bool).tril().triu(window - 1),
     "all is hidden but for a window of 1: triu(k) with a positive k begins above the diagonal, where tril has left nothing. Diagonals below are counted negative.",
     "除了視窗是 1 的時候，全都遮住了：triu(k) 的 k 是正數時，從對角線上方開始，而那裡已經被 tril 清掉了。對角線下方要用負數來數。"),
    ("up-to-the-window-ahead", _window(lambda i, j, w: j - i < w),
     "this hides only what lies window or more positions ahead: the future is seen, and all of the past. In tril(k), a positive k moves the edge up.",
     "這只遮住了後面第 window 個起的位置：看得到未來，過去也全都看得到。tril(k) 的 k 是正數時，邊界會往上移。"),
    ("window-or-more-ahead", _window(lambda i, j, w: j - i >= w),
     "these are the positions window or more ahead of each. In triu(k), a positive k moves the edge up; diagonals below are counted negative.",
     "這些是後面第 window 個起的位置。triu(k) 的 k 是正數時，邊界會往上移；對角線下方要用負數來數。"),
    ("negative-start", edited(_window_by_loops, "max(0, i - window + 1)", "i - window + 1"),
     "right except for the first rows: there i − window + 1 is negative, and a slice counts a negative start from the end. Begin at max(0, …).",
     "除了最前面幾列，都是對的：那裡的 i − window + 1 是負數，而切片會把負的起點當成從結尾數。起點要用 max(0, …)。"),
    ("starts-at-itself", _window(lambda i, j, w: (j >= i.clamp(max=len(i) - w)) & (j < i + w)),
     "the window starts at the position and reaches ahead. It ends at the position.",
     "你的視窗從這個位置開始，一路往後看。這個位置應該是視窗的終點。"),
    ("always-full", _window(lambda i, j, w: (j > i - w) & (j < (i + 1).clamp(min=w))),
     "the first rows are filled up to window positions with later ones. There are fewer before them, and the future stays hidden.",
     "最前面幾列用後面的位置補滿到 window 個了。前面不夠就少看幾個，未來還是要遮住。"),
    ("added-numbers",
     lambda n, window: torch.zeros(n, n, dtype=torch.float64).masked_fill(
         ~sliding_window_mask(n, window), -torch.inf
     ),
     "this is a mask to be added, 0 and −∞. Asked for is a Boolean one: True where a position may be seen.",
     "這是用來加的遮罩，內容是 0 和 −∞。題目要的是布林遮罩：可以看的地方是 True。"),
    ("everything", _window(lambda i, j, w: (i >= 0) & (j >= 0)),
     "everybody sees everything: neither the future nor what is too far back is hidden.",
     "誰都看得到全部：未來的、太前面的，都沒有遮住。"),
)  # fmt: skip

EXERCISE = Exercise(
    name="sliding-window-mask",
    chapter=9,
    title=Text("A sliding window", "滑動視窗"),
    difficulty=1,
    minutes=8,
    reference=sliding_window_mask,
    cases=_window_cases,
    alternatives=(
        _window_by_loops,
        lambda n, window: torch.ones(n, n, dtype=torch.bool).tril().triu(1 - window),
        lambda n, window: torch.tensor([[0 <= i - j < window for j in range(n)] for i in range(n)]),
        lambda n, window: torch.ones(n, n).tril() - torch.ones(n, n).tril(-window) == 1,
    ),
    mistakes=MISTAKES,
)
