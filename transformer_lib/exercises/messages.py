"""What the engine itself says to a learner, in both languages."""

from transformer_lib.exercises.data import Text

PASSED = Text(
    "✓ {name}: right for {n} different inputs, gradients too, in float32 and float64.",
    "✓ {name}：答對了。{n} 組不同的輸入都正確，梯度也對，float32 和 float64 都沒問題。",
)
PASSED_WITHOUT_GRADIENTS = Text(
    "✓ {name}: right for {n} different inputs.",
    "✓ {name}：答對了。{n} 組不同的輸入都正確。",
)
PASSED_NUMBER = Text("✓ {name}: right.", "✓ {name}：答對了。")
FAILED = Text("✗ {name}: {why}", "✗ {name}：{why}")
NOT_ATTEMPTED = Text(
    "○ {name}: not attempted yet. Write your answer, then run the cell again.",
    "○ {name}：還沒作答。寫好答案後，再執行一次這個儲存格。",
)

# Before and while running
NOT_A_FUNCTION = Text(
    'pass the function itself, without parentheses: check("{name}", my_function). What came was {kind}.',
    '請傳入函式本身，不要加括號：check("{name}", my_function)。你傳入的是 {kind}。',
)
WRONG_PARAMETERS = Text(
    "your function must take ({expected}); yours takes {got}.",
    "函式的參數應該是 ({expected})；你的是 {got}。",
)
PARAMETERS_IN_ANOTHER_ORDER = Text(
    "the parameters come in the order ({expected}); yours are {got}.",
    "參數的順序應該是 ({expected})；你的是 {got}。",
)
TIME_LIMIT = Text(
    "it did not finish within {seconds:g} seconds, so it was stopped. Is there a loop that never ends?",
    "跑了 {seconds:g} 秒還沒算完，所以先中止了。是不是有無窮迴圈？",
)
RAISED = Text(
    "it stopped with {error} on {case}.{line} The inputs were: {arguments}.",
    "在「{case}」這組測試裡，程式因為 {error} 而中斷。{line}當時的輸入是：{arguments}。",
)
AT_LINE = Text(" It happened in `{line}`.", "出錯的是這一行：`{line}`。")
AT_THIS_LINE = Text(" It happened in `{line}`.", "就是這一行：`{line}`。")

# What came back
NOTHING_RETURNED = Text(
    "it returned None. Does the function end with return?",
    "函式傳回了 None。最後是不是忘了寫 return？",
)
WRONG_KIND = Text(
    "{what} should be {expected}, but it is {got}.{advice}",
    "{what}應該是{expected}，現在卻是{got}。{advice}",
)
THE_RESULT = Text("the result", "結果")
THE_ANSWER = Text("the answer", "答案")
THE_PART = Text("“{name}” of the result", "結果裡的「{name}」")
A_TENSOR = Text("a torch tensor", "一個 torch 張量")
A_NUMBER = Text("a number", "一個數")
A_TUPLE_OF = Text("a tuple of {n}", "有 {n} 個元素的 tuple")
OF_TYPE = Text("of type {name}", "型別為 {name} 的值")
NO_GRADIENTS_IN_NUMPY = Text(
    " NumPy carries no gradients; stay with torch.", "NumPy 不會記錄梯度，請全程使用 torch。"
)
A_NUMPY_ARRAY = Text(
    " torch.from_numpy turns an array into a tensor.", "torch.from_numpy 可以把陣列變成張量。"
)
A_STRAY_COMMA = Text(
    " A comma at the end of a line makes a tuple of one.",
    "行尾多了一個逗號，就會變成只有一個元素的 tuple。",
)
A_LIST = Text(
    " Square brackets make a list: write return a, b, or torch.stack to join tensors.",
    "中括號會產生 list：請寫 return a, b，或用 torch.stack 把張量合起來。",
)

NO_BRACKETS = Text(" Write one number, without brackets.", "請寫一個數，不要加括號。")
NO_QUOTES = Text(" Write the number without quotation marks.", "數字不要加引號。")

