"""Exercises of chapter 8, the decoder: the right answers, and the wrong ones people give."""

import math
from collections.abc import Callable
from numbers import Real

import torch
import torch.nn.functional as F

from transformer_lib import attention, masks
from transformer_lib.exercises.data import Case, Exercise, Mistake, Text
from transformer_lib.exercises.inputs import (
    A_BATCH,
    BATCH_AND_HEADS,
    LARGE_SCORES,
    ONE_SEQUENCE,
    SQUARE,
    by_hand,
    normal,
)


def _mistake(name: str, implementation: Callable, en: str, zh: str) -> Mistake:
    return Mistake(name, implementation, Text(en, zh))


# --- with a pencil ------------------------------------------------------------------------


def _number(name: str, value: Real, en: str, zh: str) -> Mistake:
    return _mistake(name, lambda: value, en, zh)


PENCIL_CAUSAL = Exercise(
    name="pencil-causal",
    chapter=8,
    title=Text("A causal row with a pencil", "用紙筆算因果遮罩的一列"),
    difficulty=1,
    minutes=4,
    reference=lambda: 0.25,
    cases=by_hand,
    tolerance=1e-3,
    alternatives=(lambda: 1 / 4, lambda: 2 / 8, lambda: torch.tensor(0.25)),
    mistakes=(
        _number(
            "future-included",
            2 / 17,
            "2/17: the fourth key is in the sum as well. May the third token see it?",
            "2/17：你把第四個鍵也加進總和了。第三個標記看得到它嗎？",
        ),
        _number(
            "diagonal-blocked",
            2 / 3,
            "2/3: the third key is missing from the sum. Every token may see itself.",
            "2/3：總和裡少了第三個鍵。每個標記都可以看自己。",
        ),
        _number(
            "only-the-first-pair",
            2 / 7,
            "2/7 leaves the second key out: its score is 0, but exp(0) is not.",
            "2/7 漏了第二個鍵：它的分數是 0，但 exp(0) 不是 0。",
        ),
        _number(
            "scores-as-weights",
            math.log(2) / (math.log(2) + math.log(5)),
            "you have divided the scores themselves. First comes exp.",
            "你直接拿分數相除了。要先取 exp。",
        ),
        _number(
            "not-normalised",
            2,
            "2 is exp of the score. Divide by the sum over all keys that may be seen.",
            "2 是分數取 exp 的結果。還要除以所有看得到的鍵的總和。",
        ),
        _number(
            "own-weight",
            0.625,
            "5/8 is the weight of the third token on itself. The first key was asked for.",
            "5/8 是第三個標記對自己的權重。題目問的是第一個鍵。",
        ),
        _number(
            "second-key",
            0.125,
            "1/8 is the weight on the second key. The first was asked for.",
            "1/8 是對第二個鍵的權重。題目問的是第一個。",
        ),
        _number(
            "uniform",
            1 / 3,
            "1/3 would be right for three equal scores; these differ. Or is it ln 2 / ln 8? "
            "First comes exp.",
            "三個分數都一樣時才是 1/3，這裡的分數不同。還是你算的是 ln 2 / ln 8？要先取 exp。",
        ),
        _number(
            "first-token-sees-itself",
            1,
            "1 is what the first token gives itself. The row asked for belongs to the third query.",
            "1 是第一個標記看自己的權重。題目問的是第三個查詢那一列。",
        ),
        _number(
            "sum-alone",
            8,
            "8 is the sum 2 + 1 + 5. Which part of it belongs to the first key?",
            "8 是總和 2 + 1 + 5。其中屬於第一個鍵的占多少？",
        ),
        _number(
            "score-itself",
            math.log(2),
            "ln 2 is the score. The weight comes from exp of it, divided by a sum.",
            "ln 2 是分數。權重要先取 exp，再除以總和。",
        ),
        _number(
            "scores-as-weights-with-the-future",
            math.log(2) / math.log(90),
            "you have divided the scores themselves, and the fourth key, which lies in the "
            "future, is in the sum. First hide it, then take exp.",
            "你直接拿分數相除，而且把未來的第四個鍵也加進去了。先遮住它，再取 exp。",
        ),
        _number(
            "exp-twice",
            math.exp(2) / (math.exp(2) + math.exp(1) + math.exp(5)),
            "exp has been taken twice: exp(ln 2) is 2 already.",
            "你取了兩次 exp：exp(ln 2) 就已經是 2 了。",
        ),
        _number(
            "percent",
            25,
            "25 % is right, but as a number it is written 0.25.",
            "25% 沒錯，但寫成數字是 0.25。",
        ),
    ),
)

PENCIL_CACHED_PAIRS = Exercise(
    name="pencil-cached-pairs",
    chapter=8,
    title=Text("Pairs with a cache", "快取裡的配對數"),
    difficulty=1,
    minutes=3,
    reference=lambda: 18,
    cases=by_hand,
    alternatives=(lambda: 5 + 6 + 7, lambda: 18.0, lambda: torch.tensor(18)),
    mistakes=(
        _number(
            "cache-forgotten",
            6,
            "6 = 1 + 2 + 3 are the pairs among the new words. The four in the cache are seen too.",
            "6 = 1 + 2 + 3 只算了新詞彼此的配對。快取裡的四個詞也看得到。",
        ),
        _number(
            "not-themselves",
            15,
            "15 = 4 + 5 + 6: the new words do not see themselves. They may.",
            "15 = 4 + 5 + 6：你沒讓新詞看自己。每個詞都可以看自己。",
        ),
        _number(
            "whole-square",
            28,
            "28 = 1 + 2 + … + 7 counts the queries of the old words too. Only the new ones ask.",
            "28 = 1 + 2 + … + 7 連舊詞的查詢都算了。現在只有新詞在問。",
        ),
        _number(
            "no-mask",
            21,
            "21 = 3 · 7 is the whole mask. Some of these pairs look ahead.",
            "21 = 3 · 7 是整個遮罩的格數。其中有些格是在偷看後面。",
        ),
        _number(
            "hidden-pairs",
            3,
            "3 are the pairs that are hidden. Those that may attend were asked for.",
            "3 是遮住的配對數。題目問的是可以關注的。",
        ),
        _number(
            "cache-only",
            12,
            "12 = 3 · 4 are the pairs with the cache. The new words see each other too, backwards.",
            "12 = 3 · 4 只算了新詞對快取的配對。新詞之間，後面的也看得到前面的。",
        ),
        _number(
            "square-of-the-keys",
            49,
            "49 = 7 · 7: how many rows has the mask? Only the new words are queries.",
            "49 = 7 · 7：遮罩有幾列？只有新詞才是查詢。",
        ),
        _number(
            "one-more-each",
            24,
            "24 leaves out how far each sees: how many keys has the first of the new words before "
            "it, and with itself?",
            "24 多算了：第一個新詞前面有幾個鍵，加上自己又是幾個？",
        ),
        _number(
            "last-row-only",
            7,
            "7 are the keys of the last word. The two before it ask as well.",
            "7 只是最後一個詞看得到的鍵。它前面的兩個新詞也要問。",
        ),
        _number(
            "one-row-too-many",
            22,
            "22 = 4 + 5 + 6 + 7 has four rows. Only the three new words ask; what does the first "
            "of them see?",
            "22 = 4 + 5 + 6 + 7 有四列。會問的只有三個新詞；第一個新詞看得到幾個鍵？",
        ),
        _number(
            "one-word-forgotten",
            11,
            "11 = 5 + 6: the third of the new words asks as well.",
            "11 = 5 + 6：第三個新詞也要問。",
        ),
        _number(
            "old-words-only",
            10,
            "10 = 1 + 2 + 3 + 4 are the pairs among the old words. Those no longer ask: the "
            "queries are the new ones.",
            "10 = 1 + 2 + 3 + 4 是舊詞彼此的配對。舊詞已經不問了：查詢是新詞。",
        ),
        _number(
            "new-square",
            9,
            "9 = 3 · 3 are all pairs among the new words, also those that look ahead; and the "
            "cache is missing.",
            "9 = 3 · 3 是新詞彼此的所有配對，連往後看的也算了，而且漏了快取。",
        ),
        _number(
            "first-row-only",
            5,
            "5 are the keys of the first new word. The two after it ask as well.",
            "5 只是第一個新詞看得到的鍵。它後面的兩個新詞也要問。",
        ),
    ),
)

# --- shift-right --------------------------------------------------------------------------


def shift_right(targets, bos_id):
    return F.pad(targets[:, :-1], (1, 0), value=bos_id)


def _shift_cases():
    return [
        Case(A_BATCH, (torch.tensor([[5, 3, 8, 2, 9], [4, 7, 6, 2, 3]]), 1)),
        Case(ONE_SEQUENCE, (torch.tensor([[6, 4, 9, 7]]), 2)),
        Case(
            Text("as many sequences as places", "序列數剛好等於長度"),
            (torch.tensor([[5, 6, 7], [8, 9, 4], [3, 2, 6]]), 1),
        ),
        Case(
            Text("a start token with number 0", "起始標記的編號是 0"), (torch.tensor([[5, 6]]), 0)
        ),
        Case(Text("sentences of one token", "只有一個標記的句子"), (torch.tensor([[5], [7]]), 3)),
    ]


def _start_column(targets, bos_id):
    return torch.full_like(targets[:, :1], bos_id)


def _shift_by_roll(targets, bos_id):
    rolled = targets.roll(1, dims=1)
    rolled[:, 0] = bos_id
    return rolled


def _shift_by_assignment(targets, bos_id):
    shifted = torch.full_like(targets, bos_id)
    shifted[:, 1:] = targets[:, :-1]
    return shifted


def _first_row_is_start(targets, bos_id):
    rolled = targets.roll(1, dims=1)
    rolled[0] = bos_id
    return rolled


