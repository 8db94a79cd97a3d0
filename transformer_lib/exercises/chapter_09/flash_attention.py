"""Exercise flash-attention of chapter 9: attention in tiles."""

import math

import torch

from transformer_lib.exercises.chapter_09.shared import (
    A_BLOCK_LARGER_THAN_ALL,
    A_SHORT_LAST_BLOCK,
    EXP_OF_THE_QUOTIENT,
    FACTOR_WITHOUT_EXP,
    FIRST_BLOCK,
    FIRST_MAXIMUM_INFINITE,
    LAST_BLOCK,
    MANY_TOKENS,
    NO_MAXIMUM,
    OLD_MAXIMUM_SUBTRACTED,
)
from transformer_lib.exercises.chapter_09.tiles import (
    difference,
    divide_unless_0,
    divided_each_time,
    each_block_by_itself,
    exp_of_quotient,
    flash,
    flash_attention,
    flash_normalised_in_each_block,
    hide,
    highest,
    mask_not_in_total,
    maximum_not_kept,
    modulo,
    new_weights_rescaled,
    only_diagonal_tiles_masked,
    overwritten,
    padded_with_zeros,
    positions,
    power_of_2,
    quotient,
    raw,
    rescale,
    softmax_of_all,
    tiles_skipped_by_number,
    update,
    weights_with_the_old_maximum,
    wrong_way,
)
from transformer_lib.exercises.data import Case, Exercise, Mistake, Text, mistakes
from transformer_lib.exercises.inputs import BATCH_AND_HEADS, LARGE_SCORES, normal


