"""Exercise pencil-cached-pairs of chapter 8: pairs with a cache."""

import torch

from transformer_lib.exercises.data import Exercise, Text, mistakes
from transformer_lib.exercises.inputs import by_hand

MISTAKES = mistakes(
    ("cache-forgotten", 6,
     "6 = 1 + 2 + 3 are the pairs among the new words. The four in the cache are seen too.",
     "6 = 1 + 2 + 3 只算了新詞彼此的配對。快取裡的四個詞也看得到。"),
    ("not-themselves", 15,
     "15 = 4 + 5 + 6: the new words do not see themselves. They may.",
     "15 = 4 + 5 + 6：你沒讓新詞看自己。每個詞都可以看自己。"),
    ("whole-square", 28,
     "28 = 1 + 2 + … + 7 counts the queries of the old words too. Only the new ones ask.",
     "28 = 1 + 2 + … + 7 連舊詞的查詢都算了。現在只有新詞在問。"),
    ("no-mask", 21,
     "21 = 3 · 7 is the whole mask. Some of these pairs look ahead.",
     "21 = 3 · 7 是整個遮罩的格數。其中有些格是在偷看後面。"),
    ("hidden-pairs", 3,
     "3 are the pairs that are hidden. Those that may attend were asked for.",
     "3 是遮住的配對數。題目問的是可以關注的。"),
    ("cache-only", 12,
     "12 = 3 · 4 are the pairs with the cache. The new words see each other too, backwards.",
     "12 = 3 · 4 只算了新詞對快取的配對。新詞之間，後面的也看得到前面的。"),
    ("square-of-the-keys", 49,
     "49 = 7 · 7: how many rows has the mask? Only the new words are queries.",
     "49 = 7 · 7：遮罩有幾列？只有新詞才是查詢。"),
    ("one-more-each", 24,
     "24 leaves out how far each sees: how many keys has the first of the new words before it, and with itself?",
     "24 多算了：第一個新詞前面有幾個鍵，加上自己又是幾個？"),
    ("last-row-only", 7,
     "7 are the keys of the last word. The two before it ask as well.",
     "7 只是最後一個詞看得到的鍵。它前面的兩個新詞也要問。"),
    ("one-row-too-many", 22,
     "22 = 4 + 5 + 6 + 7 has four rows. Only the three new words ask; what does the first of them see?",
     "22 = 4 + 5 + 6 + 7 有四列。會問的只有三個新詞；第一個新詞看得到幾個鍵？"),
    ("one-word-forgotten", 11,
     "11 = 5 + 6: the third of the new words asks as well.",
     "11 = 5 + 6：第三個新詞也要問。"),
    ("old-words-only", 10,
     "10 = 1 + 2 + 3 + 4 are the pairs among the old words. Those no longer ask: the queries are the new ones.",
     "10 = 1 + 2 + 3 + 4 是舊詞彼此的配對。舊詞已經不問了：查詢是新詞。"),
    ("new-square", 9,
     "9 = 3 · 3 are all pairs among the new words, also those that look ahead; and the cache is missing.",
     "9 = 3 · 3 是新詞彼此的所有配對，連往後看的也算了，而且漏了快取。"),
    ("first-row-only", 5,
     "5 are the keys of the first new word. The two after it ask as well.",
     "5 只是第一個新詞看得到的鍵。它後面的兩個新詞也要問。"),
)  # fmt: skip

EXERCISE = Exercise(
    name="pencil-cached-pairs",
    chapter=8,
    title=Text("Pairs with a cache", "快取裡的配對數"),
    difficulty=1,
    minutes=3,
    reference=lambda: 18,
    cases=by_hand,
    alternatives=(lambda: 5 + 6 + 7, lambda: 18.0, lambda: torch.tensor(18)),
    mistakes=MISTAKES,
)