def _overwritten(targets, bos_id):
    return torch.cat([_start_column(targets, bos_id), targets[:, 1:]], dim=1)


def _first_entry_is_start(targets, bos_id):
    changed = targets.clone()
    changed[0, 0] = bos_id
    return changed


def _zeros_then_targets(targets, bos_id):
    return F.pad(targets[:, :-1], (1, 0))


def _spread_while_copying(targets, bos_id):
    shifted = targets.clone()
    for i in range(1, targets.size(1)):
        shifted[:, i] = shifted[:, i - 1]
    shifted[:, 0] = bos_id
    return shifted


SHIFT_RIGHT = Exercise(
    name="shift-right",
    chapter=8,
    title=Text("Shift right", "向右移一位"),
    difficulty=1,
    minutes=5,
    reference=shift_right,
    cases=_shift_cases,
    alternatives=(
        lambda targets, bos_id: torch.cat([_start_column(targets, bos_id), targets[:, :-1]], dim=1),
        lambda targets, bos_id: F.pad(targets, (1, -1), value=bos_id),
        lambda targets, bos_id: torch.cat([_start_column(targets, bos_id), targets], 1)[:, :-1],
        _shift_by_roll,
        _shift_by_assignment,
    ),
    mistakes=(
        _mistake(
            "not-shifted",
            lambda targets, bos_id: targets,
            "these are the targets, not shifted at all: at every place the model would see the "
            "very word it is to guess.",
            "這就是目標本身，完全沒有移：每個位置都直接看到要猜的那個詞。",
        ),
        _mistake(
            "shifted-left",
            lambda targets, bos_id: F.pad(targets[:, 1:], (0, 1), value=bos_id),
            "shifted the wrong way: the input at each place is the word after the target. And the "
            "start token belongs at the start.",
            "移錯方向了：每個位置的輸入變成目標的下一個詞。而且起始標記應該放在開頭。",
        ),
        _mistake(
            "rolled",
            lambda targets, bos_id: targets.roll(1, dims=1),
            "roll brings the last target round to the front. What should stand there?",
            "roll 會把最後一個目標繞到最前面。那裡應該放什麼？",
        ),
        _mistake(
            "rolled-left",
            lambda targets, bos_id: targets.roll(-1, dims=1),
            "rolled the wrong way: each place now holds the word after the target, and the first "
            "target has come round to the end.",
            "roll 的方向反了：每個位置變成目標的下一個詞，第一個目標則繞到最後面去了。",
        ),
        _mistake(
            "one-longer",
            lambda targets, bos_id: F.pad(targets, (1, 0), value=bos_id),
            "one place too long: the last target is still there. After it nothing is asked any more.",
            "長了一格：最後一個目標還留著。它後面沒有要猜的詞了。",
        ),
        _mistake(
            "one-shorter",
            lambda targets, bos_id: targets[:, :-1],
            "one place too short: the start token is missing in front.",
            "短了一格：前面少了起始標記。",
        ),
        _mistake(
            "first-overwritten",
            _overwritten,
            "the start token has overwritten the first target instead of pushing it to the right.",
            "起始標記把第一個目標蓋掉了。應該是把它往右推一格。",
        ),
        _mistake(
            "last-overwritten",
            lambda targets, bos_id: F.pad(targets[:, :-1], (0, 1), value=bos_id),
            "nothing has moved, and the start token stands in the place of the last target. It "
            "belongs in front, with the others one place to the right.",
            "目標都沒有動，起始標記卻放在最後一格。它應該放在最前面，其他的往右移一格。",
        ),
        _mistake(
            "first-dropped",
            lambda targets, bos_id: targets[:, 1:],
            "the first target is gone, and the result is one place too short. It is the last "
            "target that is left out, and the start token comes in front.",
            "少的是第一個目標，而且短了一格。應該去掉的是最後一個目標，再把起始標記放在前面。",
        ),
        _mistake(
            "along-the-batch",
            lambda targets, bos_id: F.pad(targets[:-1], (0, 0, 1, 0), value=bos_id),
            "you have shifted along the batch: each sentence got the words of the one before it. "
            "The places of a sentence are dimension 1.",
            "你沿著批次的方向移了：每個句子拿到的是上一個句子的詞。句子裡的位置是維度 1（從 0 數起）。",
        ),
        _mistake(
            "first-row",
            _first_row_is_start,
            "the first sentence consists of start tokens only. [0] is the first row; the first "
            "place of every sentence is the first column.",
            "第一個句子全變成起始標記了。[0] 取的是第一列；每個句子的第一個位置是第一行。",
        ),
        _mistake(
            "bos-is-zero",
            _zeros_then_targets,
            "0 stands in front, whatever bos_id is: the argument is not used.",
            "不管 bos_id 是多少，前面都放 0：這個參數沒有用到。",
        ),
        _mistake(
            "bos-is-one",
            lambda targets, bos_id: F.pad(targets[:, :-1], (1, 0), value=1),
            "1 stands in front, whatever bos_id is: the argument is not used.",
            "不管 bos_id 是多少，前面都放 1：這個參數沒有用到。",
        ),
        _mistake(
            "shifted-by-two",
            lambda targets, bos_id: F.pad(targets, (2, -2), value=bos_id),
            "shifted by two places. One is enough: the word just before may be seen.",
            "移了兩格。一格就夠了：前一個詞是可以看的。",
        ),
        _mistake(
            "last-wrapped-first-lost",
            _spread_while_copying,
            "the first target has spread over the whole row: you read from what has just been "
            "overwritten. Read from the targets themselves.",
            "第一個目標蔓延到整列了：你讀到的是剛剛才覆蓋的值。要從原來的 targets 讀。",
        ),
        _mistake(
            "rolled-without-dims",
            lambda targets, bos_id: targets.roll(1),
            "roll without dims moves through the whole batch: the last word of each sentence has "
            "come to the front of the next. What should stand in front, and along which dimension?",
            "roll 沒有指定 dims，就會穿過整個批次：每個句子的最後一個詞跑到下一句的開頭了。"
            "開頭應該放什麼？要沿著哪個維度移？",
        ),
        _mistake(
            "appended",
            lambda targets, bos_id: F.pad(targets, (0, 1), value=bos_id),
            "the start token has been appended at the end. It belongs in front, and the last target "
            "is left out, so that the length stays n.",
            "起始標記接到最後面去了。它應該放在最前面，再去掉最後一個目標，長度才會維持 n。",
        ),
        _mistake(
            "reversed",
            lambda targets, bos_id: F.pad(targets[:, :-1].flip(1), (1, 0), value=bos_id),
            "the words come in reverse order. They keep their order, one place to the right.",
            "詞的順序倒過來了。順序不變，只是往右移一格。",
        ),
        _mistake(
            "start-everywhere",
            lambda targets, bos_id: torch.full_like(targets, bos_id),
            "every place holds the start token. Only the first should; the others hold the words "
            "before.",
            "每一格都是起始標記。只有第一格才是，其他的要放前一個詞。",
        ),
        _mistake(
            "only-the-first-entry",
            _first_entry_is_start,
            "only one number has changed: the very first of the batch. Every sentence gets a "
            "start token, and all its words move one place to the right.",
            "你只改了整個批次的第一個數。每個句子都要有起始標記，而且所有的詞都要往右移一格。",
        ),
        _mistake(
            "one-start-token-for-all",
            lambda targets, bos_id: torch.cat([torch.tensor([[bos_id]]), targets[:, :-1]], dim=1),
            "right for one sentence, but every sentence of the batch needs a start token: a "
            "column with as many rows as there are sentences.",
            "只有一個句子時是對的，但批次裡每個句子都要有起始標記：要的是一行，列數等於句子數。",
        ),
        _mistake(
            "joined-below",
            lambda targets, bos_id: torch.cat([_start_column(targets, bos_id), targets[:, :-1]]),
            "torch.cat joins along dimension 0 unless told otherwise. The places of a sentence "
            "are dimension 1.",
            "torch.cat 沒有指定 dim 時，會沿著維度 0 接。句子裡的位置是維度 1。",
        ),
        _mistake(
            "shifted-left-with-zero",
            lambda targets, bos_id: F.pad(targets[:, 1:], (0, 1)),
            "shifted the wrong way, and filled with 0: the input at each place is now the word "
            "after the target, and bos_id is not used.",
            "移錯方向，還用 0 補滿：每個位置的輸入變成目標的下一個詞，bos_id 也沒有用到。",
        ),
        _mistake(
            "through-all-sentences",
            lambda targets, bos_id: F.pad(targets.flatten()[:-1], (1, 0), value=bos_id).view_as(
                targets
            ),
            "all sentences have been shifted as if they were one: the last word of each comes "
            "first in the next. Each sentence begins with a start token of its own.",
            "你把所有句子當成一整串來移：每句的最後一個詞跑到下一句的開頭了。"
            "每個句子都要用自己的起始標記開頭。",
        ),
        _mistake(
            "rolled-along-the-batch",
            lambda targets, bos_id: targets.roll(1, dims=0),
            "roll along dimension 0 exchanges the sentences. The places of a sentence are "
            "dimension 1; and what comes round to the front is to be the start token.",
            "沿著維度 0 做 roll，是把句子對調。句子裡的位置是維度 1；"
            "而且繞到最前面的要換成起始標記。",
        ),
        _mistake(
            "two-start-tokens",
            lambda targets, bos_id: F.pad(targets[:, :-1], (2, 0), value=bos_id),
            "two start tokens stand in front, and the result is one place too long. One is enough.",
            "前面有兩個起始標記，長了一格。一個就夠了。",
        ),
        _mistake(
            "values-shifted",
            lambda targets, bos_id: targets - 1,
            "the numbers have become smaller by 1. It is the places that shift, not the values.",
            "每個數都減了 1。要移的是位置，不是數值。",
        ),
    ),
)

