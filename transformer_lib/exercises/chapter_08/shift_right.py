"""Exercise shift-right of chapter 8: shift right."""

import torch
import torch.nn.functional as F

from transformer_lib.exercises.data import Case, Exercise, Text, mistakes
from transformer_lib.exercises.families import edited
from transformer_lib.exercises.inputs import A_BATCH, ONE_SEQUENCE


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


MISTAKES = mistakes(
    ("not-shifted", lambda targets, bos_id: targets,
     "these are the targets, not shifted at all: at every place the model would see the very word it is to guess.",
     "這就是目標本身，完全沒有移：每個位置都直接看到要猜的那個詞。"),
    ("shifted-left", lambda targets, bos_id: F.pad(targets[:, 1:], (0, 1), value=bos_id),
     "shifted the wrong way: the input at each place is the word after the target. And the start token belongs at the start.",
     "移錯方向了：每個位置的輸入變成目標的下一個詞。而且起始標記應該放在開頭。"),
    ("rolled", lambda targets, bos_id: targets.roll(1, dims=1),
     "roll brings the last target round to the front. What should stand there?",
     "roll 會把最後一個目標繞到最前面。那裡應該放什麼？"),
    ("rolled-left", lambda targets, bos_id: targets.roll(-1, dims=1),
     "rolled the wrong way: each place now holds the word after the target, and the first target has come round to the end.",
     "roll 的方向反了：每個位置變成目標的下一個詞，第一個目標則繞到最後面去了。"),
    ("one-longer", lambda targets, bos_id: F.pad(targets, (1, 0), value=bos_id),
     "one place too long: the last target is still there. After it nothing is asked any more.",
     "長了一格：最後一個目標還留著。它後面沒有要猜的詞了。"),
    ("one-shorter", lambda targets, bos_id: targets[:, :-1],
     "one place too short: the start token is missing in front.",
     "短了一格：前面少了起始標記。"),
    ("first-overwritten", _overwritten,
     "the start token has overwritten the first target instead of pushing it to the right.",
     "起始標記把第一個目標蓋掉了。應該是把它往右推一格。"),
    ("last-overwritten", lambda targets, bos_id: F.pad(targets[:, :-1], (0, 1), value=bos_id),
     "nothing has moved, and the start token stands in the place of the last target. It belongs in front, with the others one place to the right.",
     "目標都沒有動，起始標記卻放在最後一格。它應該放在最前面，其他的往右移一格。"),
    ("first-dropped", lambda targets, bos_id: targets[:, 1:],
     "the first target is gone, and the result is one place too short. It is the last target that is left out, and the start token comes in front.",
     "少的是第一個目標，而且短了一格。應該去掉的是最後一個目標，再把起始標記放在前面。"),
    ("along-the-batch", lambda targets, bos_id: F.pad(targets[:-1], (0, 0, 1, 0), value=bos_id),
     "you have shifted along the batch: each sentence got the words of the one before it. The places of a sentence are dimension 1.",
     "你沿著批次的方向移了：每個句子拿到的是上一個句子的詞。句子裡的位置是維度 1（從 0 數起）。"),
    ("first-row", edited(_shift_by_roll, "[:, 0]", "[0]"),
     "the first sentence consists of start tokens only. [0] is the first row; the first place of every sentence is the first column.",
     "第一個句子全變成起始標記了。[0] 取的是第一列；每個句子的第一個位置是第一行。"),
    ("bos-is-zero", _zeros_then_targets,
     "0 stands in front, whatever bos_id is: the argument is not used.",
     "不管 bos_id 是多少，前面都放 0：這個參數沒有用到。"),
    ("bos-is-one", lambda targets, bos_id: F.pad(targets[:, :-1], (1, 0), value=1),
     "1 stands in front, whatever bos_id is: the argument is not used.",
     "不管 bos_id 是多少，前面都放 1：這個參數沒有用到。"),
    ("shifted-by-two", lambda targets, bos_id: F.pad(targets, (2, -2), value=bos_id),
     "shifted by two places. One is enough: the word just before may be seen.",
     "移了兩格。一格就夠了：前一個詞是可以看的。"),
    ("last-wrapped-first-lost", _spread_while_copying,
     "the first target has spread over the whole row: you read from what has just been overwritten. Read from the targets themselves.",
     "第一個目標蔓延到整列了：你讀到的是剛剛才覆蓋的值。要從原來的 targets 讀。"),
    ("rolled-without-dims", lambda targets, bos_id: targets.roll(1),
     "roll without dims moves through the whole batch: the last word of each sentence has come to the front of the next. What should stand in front, and along which dimension?",
     "roll 沒有指定 dims，就會穿過整個批次：每個句子的最後一個詞跑到下一句的開頭了。開頭應該放什麼？要沿著哪個維度移？"),
    ("appended", lambda targets, bos_id: F.pad(targets, (0, 1), value=bos_id),
     "the start token has been appended at the end. It belongs in front, and the last target is left out, so that the length stays n.",
     "起始標記接到最後面去了。它應該放在最前面，再去掉最後一個目標，長度才會維持 n。"),
    ("reversed", lambda targets, bos_id: F.pad(targets[:, :-1].flip(1), (1, 0), value=bos_id),
     "the words come in reverse order. They keep their order, one place to the right.",
     "詞的順序倒過來了。順序不變，只是往右移一格。"),
    ("start-everywhere", lambda targets, bos_id: torch.full_like(targets, bos_id),
     "every place holds the start token. Only the first should; the others hold the words before.",
     "每一格都是起始標記。只有第一格才是，其他的要放前一個詞。"),
    ("only-the-first-entry", _first_entry_is_start,
     "only one number has changed: the very first of the batch. Every sentence gets a start token, and all its words move one place to the right.",
     "你只改了整個批次的第一個數。每個句子都要有起始標記，而且所有的詞都要往右移一格。"),
    ("one-start-token-for-all",
     lambda targets, bos_id: torch.cat([torch.tensor([[bos_id]]), targets[:, :-1]], dim=1),
     "right for one sentence, but every sentence of the batch needs a start token: a column with as many rows as there are sentences.",
     "只有一個句子時是對的，但批次裡每個句子都要有起始標記：要的是一行，列數等於句子數。"),
    ("joined-below",
     lambda targets, bos_id: torch.cat([_start_column(targets, bos_id), targets[:, :-1]]),
     "torch.cat joins along dimension 0 unless told otherwise. The places of a sentence are dimension 1.",
     "torch.cat 沒有指定 dim 時，會沿著維度 0 接。句子裡的位置是維度 1。"),
    ("shifted-left-with-zero", lambda targets, bos_id: F.pad(targets[:, 1:], (0, 1)),
     "shifted the wrong way, and filled with 0: the input at each place is now the word after the target, and bos_id is not used.",
     "移錯方向，還用 0 補滿：每個位置的輸入變成目標的下一個詞，bos_id 也沒有用到。"),
    ("through-all-sentences",
     lambda targets, bos_id: F.pad(targets.flatten()[:-1], (1, 0), value=bos_id).view_as(targets),
     "all sentences have been shifted as if they were one: the last word of each comes first in the next. Each sentence begins with a start token of its own.",
     "你把所有句子當成一整串來移：每句的最後一個詞跑到下一句的開頭了。每個句子都要用自己的起始標記開頭。"),
    ("rolled-along-the-batch", lambda targets, bos_id: targets.roll(1, dims=0),
     "roll along dimension 0 exchanges the sentences. The places of a sentence are dimension 1; and what comes round to the front is to be the start token.",
     "沿著維度 0 做 roll，是把句子對調。句子裡的位置是維度 1；而且繞到最前面的要換成起始標記。"),
    ("two-start-tokens", lambda targets, bos_id: F.pad(targets[:, :-1], (2, 0), value=bos_id),
     "two start tokens stand in front, and the result is one place too long. One is enough.",
     "前面有兩個起始標記，長了一格。一個就夠了。"),
    ("values-shifted", lambda targets, bos_id: targets - 1,
     "the numbers have become smaller by 1. It is the places that shift, not the values.",
     "每個數都減了 1。要移的是位置，不是數值。"),
)  # fmt: skip

EXERCISE = Exercise(
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
    mistakes=MISTAKES,
)
