"""What several exercises of chapter 6 share."""

from transformer_lib.exercises.data import Text

ONE_TOKEN = Text("a single token", "只有一個標記")
SQUARE = Text("square weight matrices", "權重矩陣是方陣")
LARGE = Text("very large entries", "很大的數")
RESIDUAL = Text(
    "x is added to the result. The residual connection comes later, outside the network.",
    "結果多加了 x。殘差連接是之後的事，不在這個網路裡面。",
)
W_2_TRANSPOSED = Text(
    "W_2 is transposed. It has shape (d_ff, d_model), so @ W_2 fits as it stands.",
    "你把 W_2 轉置了。它的形狀是 (d_ff, d_model)，直接 @ W_2 就對得上。",
)