# --- causal-mask --------------------------------------------------------------------------


def causal_mask(n_q, n_k):
    return masks.causal_mask(n_q, n_k)


def _causal_cases():
    return [
        Case(SQUARE, (4, 4)),
        Case(Text("fewer queries than keys", "查詢比鍵少"), (3, 7)),
        Case(
            Text("one query, as when writing with a cache", "只有一個查詢，像用快取寫作時"), (1, 5)
        ),
        Case(Text("one key less to ask from", "查詢只比鍵少一個"), (5, 6)),
        Case(Text("a single token", "只有一個標記"), (1, 1)),
    ]


def _ones(n_q, n_k):
    return torch.ones(n_q, n_k, dtype=torch.bool)


def _causal_by_loops(n_q, n_k):
    mask = torch.zeros(n_q, n_k, dtype=torch.bool)
    for i in range(n_q):
        mask[i, : n_k - n_q + i + 1] = True
    return mask


def _additive_causal(n_q, n_k):
    return torch.zeros(n_q, n_k).masked_fill(~causal_mask(n_q, n_k), -torch.inf)


CAUSAL_MASK = Exercise(
    name="causal-mask",
    chapter=8,
    title=Text("The causal mask", "因果遮罩"),
    difficulty=1,
    minutes=8,
    reference=causal_mask,
    cases=_causal_cases,
    alternatives=(
        lambda n_q, n_k: _ones(n_q, n_k).tril(n_k - n_q),
        lambda n_q, n_k: ~_ones(n_q, n_k).triu(n_k - n_q + 1),
        lambda n_q, n_k: _ones(n_k, n_k).tril()[n_k - n_q :],
        lambda n_q, n_k: torch.arange(n_k) <= torch.arange(n_k - n_q, n_k)[:, None],
        _causal_by_loops,
    ),
    mistakes=(
        _mistake(
            "top-left",
            lambda n_q, n_k: _ones(n_q, n_k).tril(),
            "right where the mask is square. With fewer queries than keys your triangle sits top "
            "left, as if the queries were the first positions; they are the last ones.",
            "方陣時是對的。查詢比鍵少時，你的三角形靠在左上角，好像查詢是最前面的位置；它們其實是最後面的。",
        ),
        _mistake(
            "wrong-triangle",
            lambda n_q, n_k: _ones(n_q, n_k).triu(n_k - n_q),
            "the wrong triangle: every token sees itself and the future. Rows ask, columns are asked.",
            "三角形反了：每個標記看到的是自己和未來。列是發問的，行是被問的。",
        ),
        _mistake(
            "wrong-triangle-top-left",
            lambda n_q, n_k: _ones(n_q, n_k).triu(),
            "the wrong triangle: every token sees itself and the future. And with fewer queries "
            "than keys it sits top left, while the queries are the last positions.",
            "三角形反了：每個標記看到的是自己和未來。而且查詢比鍵少時靠在左上角，但查詢是最後面的位置。",
        ),
        _mistake(
            "inverted",
            lambda n_q, n_k: _ones(n_q, n_k).triu(n_k - n_q + 1),
            "inverted: True stands where a token must not look. In this book True = may attend "
            "(PyTorch's modules have it the other way round).",
            "真假顛倒了：不能看的地方是 True。本書的慣例是 True＝可以關注（PyTorch 的模組剛好相反）。",
        ),
        _mistake(
            "inverted-top-left",
            lambda n_q, n_k: _ones(n_q, n_k).triu(1),
            "inverted: True stands where a token must not look, and True should mean “may attend”. "
            "Besides, with fewer queries than keys the queries are the last positions.",
            "真假顛倒了：不能看的地方是 True，但 True 應該代表可以關注。另外，查詢比鍵少時，"
            "查詢是最後面的位置。",
        ),
        _mistake(
            "diagonal-blocked",
            lambda n_q, n_k: _ones(n_q, n_k).tril(n_k - n_q - 1),
            "no token may see itself; the first one is left with nothing at all. It may: its own "
            "word is known.",
            "每個標記都看不到自己，第一個更是什麼都看不到。自己這個詞是已知的，當然可以看。",
        ),
        _mistake(
            "diagonal-blocked-top-left",
            lambda n_q, n_k: _ones(n_q, n_k).tril(-1),
            "no token may see itself, though its own word is known. And with fewer queries than "
            "keys the queries are the last positions, not the first.",
            "每個標記都看不到自己，但自己這個詞是已知的。另外，查詢比鍵少時，查詢是最後面的位置，"
            "不是最前面的。",
        ),
        _mistake(
            "one-too-far",
            lambda n_q, n_k: _ones(n_q, n_k).tril(n_k - n_q + 1),
            "every token sees one word of the future: the triangle reaches one diagonal too far.",
            "每個標記都多看到一個未來的詞：三角形多了一條對角線。",
        ),
        _mistake(
            "one-too-far-top-left",
            lambda n_q, n_k: _ones(n_q, n_k).tril(1),
            "in a square every token sees one word of the future; and with fewer queries than keys "
            "the triangle sits top left. Look for the diagonal on which the queries stand.",
            "方陣時，每個標記都多看到一個未來的詞；查詢比鍵少時，三角形又靠到左上角。"
            "想想查詢站在哪一條對角線上。",
        ),
        _mistake(
            "offset-the-wrong-way",
            lambda n_q, n_k: _ones(n_q, n_k).tril(n_q - n_k),
            "right where the mask is square; otherwise the triangle has moved the wrong way, and "
            "queries are left with nothing. Which is larger, n_q or n_k?",
            "方陣時是對的；其他時候三角形移錯了方向，有的查詢什麼都看不到。n_q 和 n_k 哪一個比較大？",
        ),
        _mistake(
            "square-of-queries",
            lambda n_q, n_k: _ones(n_q, n_q).tril(),
            "n_k is not used: the mask needs one column for each key.",
            "n_k 沒有用到：每個鍵都要有一行。",
        ),
        _mistake(
            "square-of-keys",
            lambda n_q, n_k: _ones(n_k, n_k).tril(),
            "n_q is not used: the mask needs one row for each query. Which rows of this square are "
            "the queries'?",
            "n_q 沒有用到：每個查詢才有一列。這個方陣裡，哪幾列是查詢的？",
        ),
        _mistake(
            "transposed",
            lambda n_q, n_k: _ones(n_q, n_k).tril(n_k - n_q).T,
            "rows and columns are exchanged: a row belongs to a query, a column to a key.",
            "列和行對調了：一列對應一個查詢，一行對應一個鍵。",
        ),
        _mistake(
            "everything-allowed",
            _ones,
            "every query may see every key: the future is not hidden.",
            "每個查詢都看得到每個鍵：未來沒有遮住。",
        ),
        _mistake(
            "only-itself",
            lambda n_q, n_k: _ones(n_q, n_k).tril(n_k - n_q).triu(n_k - n_q),
            "every token sees itself only. The words before it are known too.",
            "每個標記只看得到自己。前面的詞也是已知的。",
        ),
        _mistake(
            "cache-hidden",
            lambda n_q, n_k: F.pad(_ones(n_q, n_q).tril(), (n_k - n_q, 0)),
            "the queries see each other rightly, but none of the keys before them. Those lie in the "
            "past of every query.",
            "查詢彼此之間是對的，但更前面的鍵全都看不到。那些鍵對每個查詢來說都是過去。",
        ),
        _mistake(
            "additive-with-a-number",
            lambda n_q, n_k: torch.zeros(n_q, n_k).masked_fill(~causal_mask(n_q, n_k), -1e9),
            "these are numbers to be added, 0 and −10⁹. Here a Boolean mask is asked for: True = "
            "may attend.",
            "這是要加到分數上的數（0 和 −10⁹）。這一題要的是布林遮罩：True＝可以關注。",
        ),
        _mistake(
            "additive",
            _additive_causal,
            "these are numbers to be added, 0 and −∞. Here a Boolean mask is asked for: True = may "
            "attend.",
            "這是要加到分數上的數（0 和 −∞）。這一題要的是布林遮罩：True＝可以關注。",
        ),
        _mistake(
            "extra-dimensions",
            lambda n_q, n_k: causal_mask(n_q, n_k)[None, None],
            "right, but with dimensions for batch and heads in front. The shape asked for is "
            "(n_q, n_k); it broadcasts by itself.",
            "內容對了，但前面多了批次和頭的維度。要的形狀是 (n_q, n_k)，它自己就會廣播。",
        ),
        _mistake(
            "no-column",
            lambda n_q, n_k: torch.arange(n_k) <= torch.arange(n_k - n_q, n_k),
            "two rows are compared entry by entry. Turn the queries' positions into a column "
            "with [:, None]; then each is compared with every key.",
            "你把兩列逐項相比了。用 [:, None] 把查詢的位置變成一行，才會每個查詢和每個鍵都比。",
        ),
        _mistake(
            "nothing-allowed",
            lambda n_q, n_k: ~_ones(n_q, n_k),
            "every entry is False: nobody sees anything. True = may attend.",
            "每一格都是 False：誰都看不到。True 代表可以關注。",
        ),
        _mistake(
            "additive-top-left",
            lambda n_q, n_k: torch.full((n_q, n_k), -torch.inf).triu(1),
            "these are numbers to be added, and the triangle sits top left. Here a Boolean mask "
            "is asked for, True = may attend, and the queries are the last positions.",
            "這是要加到分數上的數，而且三角形靠在左上角。這一題要的是布林遮罩（True＝可以關注），"
            "查詢是最後面的位置。",
        ),
        _mistake(
            "additive-with-the-smallest-number",
            lambda n_q, n_k: torch.zeros(n_q, n_k).masked_fill(
                ~causal_mask(n_q, n_k), torch.finfo(torch.float32).min
            ),
            "these are numbers to be added, 0 and the smallest float32. Here a Boolean mask is "
            "asked for: True = may attend.",
            "這是要加到分數上的數（0 和 float32 最小的數）。這一題要的是布林遮罩：True＝可以關注。",
        ),
        _mistake(
            "mirrored",
            lambda n_q, n_k: causal_mask(n_q, n_k).flip(1),
            "the triangle is mirrored left to right: the keys stand in order, the oldest in the "
            "first column.",
            "三角形左右顛倒了：鍵照順序排，最舊的在第一行。",
        ),
    ),
)