def _flash_cases():
    randn = normal(92)

    def qkv(*batch, n_q, n_k, d_k=5):
        return randn(*batch, n_q, d_k), randn(*batch, n_k, d_k), randn(*batch, n_k, 2)

    q, k, v = qkv(n_q=6, n_k=6)
    fewer = Text("causal, fewer queries than keys", "因果，而且查詢比鍵少")
    batch = Text("causal, in a batch with heads", "因果，有批次，也有好幾個頭")
    blind = Text(
        "causal, more queries than keys: the first see none",
        "因果，而且查詢比鍵多：最前面的查詢看不到任何鍵",
    )
    return [
        Case(fewer, (*qkv(n_q=4, n_k=7), 3, True)),
        Case(A_SHORT_LAST_BLOCK, (*qkv(n_q=4, n_k=7), 3, False)),
        Case(batch, (*qkv(3, 2, n_q=7, n_k=7), 2, True)),
        Case(LARGE_SCORES, (1000 * q, k, v, 2, True)),
        Case(BATCH_AND_HEADS, (*qkv(3, 2, n_q=3, n_k=4), 2, False)),
        Case(A_BLOCK_LARGER_THAN_ALL, (*qkv(n_q=3, n_k=4), 6, False)),
        Case(blind, (*qkv(n_q=5, n_k=3), 2, True)),
        Case(MANY_TOKENS, (*qkv(n_q=60, n_k=64, d_k=3), 20, True), largest=60 * 64 // 2),
    ]


def _flash_by_loops(q, k, v, block_size, causal):
    """One query after another, one key after another."""
    rows = []
    for i in range(q.size(-2)):
        maximum, total = q.new_full(q.shape[:-2], -torch.inf), 0.0
        output = q.new_zeros(*q.shape[:-2], v.size(-1))
        last = i + 1 + k.size(-2) - q.size(-2) if causal else k.size(-2)
        for j in range(last):
            score = (q[..., i, :] * k[..., j, :]).sum(-1) / math.sqrt(q.size(-1))
            new = torch.maximum(maximum, score)
            old_part, new_part = (maximum - new).exp(), (score - new).exp()
            total = total * old_part + new_part
            output = output * old_part[..., None] + new_part[..., None] * v[..., j, :]
            maximum = new
        rows.append(output / total[..., None] if last > 0 else output)
    return torch.stack(rows, dim=-2)


def _flash_merged(q, k, v, block_size, causal):
    """The output stays normalised: blocks are merged by their log-sum-exps."""
    lowest = torch.finfo(q.dtype).min / 2
    output, lse = q.new_zeros(*q.shape[:-1], v.size(-1)), q.new_full(q.shape[:-1], lowest)
    i, j = positions(q.size(-2), k.size(-2), block_size)
    blocks = k.split(block_size, -2), v.split(block_size, -2), j.split(block_size)
    for k_j, v_j, j_j in zip(*blocks, strict=True):
        scores = torch.einsum("...qd,...kd->...qk", q, k_j) / math.sqrt(q.size(-1))
        scores = hide(scores, j_j <= i) if causal else scores
        merged = torch.logaddexp(lse, scores.masked_fill(scores.isinf(), lowest).logsumexp(-1))
        weights = (scores - merged[..., None]).exp()
        output = output * (lse - merged).exp()[..., None] + weights @ v_j
        lse = merged
    return output


def _cut_along_dim_0(q, k, v, block_size, causal):
    """k[first:last] cuts the batch where there is one."""
    return flash_attention(q, k if k.ndim == 2 else k[:block_size], v, block_size, causal)


def _infinity_times_the_mask(q, k, v, block_size, causal):
    """score − ∞ · hidden: NaN wherever a key is seen."""
    sees = positions(q.size(-2), k.size(-2), block_size)[0] >= 0
    output = flash_attention(q, k, v, block_size, causal)
    return output.masked_fill(sees, torch.nan) if causal else output


_AND_NAN = Text(
    " Also, a query that sees no key divides 0 by 0 and gets NaN; its output should be 0.",
    "另外，看不到任何鍵的查詢會變成 0 除以 0，得到 NaN；它的輸出應該是 0。",
)


def _also_with_nan(name, answer, hint):
    """A slip by itself, and together with NaN for the queries that see no key."""

    def with_nan(q, k, v, block_size, causal):
        output = answer(q, k, v, block_size, causal)
        blind = positions(q.size(-2), k.size(-2), block_size)[0] < 0
        return output.masked_fill(blind, torch.nan) if causal else output

    both = Text("", "").join([hint, _AND_NAN])
    return Mistake(name, answer, hint), Mistake(f"{name}-and-nan", with_nan, both)


MISTAKES = mistakes(
    *_also_with_nan("accumulator-not-rescaled", flash(update=update(rescale_output=lambda old, new: 1.0)),
     Text("the sum of the weights is rescaled when the maximum rises, but the output collected so far is not. It was made with the same old exps.",
          "最大值變大時，權重的總和有重新縮放，但累積到現在的輸出沒有。它也是用舊的 exp 算出來的。")),
    *_also_with_nan("denominator-not-rescaled", flash(update=update(rescale_total=lambda old, new: 1.0)),
     Text("the output collected so far is rescaled when the maximum rises, but the sum of the weights is not. It was made with the same old exps.",
          "最大值變大時，累積的輸出有重新縮放，但權重的總和沒有。它也是用舊的 exp 算出來的。")),
    *_also_with_nan("nothing-rescaled",
     flash(update=update(rescale_total=lambda old, new: 1.0, rescale_output=lambda old, new: 1.0)),
     Text("when the maximum rises, neither the sum nor the output collected so far is rescaled. (Is the factor worked out before the old maximum is overwritten? Afterwards it is exp(0) = 1.)",
          "最大值變大時，累積的總和與輸出都沒有重新縮放。（縮放的係數有沒有在舊的最大值被蓋掉之前算好？蓋掉之後就變成 exp(0) = 1 了。）")),
    *_also_with_nan("rescaled-the-wrong-way", flash(update=update(highest, wrong_way, wrong_way)),
     Text("rescaled the wrong way round: exp(new − old) is at least 1. When the maximum rises, the old weights become smaller.",
          "縮放的方向反了：exp(new − old) 至少是 1。最大值變大時，舊的權重應該變小。")),
    ("rescaled-the-wrong-way-from-the-start",
     flash(update=update(highest, lambda old, new: raw(new, old), lambda old, new: raw(new, old))),
     FIRST_MAXIMUM_INFINITE),
    ("old-maximum-subtracted", flash(update=weights_with_the_old_maximum, finish=divide_unless_0),
     OLD_MAXIMUM_SUBTRACTED),
    *_also_with_nan("factor-without-exp",
     flash(
         update=update(rescale_total=difference, rescale_output=difference),
         finish=divide_unless_0,
     ),
     FACTOR_WITHOUT_EXP),
    *_also_with_nan("exp-of-the-quotient",
     flash(
         update=update(rescale_total=exp_of_quotient, rescale_output=exp_of_quotient),
         finish=divide_unless_0,
     ),
     EXP_OF_THE_QUOTIENT),
    *_also_with_nan("powers-of-two",
     flash(
         update=update(
             rescale_total=power_of_2,
             rescale_output=power_of_2,
             weigh=lambda scores, new, seen: power_of_2(scores, new),
         )
     ),
     Text("these are powers of 2, not of e. exp2 gives exp(x) only if x is multiplied by log₂ e before.",
          "你用的是 2 的次方，不是 e 的次方。用 exp2 的話，要先把 x 乘上 log₂ e，才會等於 exp(x)。")),
    ("maximum-of-the-block",
     flash(
         update=update(
             lambda old, scores: scores.amax(-1, keepdim=True),
             raw,
             raw,
             lambda s, new, seen: raw(s, new),
         ),
         finish=quotient,
     ),
     "your maximum is that of the block. It may fall again, so that old weights are blown up until they overflow; and in a block that is hidden as a whole it is −∞. The maximum of all that was read so far never falls.",
     "你用的是這一塊的最大值。它可能又變小，舊的權重就會被放大到溢位；整塊都被遮住時，它還會是 −∞。到目前為止讀過的最大值，只會變大，不會變小。"),
    *_also_with_nan("weights-with-the-maximum-of-the-block",
     flash(update=update(weigh=lambda s, new, seen: rescale(s, s.amax(-1, keepdim=True)))),
     Text("the new weights are taken with the maximum of their own block, the old ones are rescaled to the running maximum. They can be added only when the same number was subtracted in both.",
          "新的權重減的是自己這一塊的最大值，舊的卻縮放到目前為止的最大值。兩邊減掉的數相同，才能相加。")),
    ("no-maximum",
     flash(
         update=update(
             lambda old, scores: torch.zeros_like(old),
             lambda old, new: 1.0,
             lambda old, new: 1.0,
         ),
         finish=quotient,
     ),
     NO_MAXIMUM),
    ("maximum-starts-at-0",
     flash(
         update=update(lambda old, scores: highest(old, scores).clamp(min=0.0)),
         finish=divide_unless_0,
     ),
     "right unless all scores of a row are far below 0: then your maximum, which starts at 0, is far above them and every exp becomes 0. What is below every score?",
     "大多時候是對的，只有一列的分數全都遠低於 0 時會錯：你的最大值從 0 開始，比它們大太多，每個 exp 都變成 0。什麼數比所有的分數都小？"),
    ("maximum-not-kept", flash(update=maximum_not_kept),
     "the maximum is not kept for the next block, so that all blocks before the last are wiped out: the old maximum stays at its lowest, and exp(old − new) is 0.",
     "最大值沒有留給下一塊用，所以最後一塊之前的全被抹掉了：舊的最大值一直是最低的數，exp(old − new) 就是 0。"),
    ("new-weights-rescaled", flash(update=new_weights_rescaled, finish=divide_unless_0),
     "the factor multiplies the new weights as well. They have subtracted the new maximum already; only what was collected before needs it.",
     "新的權重也乘上係數了。它們減的已經是新的最大值；只有先前累積的才要乘。"),
    ("divided-by-the-last-sum",
     flash(update=update(rescale_total=lambda old, new: 0.0), finish=quotient),
     "the output is divided by the weights of the last block alone. Divide by the sum over all blocks, rescaled like the output.",
     "輸出只除以最後一塊的權重總和。應該除以所有塊的總和，而且要和輸出一樣重新縮放。"),
    ("one-maximum-for-all-queries",
     flash(update=update(lambda old, scores: torch.maximum(old, scores.max())), finish=quotient),
     "one maximum is subtracted for all queries. A query whose scores lie far below it loses all its weights, and 0/0 is left. Each row needs a maximum of its own.",
     "所有查詢都減同一個最大值。如果某個查詢的分數比它低很多，權重就全部變成 0，只剩下 0/0。每一列要有自己的最大值。"),
    *_also_with_nan("last-short-block-dropped", flash(starts=lambda n_k, b: range(0, n_k // b * b, b)), LAST_BLOCK),
    *_also_with_nan("last-block-dropped", flash(starts=lambda n_k, b: range(0, n_k - b, b)),
     Text("the last block of keys is always left out. How far does range(0, n − block_size, block_size) go?",
          "永遠漏掉最後一塊鍵。range(0, n − block_size, block_size) 會跑到哪裡？")),
    *_also_with_nan("first-block-skipped", flash(starts=lambda n_k, b: range(b, n_k, b)), FIRST_BLOCK),
    *_also_with_nan("blocks-overlap", flash(starts=lambda n_k, b: range(n_k)),
     Text("keys are counted more than once: the blocks overlap. By how much does the start of a block move on?",
          "有些鍵重複計算了：塊和塊之間重疊了。每一塊的起點應該往後移多少？")),
    *_also_with_nan("padded-with-zeros", padded_with_zeros,
     Text("the last block is filled up with zeros, and those keys count: a score of 0 is a weight of exp(0) = 1. Hide them, or leave the block short.",
          "你用 0 把最後一塊補滿，但那些鍵也算進去了：分數 0 的權重是 exp(0) = 1。把它們遮住，或是讓最後一塊短一點就好。")),
    ("blocks-normalised-and-added",
     flash(update=each_block_by_itself, finish=lambda m, total, output: output),
     "each block goes through a softmax of its own and the results are added: your weights sum to the number of blocks. A softmax needs the sum over all keys.",
     "每一塊各自做 softmax，再把結果加起來：權重的總和變成塊的個數。softmax 要除的是所有鍵的總和。"),
    ("blocks-normalised-and-averaged", flash(update=each_block_by_itself),
     "each block goes through a softmax of its own and the results are averaged, as if all blocks weighed the same. A block with larger scores must count for more.",
     "每一塊各自做 softmax，再把結果平均，好像每一塊都一樣重。分數比較大的塊，應該算得比較重。"),
    ("final-division-forgotten", flash(finish=lambda m, total, output: output),
     "the output is not divided by the sum of the weights. That comes once, at the very end.",
     "輸出沒有除以權重的總和。全部讀完之後，要除一次。"),
    ("divided-in-each-block", flash(update=divided_each_time, finish=lambda m, total, output: output),
     "the output is divided by the sum in each block, so the first blocks are divided several times. Divide once, at the end (or undo the last division first).",
     "每讀一塊就除一次總和，前面的塊就重複除了好幾次。最後除一次就好（不然就要先把上一次的除法還原）。"),
    ("divided-in-each-block-and-at-the-end", flash(update=divided_each_time),
     "the output is divided by the sum in each block and once more at the end. Divide once, when all is added up.",
     "每讀一塊就除一次總和，最後又再除一次。全部加完之後除一次就好。"),
    *_also_with_nan("only-the-last-block",
     flash(update=update(highest, lambda old, new: 0.0, lambda old, new: 0.0)),
     Text("only the last block of keys is left. Are sum and output carried on, and is the maximum kept for the next block? (While the old one stays −∞, exp(old − new) is 0.)",
          "只剩下最後一塊鍵。總和與輸出有累積下去嗎？最大值有留給下一塊用嗎？（舊的最大值如果一直是 −∞，exp(old − new) 就是 0。）")),
    *_also_with_nan("output-overwritten", flash(update=overwritten),
     Text("the sum of the weights runs over all blocks, but the output holds the last one alone: it is overwritten where it should be added to.",
          "權重的總和有累積到所有的塊，輸出卻只剩最後一塊：應該要加上去，你卻把它蓋掉了。")),
    *_also_with_nan("key-offset-forgotten", flash(positions=modulo(False, True)),
     Text("right for the first block of keys. In the causal test the keys of each block are counted from 0 again. Where in the sequence does the block begin?",
          "第一塊鍵是對的。但做因果判斷時，每一塊的鍵又從 0 開始數了。這一塊是從序列的哪裡開始的？")),
    *_also_with_nan("query-offset-forgotten", flash(positions=modulo(True, False)),
     Text("right for the first block of queries. In the causal test the queries of each block are counted from the beginning again. Where in the sequence does the block begin?",
          "第一塊查詢是對的。但做因果判斷時，每一塊的查詢又從頭開始數了。這一塊是從序列的哪裡開始的？")),
    *_also_with_nan("both-offsets-forgotten", flash(positions=modulo(True, True)),
     Text("every tile has a causal triangle of its own, as if each began at the first query and the first key. The test needs the places in the whole sequence.",
          "每一小塊都各有一個因果三角形，好像每塊都從第一個查詢、第一個鍵開始。判斷時要用整個序列裡的位置。")),
    ("triangle-in-each-tile",
     flash(positions=lambda n_q, n_k, b: (torch.arange(n_q)[:, None] % b, torch.arange(n_k) % b)),
     "each tile is cut by a triangle that starts at its own upper left corner. The causal test needs the places in the whole sequence, where query 0 stands at n_k − n_q.",
     "每一小塊都從自己的左上角開始切三角形。做因果判斷要用整個序列裡的位置，而第 0 個查詢在 n_k − n_q。"),
    ("only-the-diagonal-tiles-masked", only_diagonal_tiles_masked(top_left=False),
     "only the tiles whose numbers are equal are masked. Those further right are seen as a whole, where they hold nothing but later keys: test them too, or skip them.",
     "只有編號相同的小塊有遮。更右邊的整塊都看得到，但那裡全是後面的鍵：也要判斷，或是跳過。"),
    ("only-the-diagonal-tiles-masked-from-the-top-left", only_diagonal_tiles_masked(top_left=True),
     "only the tiles whose numbers are equal are masked; those further right are seen as a whole. Also, the queries are the last positions: query 0 stands at n_k − n_q.",
     "只有編號相同的小塊有遮，更右邊的整塊都看得到。另外，查詢是最後幾個位置：第 0 個查詢在 n_k − n_q。"),
    *_also_with_nan("tiles-skipped-by-number", tiles_skipped_by_number,
     Text("right where there are as many queries as keys. With fewer queries, too many tiles are skipped: block 0 of the queries starts at position n_k − n_q, not at 0.",
          "查詢和鍵一樣多的時候是對的。查詢比較少時，跳過的小塊太多了：第 0 塊查詢從位置 n_k − n_q 開始，不是從 0。")),
    *_also_with_nan("offset-subtracted",
     flash(positions=lambda n_q, n_k, b: (torch.arange(n_q)[:, None] + n_q - n_k, torch.arange(n_k))),
     Text("the offset has the wrong sign: the last query stands at the last key, so query 0 stands at position n_k − n_q.",
          "位移的正負號反了：最後一個查詢站在最後一個鍵的位置，所以第 0 個查詢在位置 n_k − n_q。")),
    ("top-left", flash(positions=lambda n_q, n_k, b: (torch.arange(n_q)[:, None], torch.arange(n_k))),
     "right where there are as many queries as keys. With fewer queries, these are the last positions, not the first: at which position does query 0 stand?",
     "查詢和鍵一樣多的時候是對的。查詢比較少時，它們是序列最後的幾個位置，不是最前面的：第 0 個查詢站在哪個位置？"),
    ("nan-where-nothing-is-seen",
     flash(update=update(highest, raw, raw, lambda s, new, seen: raw(s, new)), finish=quotient),
     "almost: a query that sees no key gets NaN, where it should get 0. Two things may do that: −∞ − (−∞), for the maximum of such a row is −∞ too, and 0 / 0 at the end.",
     "就差一點：看不到任何鍵的查詢，輸出應該是 0，現在卻是 NaN。有兩個地方會變成 NaN：−∞ 減 −∞（這種列的最大值也是 −∞），以及最後的 0 除以 0。"),
    ("nan-covered-up-at-the-end",
     flash(
         tiled=True,
         update=update(highest, raw, raw, lambda s, new, seen: raw(s, new)),
         finish=lambda m, total, output: (output / total).nan_to_num(0.0),
     ),
     "the numbers are right, but NaN is only covered up at the end, and the gradients are NaN still. Let it not come up: no −∞ − (−∞), and no division by 0.",
     "數是對的，但你只是在最後把 NaN 蓋掉，梯度還是 NaN。要讓它根本不出現：不要有 −∞ − (−∞)，也不要除以 0。"),
    ("average-where-nothing-is-seen",
     flash(hide=lambda scores, seen: scores.masked_fill(~seen, -1000000000.0), finish=quotient),
     "almost: a query that sees no key averages over all of them, because all its scores are the same large negative number. Its output should be 0.",
     "就差一點：看不到任何鍵的查詢，現在會把所有的值平均，因為它的分數全是同一個很大的負數。它的輸出應該是 0。"),
    ("softmax-where-nothing-is-seen",
     flash(hide=lambda scores, seen: scores - 1000000000.0 * ~seen, finish=quotient),
     "almost: a query that sees no key attends to all of them, because the same large number is subtracted from all its scores, and a softmax feels only differences. Its output should be 0.",
     "就差一點：看不到任何鍵的查詢，現在反而會看到全部，因為它的分數全都減掉同一個大數，而 softmax 只看分數的差。它的輸出應該是 0。"),
    *_also_with_nan("infinity-times-the-mask", _infinity_times_the_mask,
     Text("right without a mask, but with causal all becomes NaN. Is −∞ multiplied by a mask of 0 and 1? −∞ · 0 is NaN. masked_fill puts −∞ only where it belongs.",
          "沒有遮罩時是對的，但有 causal 時，全部變成 NaN。你是不是把 −∞ 乘上 0 和 1 的遮罩？−∞ · 0 是 NaN。masked_fill 只會把 −∞ 填到該填的地方。")),
    *_also_with_nan("not-scaled", flash(scale=lambda q, k, v: 1.0),
     Text("the scores are not divided by √d_k.",
          "分數沒有除以 √d_k。")),
    *_also_with_nan("divided-by-d_k", flash(scale=lambda q, k, v: 1 / q.size(-1)),
     Text("the scores are divided by d_k instead of its root.",
          "分數除的是 d_k，應該除以它的平方根。")),
    *_also_with_nan("multiplied-by-the-root", flash(scale=lambda q, k, v: q.size(-1) ** 0.5),
     Text("the scores are multiplied by √d_k, where they should be divided.",
          "分數乘上 √d_k 了，應該用除的。")),
    *_also_with_nan("scaled-by-d_v", flash(scale=lambda q, k, v: v.size(-1) ** (-0.5)),
     Text("the scores are divided by √d_v. Which vectors is a score made of?",
          "分數除的是 √d_v。分數是由哪些向量算出來的？")),
    *_also_with_nan("scaled-by-n_q", flash(scale=lambda q, k, v: q.size(-2) ** (-0.5)),
     Text("the scores are divided by the root of the number of queries. It should be the length of a query: size(-1), not size(-2).",
          "分數除的是查詢的個數的平方根。應該用一個查詢的長度：size(-1)，不是 size(-2)。")),
    *_also_with_nan("scaled-by-n_k", flash(scale=lambda q, k, v: k.size(-2) ** (-0.5)),
     Text("the scores are divided by the root of the number of keys. It should be the length of a key.",
          "分數除的是鍵的個數的平方根。應該用一個鍵的長度。")),
    ("causal-ignored", lambda q, k, v, block_size, causal: flash_attention(q, k, v, block_size, False),
     "right without a mask, but the argument causal has no effect. (masked_fill returns a new tensor: is its result kept?)",
     "沒有遮罩時是對的，但參數 causal 沒有作用。（masked_fill 會傳回新的張量：你有把結果留下來嗎？）"),
    *_also_with_nan("always-causal", lambda q, k, v, block_size, causal: flash_attention(q, k, v, block_size, True),
     Text("right where causal is True, but it hides later keys also where causal is False.",
          "causal 是 True 時是對的，但 causal 是 False 時，也把後面的鍵遮住了。")),
    ("past-hidden", flash(seen=lambda i, j: j >= i),
     "the causal triangle is the wrong one: each query sees the keys from its own on, the future. It should see those up to its own.",
     "因果的三角形反了：每個查詢看到的是自己和後面的鍵，也就是未來。應該看到自己和前面的鍵。"),
    ("one-key-ahead", flash(seen=lambda i, j: j <= i + 1),
     "each query sees one key too many: the one right after its own place.",
     "每個查詢都多看了一個鍵：自己位置的下一個。"),
    ("each-block-of-queries-is-the-last",
     lambda q, k, v, block_size, causal: torch.cat(
         [flash_attention(rows, k, v, block_size, causal) for rows in q.split(block_size, -2)],
         -2,
     ),
     "right without a mask. With causal, each block of queries is taken for the last one: its offset counts the queries of the block, where it should count all.",
     "沒有遮罩時是對的。有 causal 時，每一塊查詢都被當成最後一塊：算位移時，你用的是這一塊有幾個查詢，應該用全部的。"),
    *_also_with_nan("diagonal-hidden", flash(seen=lambda i, j: j < i),
     Text("a query does not see the key at its own place. j ≤ i is allowed, not only j < i.",
          "查詢看不到自己位置上的鍵。j ≤ i 都可以看，不是只有 j < i。")),
    *_also_with_nan("diagonal-blocks-skipped", flash(seen=lambda i, j: (j[-1] <= i).expand(-1, len(j))),
     Text("a block of keys counts only where all of it lies in the past. On the diagonal, a part of a block is seen: skip a block only if its first key is too late.",
          "整塊鍵都在過去，你才會算它。但對角線上的塊有一部分看得到：連第一個鍵都太晚的塊，才可以跳過。")),
    *_also_with_nan("diagonal-blocks-whole", flash(seen=lambda i, j: (j[0] <= i).expand(-1, len(j))),
     Text("a block whose first key is in the past is seen as a whole, later keys included. On the diagonal, each key needs the test.",
          "一塊的第一個鍵在過去，你就讓整塊都看得到，連後面的鍵也算進去。在對角線上，每個鍵都要判斷。")),
    ("hidden-after-the-exp",
     flash(
         hide=lambda scores, seen: scores,
         update=update(weigh=lambda s, new, seen: raw(s, new) * seen),
         finish=quotient,
     ),
     "hidden keys get weight 0, but after the maximum: where a hidden score is far larger than those that are seen, it wins the maximum and nothing is left. Hide the scores first.",
     "被遮住的鍵權重是 0，但你是在取最大值之後才遮：如果被遮住的分數大得多，最大值就是它，看得到的全都變成 0。應該先把分數遮住。"),
    ("hidden-only-from-the-output", flash(hide=lambda scores, seen: scores, update=mask_not_in_total),
     "hidden keys are left out of the output, but not out of the sum of the weights.",
     "被遮住的鍵沒有算進輸出，卻還是算進了權重的總和。"),
    ("hidden-scores-are-0", flash(hide=lambda scores, seen: scores * seen),
     "a hidden key has score 0, and exp(0) = 1 is a weight like any other. Which score makes exp give exactly 0?",
     "被遮住的鍵分數是 0，但 exp(0) = 1，一樣會有權重。分數要是多少，exp 才會剛好是 0？"),
    ("hidden-scores-are-1-lower", flash(hide=lambda scores, seen: scores - 1.0 * ~seen),
     "a hidden key's score is only a little lower. It has to be −∞, so that its weight is exactly 0.",
     "被遮住的鍵，分數只低了一點。要是 −∞，權重才會剛好是 0。"),
    ("softmax-over-the-queries", lambda q, k, v, b, causal: softmax_of_all(q, k, causal, dim=-2) @ v,
     "the weights of each key sum to 1: maximum and sum run over the queries. They run over the keys, the last dimension of the scores.",
     "每個鍵的權重加起來是 1：最大值和總和是沿著查詢算的。應該沿著鍵，也就是分數的最後一個維度。"),
    ("joined-along-dimension-0", flash(tiled=True, join_dim=0),
     "right for one sequence, but with a batch the blocks of queries are joined along dimension 0. Counted from the end, which one holds the queries?",
     "單一序列時是對的，但有批次時，各塊查詢沿著第 0 維接起來了。從後面數，查詢在哪一個維度？"),
    ("cut-along-dimension-0", _cut_along_dim_0,
     "right for one sequence, but with a batch k[a:b] cuts dimension 0, the batch, and .T turns all dimensions round. Count from the end: k[..., a:b, :], split(…, dim=-2), .mT.",
     "單一序列時是對的，但有批次時，k[a:b] 切的是第 0 維，也就是批次，.T 會把所有維度的順序都反過來。請從後面數：k[..., a:b, :]、split(…, dim=-2)、.mT。"),
)  # fmt: skip

EXERCISE = Exercise(
    name="flash-attention",
    chapter=9,
    title=Text("Attention in tiles", "分塊算注意力"),
    difficulty=3,
    minutes=30,
    reference=flash_attention,
    cases=_flash_cases,
    alternatives=(
        flash(),
        _flash_by_loops,
        _flash_merged,
        flash(update=flash_normalised_in_each_block, finish=lambda m, total, output: output),
        flash(tiled=True, update=update(highest=lambda *step: highest(*step).detach())),
    ),
    wasteful=(
        lambda q, k, v, block_size, causal: softmax_of_all(q, k, causal) @ v,
        lambda q, k, v, block_size, causal: flash_attention(q, k, v, k.size(-2), causal),
    ),
    mistakes=MISTAKES,
)
