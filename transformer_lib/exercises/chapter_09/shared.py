"""Labels and hints that several exercises of chapter 9 share."""

from transformer_lib.exercises.data import Text

A_SHORT_LAST_BLOCK = Text("a last block that is shorter", "最後一塊比較短")
A_BLOCK_LARGER_THAN_ALL = Text("a block larger than the whole", "一塊就比全部還大")
MANY_TOKENS = Text("many tokens", "很多標記")
LAST_BLOCK = Text(
    "the last block is left out where it is shorter than the others. n // block_size counts only the full ones.",
    "最後一塊比較短的時候，你就漏掉它了。n // block_size 只算得到完整的塊。",
)
FIRST_BLOCK = Text(
    "the first block is left out. Where does your loop start?",
    "漏掉了第一塊。你的迴圈從哪裡開始？",
)
NO_MAXIMUM = Text(
    "right for small scores, but exp overflows for large ones. Keep a running maximum and subtract it.",
    "分數小的時候正確，但分數一大，exp 就會溢位。請邊讀邊記住目前的最大值，並把它減掉。",
)
FIRST_MAXIMUM_INFINITE = Text(
    "NaN: at the first block the old maximum is −∞, so old − new, exp(new − old), exp(x − old) and old / new are ±∞, and ∞ · 0 is NaN. Is your factor an exp, of which difference, and which maximum do the new terms subtract?",
    "出現 NaN：讀第一塊時，舊的最大值是 −∞，所以 old − new、exp(new − old)、exp(x − old)、old / new 都是 ±∞，而 ∞ · 0 是 NaN。你的係數有取 exp 嗎？裡面是誰減誰？新的項減的是哪一個最大值？",
)
OLD_MAXIMUM_SUBTRACTED = Text(
    "the new terms overflow: they subtract the old maximum, which is far below everything at the start. Which maximum are the old terms brought to? The new ones subtract the same.",
    "新的項溢位了：它們減的是舊的最大值，而一開始那比所有的數都小得多。舊的項換到哪一個最大值？新的項也要減同一個。",
)
FACTOR_WITHOUT_EXP = Text(
    "the difference of the maxima itself is the factor. Another number subtracted in the exponent is a factor exp(old − new).",
    "你把兩個最大值的差直接當係數了。指數裡多減一個數，係數是 exp(old − new)。",
)
EXP_OF_THE_QUOTIENT = Text(
    "the factor is exp(old / new). exp(a) / exp(b) is exp(a − b): subtract the maxima.",
    "你的係數是 exp(old / new)。但 exp(a) / exp(b) 等於 exp(a − b)：兩個最大值要相減。",
)