# --- padding-mask -------------------------------------------------------------------------


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


PADDING_MASK = Exercise(
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
    mistakes=(
        _mistake(
            "inverted",
            lambda token_ids, pad_id: ~padding_mask(token_ids, pad_id),
            "inverted: True stands on the padding. In this book True = may attend "
            "(nn.MultiheadAttention's key_padding_mask has it the other way round).",
            "真假顛倒了：填充的地方是 True。本書的慣例是 True＝可以關注"
            "（nn.MultiheadAttention 的 key_padding_mask 剛好相反）。",
        ),
        _mistake(
            "query-rows",
            lambda token_ids, pad_id: _real(token_ids, pad_id)[:, None, :, None],
            "this hides the rows of padding queries, and every key stays visible. It is the keys, "
            "the last dimension, that must be hidden.",
            "這樣遮住的是填充的查詢那幾列，所有的鍵都還看得到。要遮的是鍵，也就是最後一個維度。",
        ),
        _mistake(
            "rows-and-columns",
            lambda token_ids, pad_id: (
                padding_mask(token_ids, pad_id) & _real(token_ids, pad_id)[:, None, :, None]
            ),
            "keys and query rows are both hidden. That makes rows which allow nothing. Leave the "
            "query rows alone: nobody reads their output.",
            "鍵和查詢的列都遮了，結果有些列什麼都看不到。查詢的列不用管：沒有人會讀它們的輸出。",
        ),
        _mistake(
            "keys-for-each-query",
            lambda token_ids, pad_id: padding_mask(token_ids, pad_id).expand(
                -1, 1, token_ids.size(1), -1
            ),
            "right, but written out for every query. One row is enough: (batch, 1, 1, n) "
            "broadcasts, whatever the number of queries.",
            "內容對了，但每個查詢都寫了一列。一列就夠：(batch, 1, 1, n) 不管有幾個查詢都會廣播。",
        ),
        _mistake(
            "two-dimensions",
            _real,
            "right, but (batch, n): against (batch, heads, n_q, n_k) the batch would be taken for "
            "the queries. Two dimensions of size 1 are missing in between.",
            "內容對了，但形狀是 (batch, n)：和 (batch, heads, n_q, n_k) 廣播時，批次會當成查詢。"
            "中間還少兩個大小為 1 的維度。",
        ),
        _mistake(
            "three-dimensions",
            lambda token_ids, pad_id: _real(token_ids, pad_id)[:, None, :],
            "right, but (batch, 1, n): against (batch, heads, n_q, n_k) the batch would be taken "
            "for the heads. One more dimension of size 1 is missing.",
            "內容對了，但形狀是 (batch, 1, n)：和 (batch, heads, n_q, n_k) 廣播時，批次會當成頭。"
            "還少一個大小為 1 的維度。",
        ),
        _mistake(
            "batch-as-queries",
            lambda token_ids, pad_id: _real(token_ids, pad_id)[None, None],
            "the two new dimensions stand in front: (1, 1, batch, n). The batch comes first, then "
            "the two.",
            "兩個新的維度加在最前面了：(1, 1, batch, n)。批次要在最前面，然後才是這兩個。",
        ),
        _mistake(
            "dimensions-at-the-end",
            lambda token_ids, pad_id: _real(token_ids, pad_id)[:, :, None, None],
            "the two new dimensions stand at the end: (batch, n, 1, 1). The keys must be the last.",
            "兩個新的維度加在最後面了：(batch, n, 1, 1)。鍵一定要是最後一個維度。",
        ),
        _mistake(
            "pad-is-zero",
            lambda token_ids, pad_id: (token_ids != 0)[:, None, None, :],
            "0 is taken for padding, whatever pad_id is: the argument is not used.",
            "不管 pad_id 是多少，你都把 0 當成填充：這個參數沒有用到。",
        ),
        _mistake(
            "larger-than-pad",
            lambda token_ids, pad_id: (token_ids > pad_id)[:, None, None, :],
            "you compare with >, so tokens with numbers below pad_id are hidden as well. Padding "
            "need not be the smallest number.",
            "你用了 >，編號比 pad_id 小的標記也遮住了。填充的編號不一定最小。",
        ),
        _mistake(
            "at-least-pad",
            lambda token_ids, pad_id: (token_ids >= pad_id)[:, None, None, :],
            "you compare with >=, so the padding itself stays visible. Which comparison says “is "
            "not padding”?",
            "你用了 >=，填充本身反而還看得到。要說「不是填充」，該用哪個比較？",
        ),
        _mistake(
            "up-to-the-length",
            _up_to_length,
            "right where the padding is on the right. You count the real tokens and allow the first "
            "so many; with padding on the left these are the wrong ones.",
            "填充在右邊時是對的。你數了真正的標記有幾個，再開放最前面那幾格；填充在左邊時就開錯了。",
        ),
        _mistake(
            "until-the-first-padding",
            _until_first_padding,
            "everything after the first padding is hidden, real tokens as well. With padding on the "
            "left nothing is left.",
            "第一個填充之後全都遮住了，連真正的標記也是。填充在左邊時就什麼都不剩了。",
        ),
        _mistake(
            "causal-too",
            _padding_and_causal,
            "the causal mask is in it already. Here only the padding is to be hidden; the two are "
            "combined later, with &.",
            "你把因果遮罩也放進去了。這一題只要遮填充；兩個遮罩之後再用 & 合起來。",
        ),
        _mistake(
            "additive",
            lambda token_ids, pad_id: torch.zeros(token_ids.shape).masked_fill(
                token_ids == pad_id, -torch.inf
            )[:, None, None, :],
            "these are numbers to be added, 0 and −∞. Here a Boolean mask is asked for.",
            "這是要加到分數上的數（0 和 −∞）。這一題要的是布林遮罩。",
        ),
        _mistake(
            "additive-with-a-number",
            lambda token_ids, pad_id: torch.zeros(token_ids.shape).masked_fill(
                token_ids == pad_id, -1e9
            )[:, None, None, :],
            "these are numbers to be added, 0 and −10⁹. Here a Boolean mask is asked for.",
            "這是要加到分數上的數（0 和 −10⁹）。這一題要的是布林遮罩。",
        ),
        _mistake(
            "ids-themselves",
            lambda token_ids, pad_id: token_ids[:, None, None, :],
            "the shape is right, but these are the ids themselves. Which of them are padding? A "
            "comparison with pad_id says so.",
            "形狀對了，但裡面還是編號本身。哪些是填充？和 pad_id 比較就知道。",
        ),
        _mistake(
            "inverted-two-dimensions",
            lambda token_ids, pad_id: token_ids == pad_id,
            "inverted, and (batch, n): True should stand on the real tokens, and two dimensions of "
            "size 1 are missing in between.",
            "真假顛倒了，形狀也只有 (batch, n)：真正的標記才是 True，而且中間還少兩個大小為 1 的維度。",
        ),
        _mistake(
            "everything-allowed",
            lambda token_ids, pad_id: torch.ones_like(token_ids).bool()[:, None, None, :],
            "every key is visible, the padding too.",
            "每個鍵都看得到，填充也是。",
        ),
        _mistake(
            "inverted-three-dimensions",
            lambda token_ids, pad_id: (token_ids == pad_id)[:, None, :],
            "inverted, and (batch, 1, n): True should stand on the real tokens, and one more "
            "dimension of size 1 is missing.",
            "真假顛倒了，形狀也只有 (batch, 1, n)：真正的標記才是 True，而且還少一個大小為 1 "
            "的維度。",
        ),
        _mistake(
            "smaller-than-pad",
            lambda token_ids, pad_id: (token_ids < pad_id)[:, None, None, :],
            "you compare with <, so tokens with numbers above pad_id are hidden. Padding need "
            "not be the largest number.",
            "你用了 <，編號比 pad_id 大的標記都遮住了。填充的編號不一定最大。",
        ),
        _mistake(
            "lengths",
            lambda token_ids, pad_id: _real(token_ids, pad_id).sum(1),
            "these are the numbers of real tokens in each sentence. Asked for is, for every "
            "place, whether a real token stands there.",
            "這是每個句子有幾個真正的標記。題目要的是：每個位置上，是不是真正的標記。",
        ),
        _mistake(
            "is-not",
            lambda token_ids, pad_id: token_ids is not pad_id,
            "“is not” asks whether two Python objects are the same one, and gives a single "
            "answer. Entry by entry compares !=.",
            "is not 問的是兩個 Python 物件是不是同一個，只會有一個答案。要逐項比較的話，!= 才行。",
        ),
        _mistake(
            "batch-last",
            lambda token_ids, pad_id: _real(token_ids, pad_id).T[:, None, None, :],
            "batch and places are exchanged: (n, 1, 1, batch). The batch comes first, the keys "
            "last.",
            "批次和位置對調了：(n, 1, 1, batch)。批次要在最前面，鍵在最後面。",
        ),
        _mistake(
            "rows-and-columns-three-dimensions",
            lambda token_ids, pad_id: (
                _real(token_ids, pad_id)[:, None, :] & _real(token_ids, pad_id)[:, :, None]
            ),
            "(batch, n, n), with the query rows hidden as well. Only keys are to be hidden, the "
            "same for every query: (batch, 1, 1, n).",
            "形狀是 (batch, n, n)，連查詢的列也遮了。要遮的只有鍵，而且每個查詢都一樣：(batch, "
            "1, 1, n)。",
        ),
    ),
)