# Its numbers
RANDOM = Text(
    "it gives another result each time it is called. Is there dropout, or a random number, in it?",
    "每次呼叫的結果都不一樣。裡面是不是有 dropout 或隨機數？",
)
WRONG_SHAPE = Text(
    "on {case} {what} has shape {got}; expected {expected}. The inputs were: {arguments}.",
    "在「{case}」這組測試裡，{what}的形狀是 {got}，應該是 {expected}。當時的輸入是：{arguments}。",
)
WRONG_DTYPE = Text(
    "{given}{what} is {got}; expected {expected}. Does a torch.zeros(...) or torch.tensor(...) "
    "need dtype=, or is there a conversion such as .float() or .double()?",
    "{given}{what}的型別是 {got}，應該是 {expected}。"
    "是不是 torch.zeros(...) 或 torch.tensor(...) 少了 dtype=，或是多了 .float()、.double() 之類的轉換？",
)
FOR_INPUTS = Text("for {dtype} inputs ", "輸入是 {dtype} 時，")
NOT_FINITE = Text(
    "on {case} {what} holds NaN or infinity, which is not expected there{first}.",
    "在「{case}」這組測試裡，{what}出現了不該有的 NaN 或無限大{first}。",
)
FIRST_AT = Text(", first at index {index}", "，第一個的索引是 {index}")
WRONG_VALUES = Text(
    "on {case} {what} differs: {at}expected {expected}, got {got}.{relation}{others}",
    "在「{case}」這組測試裡，{what}不對：{at}應該是 {expected}，你得到的是 {got}。"
    "{relation}{others}",
)
AT_INDEX = Text("at index {index} ", "索引 {index} ")
WRONG_NUMBER = Text(
    "{got} is not it yet. Work it through once more, one step at a time.",
    "{got} 還不對。一步一步再算一次看看。",
)
RATIO = Text(
    " Every entry is {factor} times what it should be.", "每一個數都是正確值的 {factor} 倍。"
)
OFFSET = Text(" Every entry is off by {offset}.", "每一個數都和正確值差 {offset}。")
TRANSPOSED = Text(
    " It is the transpose of what it should be: rows and columns are exchanged.",
    "結果正好是正確答案的轉置：列和行對調了。",
)
OTHERS_RIGHT = Text(" Already right: {cases}.", "其他已經正確的測試：{cases}。")
LIST_SEPARATOR = Text("; ", "；")

# What it left behind
CHANGED = Text(
    "it changes its argument {argument}. An operation in place (+=, x[...] = , a method that ends in _) "
    "writes into the caller's tensor; make a new tensor instead.",
    "函式改動了參數 {argument}。就地運算（+=、x[...] =、名稱以 _ 結尾的方法）"
    "會直接改寫呼叫者的張量；請改成產生新的張量。",
)
DETACHED = Text(
    "the numbers are right, but the result is cut off from its inputs, so nothing could be learned "
    "through it. Look for .detach(), .data, .item(), .numpy(), torch.tensor(...), torch.no_grad() or a function of NumPy.",
    "數值是對的，但結果和輸入之間的計算圖斷了，梯度傳不回去，也就沒辦法訓練。"
    "請找找看有沒有 .detach()、.data、.item()、.numpy()、torch.tensor(...)、torch.no_grad() 或 NumPy 的函式。",
)
BACKWARD_STOPPED = Text(
    "the numbers are right, but backward() stopped: {error}. An operation in place (-=, /=, x[...] = , a "
    "method that ends in _) overwrote something that the gradient needs; make a new tensor instead.",
    "數值是對的，但 backward() 中斷了：{error}。就地運算（-=、/=、x[...] =、名稱以 _ 結尾的方法）"
    "蓋掉了計算梯度時還要用的值；請改成產生新的張量。",
)
WRONG_GRADIENT = Text(
    "the numbers are right, but on {case} the gradient that reaches {argument} is {problem}.",
    "數值是對的，但在「{case}」這組測試裡，傳到 {argument} 的梯度{problem}。",
)
TOO_MANY_NUMBERS = Text(
    "the numbers are right, but on {case} your function works on {numbers} numbers at once.{line} "
    "At most {largest} are allowed there: never to hold them all is the point of this exercise.",
    "數值是對的，但在「{case}」這組測試裡，你的函式一次處理了 {numbers} 個數。{line}"
    "這裡一次最多只能有 {largest} 個：這一題的重點，就是不要把它們一次全部存下來。",
)
GRADIENT_MISSING = Text("missing", "不見了")
GRADIENT_NAN = Text("NaN", "是 NaN")
GRADIENT_DIFFERS = Text("wrong", "不對")
IN_FLOAT32 = Text("float32 inputs", "型別是 float32")