# --- masked-softmax -----------------------------------------------------------------------


def masked_softmax(scores, mask):
    return attention.masked_softmax(scores, mask)


def _masked_cases():
    randn = normal(83)
    real = torch.tensor([[7, 8, 9, 0, 0], [7, 8, 9, 5, 0]]) != 0
    blind = torch.tensor([[True, False, True, True], [False] * 4, [True, True, False, False]])
    # So far apart that a softmax picks one: "scores - 1e9" and "- 1e12" then give the same.
    blind_scores = randn(3, 4) * torch.tensor([[1.0], [1e4], [1.0]], dtype=torch.float64)
    large = randn(4, 4)
    return [
        Case(Text("a causal mask", "因果遮罩"), (randn(4, 4), masks.causal_mask(4))),
        Case(BATCH_AND_HEADS, (randn(2, 3, 4, 6), masks.causal_mask(4, 6))),
        Case(
            Text("a padding mask", "填充遮罩"),
            (randn(2, 3, 4, 5), real[:, None, None, :]),
        ),
        Case(LARGE_SCORES, (1000 * (large + large.sign()), masks.causal_mask(4))),
        Case(
            Text("a mask over scores far below 0", "分數遠低於 0，又有遮罩"),
            (-4e5 - 1e5 * randn(4, 4).abs(), masks.causal_mask(4)),
        ),
        Case(
            Text("a query that may attend to nothing", "什麼都不能關注的查詢"),
            (blind_scores, blind),
        ),
        Case(
            Text("scores lower than a number you may fill in", "分數比你填進去的數還低"),
            (-1e30 * (1 + randn(3, 3).abs()), masks.causal_mask(3)),
        ),
    ]


def _softmax_variant(masked=None, finish=None, dim=-1):
    """A masked softmax with one step exchanged: alternatives and mistakes are made of it."""

    def answer(scores, mask):
        s = scores.masked_fill(~mask, -torch.inf) if masked is None else masked(scores, mask)
        weights = s.softmax(dim)
        return weights if finish is None else finish(weights, mask)

    return answer


def _zeroed(weights, mask):
    return weights.masked_fill(~mask, 0)


def _clean(weights, mask):
    return weights.nan_to_num(0.0)


def _renormalised(weights, mask):
    return weights * mask / (weights * mask).sum(-1, keepdim=True)


def _filled(number):
    return lambda scores, mask: scores.masked_fill(~mask, number)


def _plus_infinity(scores, mask):
    return scores + torch.zeros_like(scores).masked_fill(~mask, -torch.inf)


def _by_exp(shift, divide):
    """exp of ``shift(scores, mask)`` where allowed, ``divide``d by its sum."""

    def answer(scores, mask):
        e = torch.where(mask, shift(scores, mask).exp(), 0.0)
        return divide(e, e.sum(-1, keepdim=True))

    return answer


def _minus_allowed_maximum(scores, mask):
    top = scores.masked_fill(~mask, -torch.inf).amax(-1, keepdim=True)
    shifted = scores - top.masked_fill(top.isinf(), 0)
    return shifted.masked_fill(~mask, 0)


def _minus_maximum(scores, mask):
    return scores - scores.amax(-1, keepdim=True)


def _safe_division(e, total):
    return e / total.masked_fill(total == 0, 1)


def _exp_times_mask(scores, mask):
    e = scores.exp() * mask
    return e / (e.sum(-1, keepdim=True) + 1e-9)


def _indexed_by_mask(scores, mask):
    hidden = scores.clone()
    hidden[~mask] = -torch.inf
    return hidden.softmax(-1)


def _unmasked(scores, mask):
    return scores


MASKED_SOFTMAX = Exercise(
    name="masked-softmax",
    chapter=8,
    title=Text("A masked softmax", "有遮罩的 softmax"),
    difficulty=3,
    minutes=15,
    reference=masked_softmax,
    cases=_masked_cases,
    alternatives=(
        _softmax_variant(finish=_clean),
        _softmax_variant(finish=lambda w, m: torch.where(m, w, 0.0)),
        lambda scores, mask: torch.where(
            mask, torch.where(mask, scores, -torch.inf).softmax(-1), 0.0
        ),
        lambda scores, mask: _zeroed(
            scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1), mask
        ),
        lambda scores, mask: (
            scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1) * mask
        ),
        _by_exp(_minus_allowed_maximum, _safe_division),
    ),
    mistakes=(
        _mistake(
            "nan-on-a-blind-row",
            _softmax_variant(),
            "almost: a query that may attend to nothing gets NaN: its sum is 0, and the softmax of a "
            "row of −∞ is 0/0. Its weights should be 0.",
            "就差一點：什麼都不能關注的查詢會得到 NaN，因為整列都是 −∞ 時，softmax 是 0/0。"
            "它的權重應該是 0。",
        ),
        _mistake(
            "uniform-on-a-blind-row",
            _softmax_variant(_filled(-1e9)),
            "almost: a query that may attend to nothing now averages over everything, because all "
            "its scores are the same large negative number. Its weights should be 0.",
            "就差一點：什麼都不能關注的查詢，現在會平均關注所有的鍵，因為它的分數全是同一個很大的負數。"
            "它的權重應該是 0。",
        ),
        _mistake(
            "uniform-on-a-blind-row-lowest",
            _softmax_variant(lambda s, m: s.masked_fill(~m, torch.finfo(s.dtype).min)),
            "almost: a query that may attend to nothing now averages over everything, because all "
            "its scores are the same, the lowest number there is. Its weights should be 0.",
            "就差一點：什麼都不能關注的查詢，現在會平均關注所有的鍵，因為它的分數全是同一個數，也就是最小的浮點數。"
            "它的權重應該是 0。",
        ),
        _mistake(
            "filled-and-multiplied",
            _softmax_variant(_filled(-1e9), lambda w, m: w * m),
            "almost: a large negative number is filled in, and the hidden weights are set to 0 "
            "afterwards. But real scores may be lower still; then a hidden key takes all, and the "
            "row sums to 0.",
            "就差一點：你填入很大的負數，softmax 之後再把遮住的權重改成 0。"
            "可是真正的分數有可能更低，這時遮住的鍵會拿走全部的權重，整列的和就成了 0。",
        ),
        _mistake(
            "added-number",
            _softmax_variant(lambda s, m: s + (1 - m.to(s.dtype)) * -1e9),
            "almost: a query that may attend to nothing behaves as if there were no mask, for all "
            "its scores are moved by the same number. Its weights should be 0.",
            "就差一點：什麼都不能關注的查詢，結果像是沒有遮罩一樣，因為整列都加了同一個數。"
            "它的權重應該是 0。",
        ),
        _mistake(
            "nan-in-the-gradient",
            _softmax_variant(_plus_infinity, _clean),
            "the numbers are right, but the gradient is NaN: −∞ that is added lets the gradient "
            "of the row's NaN through. masked_fill and torch.where cut it off.",
            "數值是對的，但梯度是 NaN：−∞ 如果是用加的，那一列 NaN 的梯度就會傳回去。"
            "masked_fill 和 torch.where 才會擋住它。",
        ),
        _mistake(
            "added-infinity",
            _softmax_variant(lambda s, m: s + (~m).to(s.dtype) * -torch.inf),
            "the mask is multiplied by −∞, and 0 · ∞ is NaN. Use masked_fill or torch.where instead.",
            "你把遮罩乘上 −∞，但 0 · ∞ 是 NaN。請改用 masked_fill 或 torch.where。",
        ),
        _mistake(
            "inverted",
            _softmax_variant(lambda s, m: s.masked_fill(m, -torch.inf)),
            "inverted: masked_fill fills where its mask is True, and here True = may attend. "
            "Where everything is allowed that even gives NaN.",
            "真假顛倒了：masked_fill 填的是 True 的地方，但這裡 True 代表可以關注。"
            "全部都可以看的那一列還會變成 NaN。",
        ),
        _mistake(
            "inverted-and-cleaned",
            _softmax_variant(lambda s, m: s.masked_fill(m, -torch.inf), _clean),
            "inverted: masked_fill fills where its mask is True, and here True = may attend. "
            "(nan_to_num has only hidden the rows that lost everything.)",
            "真假顛倒了：masked_fill 填的是 True 的地方，但這裡 True 代表可以關注。"
            "（nan_to_num 只是掩蓋了整列都遮住的問題。）",
        ),
        _mistake(
            "without-effect",
            _softmax_variant(_unmasked),
            "the mask has no effect. Note that masked_fill returns a new tensor: is its result kept?",
            "遮罩沒有作用。注意 masked_fill 會傳回一個新的張量：你有把結果留下來嗎？",
        ),
        _mistake(
            "mask-added",
            _softmax_variant(lambda s, m: s + m),
            "the mask is added to the scores as 0 and 1: that only favours the allowed keys a "
            "little. A hidden key needs score −∞.",
            "你把遮罩當成 0 和 1 加到分數上：這只是讓允許的鍵稍微有利一點。遮住的鍵，分數要是 −∞。",
        ),
        _mistake(
            "mask-multiplied",
            _softmax_variant(lambda s, m: s * m),
            "a hidden key has score 0, and exp(0) = 1 is a weight like any other. Which score makes "
            "exp give exactly 0?",
            "遮住的鍵，分數是 0，但 exp(0) = 1，一樣會有權重。分數要是多少，exp 才會剛好是 0？",
        ),
        _mistake(
            "filled-with-zero",
            _softmax_variant(_filled(0.0), _zeroed),
            "the hidden weights are 0 in the end, but in the softmax these keys took part with "
            "score 0. So the rows do not sum to 1.",
            "遮住的權重最後是 0，但 softmax 的時候，這些鍵還用 0 分參加了。所以每一列加起來不是 1。",
        ),
        _mistake(
            "after-softmax",
            _softmax_variant(_unmasked, lambda w, m: w * m),
            "the mask comes after the softmax, so the rows no longer sum to 1. Hide the scores "
            "before it.",
            "遮罩放在 softmax 之後，每一列加起來就不是 1 了。應該在 softmax 之前先把分數遮住。",
        ),
        _mistake(
            "renormalised",
            _softmax_variant(_unmasked, _renormalised),
            "masking after the softmax and dividing by the new sum divides 0 by 0 where nothing is "
            "left: on a blind row, and where a hidden key took all the weight.",
            "softmax 之後才遮，再除以新的總和，什麼都不剩時就變成 0 除以 0：什麼都不能看的列會這樣，"
            "權重全被遮住的鍵拿走時也會。",
        ),
        _mistake(
            "renormalised-and-cleaned",
            _softmax_variant(_unmasked, lambda w, m: _renormalised(w, m).nan_to_num(0.0)),
            "a hidden key with a far larger score takes all the weight before you remove it: either "
            "you mask after the softmax and divide by the new sum, or your maximum runs over the "
            "hidden keys too. Hide the scores first of all.",
            "被遮住的鍵如果分數大得多，還沒去掉它，權重就全被它拿走了：可能是 softmax 之後才遮、"
            "再除以新的總和，也可能是取最大值時連遮住的鍵也算了。應該一開始就把分數遮住。",
        ),
        _mistake(
            "fill-not-low-enough",
            _softmax_variant(_filled(-1e4), _zeroed),
            "a hidden key gets a score that is not low enough: where the allowed scores lie lower "
            "still, it takes their weight before you set it to 0. What is below every score?",
            "被遮住的鍵分數還不夠低：如果允許的鍵分數更低，權重就先被它搶走，再被你設成 0。"
            "什麼數比任何分數都小？",
        ),
        _mistake(
            "fill-not-low-enough-and-uniform",
            _softmax_variant(_filled(-1e4)),
            "a hidden key gets a score that is not low enough: where the allowed scores lie lower "
            "still, it gets all the weight. And a row that allows nothing should be 0.",
            "被遮住的鍵分數還不夠低：如果允許的鍵分數更低，權重就全跑到它那裡。"
            "另外，什麼都不能看的列應該是 0。",
        ),
        _mistake(
            "added-not-low-enough",
            _softmax_variant(lambda s, m: s + (1 - m.to(s.dtype)) * -1e4),
            "what you add to a hidden key is not low enough: scores that lie far apart make up for "
            "it. And a row that allows nothing behaves as if there were no mask.",
            "你加到被遮住的鍵上的數還不夠低：分數相差很大時就遮不住。"
            "而什麼都不能看的列，結果像是沒有遮罩一樣。",
        ),
        _mistake(
            "over-the-queries",
            _softmax_variant(finish=_clean, dim=-2),
            "the columns sum to 1: the softmax runs over the queries. For each query the weights on "
            "its keys should sum to 1.",
            "是每一行加起來等於 1：你的 softmax 沿著查詢的方向做了。"
            "應該是每個查詢對各個鍵的權重加起來等於 1。",
        ),
        _mistake(
            "over-the-queries-with-nan",
            _softmax_variant(dim=-2),
            "the columns sum to 1: the softmax runs over the queries. (And a key that nobody may see "
            "gives NaN.) For each query the weights on its keys should sum to 1.",
            "是每一行加起來等於 1：你的 softmax 沿著查詢的方向做了。（沒人看得到的鍵還會變成 NaN。）"
            "應該是每個查詢對各個鍵的權重加起來等於 1。",
        ),
        _mistake(
            "over-everything",
            lambda scores, mask: (
                scores.masked_fill(~mask, -torch.inf).flatten(-2).softmax(-1).view_as(scores)
            ),
            "all weights of the matrix together sum to 1. Each row should sum to 1 by itself.",
            "你的權重是整個矩陣加起來等於 1。應該是每一列各自加起來等於 1。",
        ),
        _mistake(
            "overflow",
            _by_exp(_unmasked, _safe_division),
            "right for small scores, but exp is taken of the scores as they are: it overflows for "
            "large ones, and becomes 0 everywhere far below 0.",
            "分數小的時候正確，但你直接對分數取 exp：分數一大就溢位，遠低於 0 時又全變成 0。",
        ),
        _mistake(
            "scaled-again",
            lambda scores, mask: masked_softmax(scores / math.sqrt(scores.size(-1)), mask),
            "the scores are divided by a root once more. They are scaled already.",
            "分數又除了一次根號。它們已經縮放過了。",
        ),
        _mistake(
            "not-normalised",
            _by_exp(_minus_allowed_maximum, lambda e, total: e),
            "this is exp alone. What is each row still to be divided by?",
            "這只有 exp。每一列還要除以什麼？",
        ),
        _mistake(
            "softmax-twice",
            lambda scores, mask: masked_softmax(masked_softmax(scores, mask), mask),
            "the softmax is applied twice, which flattens the weights.",
            "你做了兩次 softmax，權重變得比較平均了。",
        ),
        _mistake(
            "masked-scores-returned",
            lambda scores, mask: scores.masked_fill(~mask, -torch.inf),
            "these are the masked scores. The softmax is still to come.",
            "這是遮罩後的分數，還沒做 softmax。",
        ),
        _mistake(
            "log-softmax",
            lambda scores, mask: scores.masked_fill(~mask, -torch.inf).log_softmax(-1),
            "these are the logarithms of the weights. One exp is missing.",
            "這些是權重的對數，還差一個 exp。",
        ),
        _mistake(
            "indexed-by-the-mask",
            _indexed_by_mask,
            "right where the mask has the shape of the scores. An index such as scores[~mask] "
            "does not broadcast; masked_fill and torch.where do.",
            "遮罩和分數形狀相同時是對的。scores[~mask] 這種索引不會廣播，masked_fill 和 "
            "torch.where 才會。",
        ),
        _mistake(
            "indexed-by-the-mask-and-cleaned",
            lambda scores, mask: _indexed_by_mask(scores, mask).nan_to_num(0.0),
            "the blind row is right, but scores[~mask] needs a mask of the very shape of the "
            "scores. "
            "masked_fill and torch.where broadcast it.",
            "什麼都不能看的列是對的，但 scores[~mask] 要求遮罩和分數的形狀一模一樣。"
            "masked_fill 和 torch.where 才會廣播。",
        ),
        _mistake(
            "inverted-and-added",
            _softmax_variant(lambda s, m: s + m * -1e9),
            "inverted: −10⁹ is added where the mask is True, and here True = may attend.",
            "真假顛倒了：你在遮罩是 True 的地方加了 −10⁹，但這裡 True 代表可以關注。",
        ),
        _mistake(
            "plus-infinity",
            _softmax_variant(_filled(torch.inf)),
            "a hidden key gets score +∞. Its exp should be 0: mind the sign.",
            "遮住的鍵，分數成了 +∞。它取 exp 之後應該是 0：注意正負號。",
        ),
        _mistake(
            "epsilon-in-the-sum",
            _by_exp(_minus_allowed_maximum, lambda e, total: e / (total + 1e-6)),
            "a small number is added to the sum, to keep it from 0; so no row sums to exactly 1. "
            "Treat the row that allows nothing by itself.",
            "你為了避免除以 0，在總和上加了一個很小的數，結果每一列加起來都不是剛好 1。"
            "什麼都不能看的列，要另外處理。",
        ),
        _mistake(
            "maximum-of-all",
            _by_exp(_minus_maximum, lambda e, total: e / (total + 1e-9)),
            "the maximum that you subtract runs over the hidden keys too. Where a hidden score "
            "is far larger, exp of all the allowed ones becomes 0. Hide first.",
            "你減去的最大值，連遮住的鍵也算了。遮住的分數大得多時，允許的分數取 exp 全變成 0。"
            "要先遮住。",
        ),
        _mistake(
            "overflow-with-epsilon",
            _exp_times_mask,
            "exp is taken of the scores as they are: it overflows for large ones, and far below "
            "0 it becomes 0 everywhere. Subtract the row's largest allowed score first.",
            "你直接對分數取 exp：分數一大就溢位，遠低於 0 時又全變成 0。"
            "先減去每一列允許的最大分數。",
        ),
        _mistake(
            "filled-with-minus-100",
            _softmax_variant(_filled(-100.0), _zeroed),
            "−100 hides nothing where the allowed scores lie below it, and large scores do. What "
            "is below every score?",
            "允許的分數比 −100 還低時，−100 就遮不住了；大的分數很容易這樣。什麼數比任何分數都小？",
        ),
        _mistake(
            "filled-just-below",
            _softmax_variant(lambda s, m: s.masked_fill(~m, s.min().item() - 1), _zeroed),
            "a hidden key gets a score just below all others, and in the softmax that still is a "
            "weight. Only with −∞ it is exactly 0.",
            "遮住的鍵，分數只比其他的低一點，在 softmax 裡還是有權重。要 −∞ 才會剛好是 0。",
        ),
        _mistake(
            "always-causal",
            lambda scores, mask: masked_softmax(scores, masks.causal_mask(*scores.shape[-2:])),
            "you always use a causal mask; the argument mask is not used.",
            "你用的一直是因果遮罩，mask 這個參數沒有用到。",
        ),
        _mistake(
            "dimension-1",
            _softmax_variant(finish=_clean, dim=1),
            "right for a matrix, but with batch and heads dimension 1 is no longer that of the "
            "keys. Counted from the end it is always -1.",
            "只有一個矩陣時是對的，但有批次和頭時，維度 1 就不是鍵的維度了。從後面數，鍵永遠是 "
            "-1。",
        ),
        _mistake(
            "dimension-0",
            _softmax_variant(finish=_clean, dim=0),
            "the softmax runs along dimension 0: over the queries, or over the batch. The keys "
            "are the last dimension, -1.",
            "你的 softmax 沿著維度 0 做了：那是查詢，或是批次。鍵是最後一個維度，也就是 -1。",
        ),
        _mistake(
            "masked-scores-with-a-number",
            lambda scores, mask: scores + (~mask).to(scores.dtype) * -1e9,
            "these are scores with −10⁹ added to the hidden ones. The softmax is still to come.",
            "這是分數，遮住的加了 −10⁹，還沒做 softmax。",
        ),
    ),
)

# --- cross-attention ----------------------------------------------------------------------


def _attend(q, k, v):
    return (q @ k.mT / math.sqrt(q.size(-1))).softmax(-1) @ v


def cross_attention(x_dec, x_enc, W_Q, W_K, W_V):
    return _attend(x_dec @ W_Q, x_enc @ W_K, x_enc @ W_V)


def _cross_cases():
    randn = normal(84)
    W = randn(5, 3), randn(5, 3), randn(5, 7)
    return [
        Case(ONE_SEQUENCE, (randn(4, 5), randn(6, 5), *W)),
        Case(A_BATCH, (randn(2, 4, 5), randn(2, 6, 5), *W)),
        Case(
            Text("two batch dimensions", "兩個批次維度"),
            (randn(2, 3, 4, 5), randn(2, 3, 6, 5), *W),
        ),
        Case(
            Text("as many source tokens as target tokens", "來源和目標的標記一樣多"),
            (randn(4, 5), randn(4, 5), *W),
        ),
        Case(
            Text("square weight matrices", "權重矩陣是方陣"),
            (randn(4, 5), randn(6, 5), randn(5, 5), randn(5, 5), randn(5, 5)),
        ),
        Case(LARGE_SCORES, (1000 * randn(4, 5), randn(6, 5), *W)),
    ]


def _cross_variant(scale=None, masked=None, dim=-1, finish=None):
    """Cross-attention with one step exchanged."""

    def answer(x_dec, x_enc, W_Q, W_K, W_V):
        q, k, v = x_dec @ W_Q, x_enc @ W_K, x_enc @ W_V
        scores = q @ k.mT * (q.size(-1) ** -0.5 if scale is None else scale(x_dec, k, v))
        weights = (scores if masked is None else masked(scores)).softmax(dim)
        return weights @ v if finish is None else finish(weights, v)

    return answer


def _top_left_causal(scores):
    return scores.masked_fill(~torch.ones_like(scores).tril().bool(), -torch.inf)


def _bottom_right_causal(scores):
    n_q, n_k = scores.shape[-2:]
    hidden = ~torch.ones_like(scores).tril(n_k - n_q).bool()
    return scores.masked_fill(hidden, -torch.inf)


def _without_softmax(x_dec, x_enc, W_Q, W_K, W_V):
    return (x_dec @ W_Q) @ (x_enc @ W_K).mT / W_Q.size(-1) ** 0.5 @ (x_enc @ W_V)


def _with_k_transposed_by(transpose):
    def answer(x_dec, x_enc, W_Q, W_K, W_V):
        q, k, v = x_dec @ W_Q, x_enc @ W_K, x_enc @ W_V
        return (q @ transpose(k) / math.sqrt(q.size(-1))).softmax(-1) @ v

    return answer


def _over_both(x_dec, x_enc, W_Q, W_K, W_V):
    return cross_attention(x_dec, torch.cat([x_enc, x_dec], dim=-2), W_Q, W_K, W_V)


def _residual_added(x_dec, x_enc, W_Q, W_K, W_V):
    out = cross_attention(x_dec, x_enc, W_Q, W_K, W_V)
    return out + x_dec if out.shape == x_dec.shape else out


def _cross_by_torch(x_dec, x_enc, W_Q, W_K, W_V):
    return F.scaled_dot_product_attention(x_dec @ W_Q, x_enc @ W_K, x_enc @ W_V)


def _cross_by_einsum(x_dec, x_enc, W_Q, W_K, W_V):
    q, k = x_dec @ W_Q, x_enc @ W_K
    weights = torch.einsum("...qd,...kd->...qk", q / q.size(-1) ** 0.5, k).softmax(-1)
    return torch.einsum("...qk,...kv->...qv", weights, x_enc @ W_V)


CROSS_ATTENTION = Exercise(
    name="cross-attention",
    chapter=8,
    title=Text("Cross-attention", "交叉注意力"),
    difficulty=2,
    minutes=10,
    reference=cross_attention,
    cases=_cross_cases,
    alternatives=(
        _cross_by_torch,
        _cross_by_einsum,
        lambda x_dec, x_enc, W_Q, W_K, W_V: attention.scaled_dot_product_attention(
            x_dec @ W_Q, x_enc @ W_K, x_enc @ W_V
        )[0],
        lambda x_dec, x_enc, W_Q, W_K, W_V: (
            (x_dec @ (W_Q @ W_K.mT) @ x_enc.mT / W_Q.size(-1) ** 0.5).softmax(-1) @ x_enc @ W_V
        ),
    ),
    mistakes=(
        _mistake(
            "roles-exchanged",
            lambda x_dec, x_enc, W_Q, W_K, W_V: cross_attention(x_enc, x_dec, W_Q, W_K, W_V),
            "the roles are exchanged: your queries come from the encoder, keys and values from the "
            "decoder. Who asks, and who answers?",
            "角色對調了：你的查詢來自編碼器，鍵和值來自解碼器。是誰在問，誰在答？",
        ),
        _mistake(
            "self-attention",
            lambda x_dec, x_enc, W_Q, W_K, W_V: cross_attention(x_dec, x_dec, W_Q, W_K, W_V),
            "this is self-attention of the decoder: x_enc is not used.",
            "這是解碼器的自注意力：x_enc 沒有用到。",
        ),
        _mistake(
            "self-attention-of-the-encoder",
            lambda x_dec, x_enc, W_Q, W_K, W_V: cross_attention(x_enc, x_enc, W_Q, W_K, W_V),
            "this is self-attention of the encoder: x_dec is not used.",
            "這是編碼器的自注意力：x_dec 沒有用到。",
        ),
        _mistake(
            "keys-from-the-decoder",
            lambda x_dec, x_enc, W_Q, W_K, W_V: _attend(x_dec @ W_Q, x_dec @ W_K, x_enc @ W_V),
            "your keys come from the decoder, only the values from the encoder. It fits only where "
            "both are of the same length.",
            "你的鍵來自解碼器，只有值來自編碼器。兩邊一樣長時才對得上。",
        ),
        _mistake(
            "values-from-the-decoder",
            lambda x_dec, x_enc, W_Q, W_K, W_V: _attend(x_dec @ W_Q, x_enc @ W_K, x_dec @ W_V),
            "your values come from the decoder: the source is searched, but nothing of it arrives. "
            "It fits only where both are of the same length.",
            "你的值來自解碼器：雖然是在來源裡找，卻什麼都沒拿回來。兩邊一樣長時才對得上。",
        ),
        _mistake(
            "both",
            _over_both,
            "the decoder's own tokens stand among the keys as well. In cross-attention only the "
            "source answers.",
            "解碼器自己的標記也混進鍵裡了。交叉注意力只由來源回答。",
        ),
        _mistake(
            "causal-on-the-memory",
            _cross_variant(masked=_top_left_causal),
            "a causal mask lies on the source: target token i sees only the first i source tokens. "
            "The source is known to its end.",
            "來源上蓋了因果遮罩：目標的第 i 個標記只看得到來源的前 i 個。來源的整句話本來就是已知的。",
        ),
        _mistake(
            "causal-on-the-memory-bottom-right",
            _cross_variant(masked=_bottom_right_causal),
            "a causal mask (bottom right) lies on the source, and hides its last tokens from the "
            "first queries. The source is known to its end.",
            "來源上蓋了（靠右下角的）因果遮罩，前面的查詢看不到來源的最後幾個標記。"
            "來源的整句話本來就是已知的。",
        ),
        _mistake(
            "not-scaled",
            _cross_variant(scale=lambda x, k, v: 1),
            "the scores are not scaled: the division by √d_k is missing.",
            "分數沒有縮放：少了除以 √d_k。",
        ),
        _mistake(
            "divided-by-d_k",
            _cross_variant(scale=lambda x, k, v: 1 / k.size(-1)),
            "divided by d_k, where √d_k belongs: either without the root, or divided twice.",
            "你除的是 d_k，應該除以 √d_k：可能忘了開根號，也可能除了兩次。",
        ),
        _mistake(
            "multiplied",
            _cross_variant(scale=lambda x, k, v: k.size(-1) ** 0.5),
            "multiplied by √d_k, where you should divide.",
            "應該除以 √d_k，你卻用乘的。",
        ),
        _mistake(
            "d_model",
            _cross_variant(scale=lambda x, k, v: x.size(-1) ** -0.5),
            "divided by √d_model. The dot product adds d_k terms: take the length of a query.",
            "你除的是 √d_model。內積只加了 d_k 項：要用查詢的長度。",
        ),
        _mistake(
            "d_v",
            _cross_variant(scale=lambda x, k, v: v.size(-1) ** -0.5),
            "divided by √d_v, the length of a value. The dot product is between query and key.",
            "你除的是 √d_v，也就是值的長度。內積是查詢和鍵之間的。",
        ),
        _mistake(
            "number-of-keys",
            _cross_variant(scale=lambda x, k, v: k.size(-2) ** -0.5),
            "divided by the root of the number of source tokens. d_k is the length of one key.",
            "你除的是來源標記個數的平方根。d_k 是一個鍵的長度。",
        ),
        _mistake(
            "over-the-queries",
            _cross_variant(dim=-2),
            "the softmax runs over the queries. For each query the weights on the source tokens "
            "should sum to 1.",
            "你的 softmax 沿著查詢的方向做了。應該是每個查詢對來源各標記的權重加起來等於 1。",
        ),
        _mistake(
            "no-softmax",
            _without_softmax,
            "the softmax is missing: the scores are used as weights.",
            "少了 softmax：你直接拿分數當權重。",
        ),
        _mistake(
            "weights-returned",
            _cross_variant(finish=lambda weights, v: weights),
            "these are the weights. The values are still to be blended with them.",
            "這是權重。還要用它們把值混合起來。",
        ),
        _mistake(
            "values-not-projected",
            lambda x_dec, x_enc, W_Q, W_K, W_V: _attend(x_dec @ W_Q, x_enc @ W_K, x_enc),
            "your values are x_enc itself: W_V is not used.",
            "你的值就是 x_enc 本身：W_V 沒有用到。",
        ),
        _mistake(
            "keys-not-projected",
            lambda x_dec, x_enc, W_Q, W_K, W_V: _attend(x_dec @ W_Q, x_enc, x_enc @ W_V),
            "your keys are x_enc itself: W_K is not used. It fits only where W_Q is square.",
            "你的鍵就是 x_enc 本身：W_K 沒有用到。W_Q 是方陣時才對得上。",
        ),
        _mistake(
            "values-from-W_K",
            lambda x_dec, x_enc, W_Q, W_K, W_V: cross_attention(x_dec, x_enc, W_Q, W_K, W_K),
            "your values are made with W_K; W_V is not used.",
            "你的值用了 W_K，W_V 沒有用到。",
        ),
        _mistake(
            "scaled-after-softmax",
            lambda x_dec, x_enc, W_Q, W_K, W_V: (
                cross_attention(x_dec * W_Q.size(-1) ** 0.5, x_enc, W_Q, W_K, W_V)
                / W_Q.size(-1) ** 0.5
            ),
            "the division by √d_k comes after the softmax, where it only makes the weights smaller. "
            "Divide the scores.",
            "你在 softmax 之後才除以 √d_k，只是讓權重變小而已。要除的是分數。",
        ),
        _mistake(
            "one-batch-only",
            lambda x_dec, x_enc, W_Q, W_K, W_V: (
                (torch.bmm(x_dec @ W_Q, (x_enc @ W_K).mT) / W_Q.size(-1) ** 0.5).softmax(-1)
                @ (x_enc @ W_V)
            ),
            "right for one batch dimension, but torch.bmm takes exactly three dimensions. The "
            "operator @ takes any number.",
            "只有一個批次維度時是對的，但 torch.bmm 只接受剛好三個維度。用 @ 就不限維度。",
        ),
        _mistake(
            "W_Q-and-W_K-exchanged",
            lambda x_dec, x_enc, W_Q, W_K, W_V: cross_attention(x_dec, x_enc, W_K, W_Q, W_V),
            "W_Q and W_K have changed places: the queries are made with W_Q.",
            "W_Q 和 W_K 對調了：查詢要用 W_Q 算。",
        ),
        _mistake(
            "keys-from-W_Q",
            lambda x_dec, x_enc, W_Q, W_K, W_V: cross_attention(x_dec, x_enc, W_Q, W_Q, W_V),
            "your keys are made with W_Q; W_K is not used.",
            "你的鍵用了 W_Q，W_K 沒有用到。",
        ),
        _mistake(
            "W_K-and-W_V-exchanged",
            lambda x_dec, x_enc, W_Q, W_K, W_V: cross_attention(x_dec, x_enc, W_Q, W_V, W_K),
            "W_K and W_V have changed places. It fits only where the matrices are square.",
            "W_K 和 W_V 對調了。權重矩陣是方陣時才對得上。",
        ),
        _mistake(
            "weights-transposed",
            lambda x_dec, x_enc, W_Q, W_K, W_V: cross_attention(x_dec, x_enc, W_Q.T, W_K.T, W_V.T),
            "the weight matrices are transposed. Here x @ W fits as it stands.",
            "你把權重矩陣轉置了。這裡直接 x @ W 就對得上。",
        ),
        _mistake(
            "T-on-a-batch",
            _with_k_transposed_by(lambda k: k.transpose(0, 1)),
            "right for one sequence, but with a batch the wrong dimensions are exchanged. Exchange "
            "the last two: transpose(-2, -1).",
            "單一序列時是對的，但有批次時就對調到錯的維度了。應該對調最後兩個維度：transpose(-2, -1)。",
        ),
        _mistake(
            "transposed-for-three-dimensions",
            _with_k_transposed_by(lambda k: k.transpose(1, 2)),
            "right with exactly three dimensions only. Counted from the end, the last two are "
            "always -2 and -1: transpose(-2, -1).",
            "只有剛好三個維度時才對。從後面數的話，最後兩個維度永遠是 -2 和 -1：transpose(-2, -1)。",
        ),
        _mistake(
            "reshaped",
            _with_k_transposed_by(lambda k: k.reshape(*k.shape[:-2], k.size(-1), k.size(-2))),
            "the keys are reshaped, not transposed: the shape fits, the numbers are mixed up.",
            "你用 reshape 代替轉置：形狀對了，裡面的數卻亂掉了。",
        ),
        _mistake(
            "residual-added",
            _residual_added,
            "x_dec is added to the result where the shapes allow it. The residual connection comes "
            "later; it is not part of the attention.",
            "形狀剛好對得上時，你把 x_dec 加到結果裡了。殘差連接是之後的事，不屬於注意力。",
        ),
        _mistake(
            "keys-times-queries",
            lambda x_dec, x_enc, W_Q, W_K, W_V: (
                ((x_enc @ W_K) @ (x_dec @ W_Q).mT / W_Q.size(-1) ** 0.5).softmax(-1) @ (x_enc @ W_V)
            ),
            "your scores are K Qᵀ: a row for each source token. A row belongs to a query: Q Kᵀ.",
            "你的分數是 K Qᵀ：每個來源標記一列。一列應該對應一個查詢：Q Kᵀ。",
        ),
        _mistake(
            "queries-not-projected",
            lambda x_dec, x_enc, W_Q, W_K, W_V: _attend(x_dec, x_enc @ W_K, x_enc @ W_V),
            "your queries are x_dec itself: W_Q is not used. It fits only where W_K is square.",
            "你的查詢就是 x_dec 本身：W_Q 沒有用到。W_K 是方陣時才對得上。",
        ),
        _mistake(
            "values-from-W_Q",
            lambda x_dec, x_enc, W_Q, W_K, W_V: cross_attention(x_dec, x_enc, W_Q, W_K, W_Q),
            "your values are made with W_Q; W_V is not used.",
            "你的值用了 W_Q，W_V 沒有用到。",
        ),
        _mistake(
            "length-of-x",
            _cross_variant(scale=lambda x, k, v: len(x) ** -0.5),
            "divided by the root of len(x_dec), which is the number of tokens, or of sentences. "
            "d_k is the length of one query: its last dimension.",
            "你除的是 len(x_dec) 的平方根，那是標記的個數，或句子的個數。d_k 是一個查詢的長度，"
            "也就是最後一個維度。",
        ),
        _mistake(
            "divided-by-the-square",
            _cross_variant(scale=lambda x, k, v: 1 / k.size(-1) ** 2),
            "divided by d_k squared, where the root √d_k belongs.",
            "你除的是 d_k 的平方，應該除以平方根 √d_k。",
        ),
        _mistake(
            "dimension-1",
            _cross_variant(dim=1),
            "right for one sequence, but with a batch dimension 1 is that of the queries. The "
            "keys are always the last, -1.",
            "單一序列時是對的，但有批次時，維度 1 是查詢。鍵永遠是最後一個維度，也就是 -1。",
        ),
        _mistake(
            "softmax-twice",
            _cross_variant(finish=lambda weights, v: weights.softmax(-1) @ v),
            "the softmax is applied twice, which flattens the weights.",
            "你做了兩次 softmax，權重變得比較平均了。",
        ),
        _mistake(
            "softmax-at-the-end",
            lambda *inputs: _without_softmax(*inputs).softmax(-1),
            "the softmax comes after the values have been blended. It makes weights of scores: "
            "apply it before.",
            "你把值混合完才做 softmax。它的用處是把分數變成權重，要在混合之前做。",
        ),
        _mistake(
            "only-the-best",
            _cross_variant(finish=lambda w, v: (w == w.amax(-1, keepdim=True)).to(v.dtype) @ v),
            "each query takes only the value of its best key. The softmax blends all of them.",
            "每個查詢只拿了分數最高的鍵的值。softmax 會把所有的值混合起來。",
        ),
        _mistake(
            "mean-of-the-values",
            _cross_variant(finish=lambda w, v: torch.ones_like(w) / w.size(-1) @ v),
            "every query gets the plain mean of the values: the scores have no effect.",
            "每個查詢得到的都是值的平均：分數沒有作用。",
        ),
        _mistake(
            "overflow",
            _cross_variant(finish=None, masked=lambda s: s.exp().log()),
            "exp is taken of the scores as they are, and overflows for large ones. softmax takes "
            "care of that; by hand, subtract each row's maximum first.",
            "你直接對分數取 exp，分數一大就溢位。softmax 會處理好；如果自己算，"
            "就先減去每一列的最大值。",
        ),
    ),
)

EXERCISES = (
    PENCIL_CAUSAL,
    PENCIL_CACHED_PAIRS,
    SHIFT_RIGHT,
    CAUSAL_MASK,
    PADDING_MASK,
    MASKED_SOFTMAX,
    CROSS_ATTENTION,
)
