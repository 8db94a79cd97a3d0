"""What a translation into Taiwanese Chinese must keep, and what it must not hold.

Each check takes the English and the Chinese of one message and yields what is wrong.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator

from sphinx.util.nodes import explicit_title_re
from zhon import cedict

from tests.markdown import tokens

Check = Callable[[str, str], Iterator[str]]

HAN = r"[\u3400-\u9fff]"
# zhon counts 后, 于, 几… as traditional too, in surnames and the like; this book has none of those.
SIMPLIFIED = set(cedict.simplified) - set(cedict.traditional) | set("几于么万后云")
NOT_TAIWANESE = {"裏": "裡", "爲": "為", "綫": "線", "啓": "啟", "衆": "眾", "羣": "群", "着": "著"}
MARKS = r"[,;:?!()\"“”‘’]"
HALF_WIDTH = re.compile(rf"{HAN} ?{MARKS}|{HAN}\.|{MARKS} ?{HAN}|\.{HAN}")
# Calls and tuples in plain text, where no backticks can mark them: exp(x), (d_model, d_k).
INSIDE = r"[^()\u3400-\u9fff]*"
CODE = re.compile(rf"[A-Za-z_.][\w.]*\({INSIDE}\)|\({INSIDE}[,_={{\d]{INSIDE}\)", re.ASCII)
ENDS = {".": "。！？…）」", "?": "？」）", "!": "！。」）", ":": "：。）"}
# Mainland words whose Taiwanese counterpart is beyond doubt; words used in both stay out of it.
MAINLAND = {
    "信息": "資訊", "默認": "預設", "缺省": "預設", "代碼": "程式碼", "視頻": "影片",
    "軟件": "軟體", "硬件": "硬體", "網絡": "網路", "數據": "資料", "內存": "記憶體",
    "變量": "變數", "數組": "陣列", "線程": "執行緒", "服務器": "伺服器", "屏幕": "螢幕",
    "打印": "列印", "文檔": "文件", "字符": "字元", "字節": "位元組", "緩存": "快取",
    "方差": "變異數", "歸一化": "正規化", "概率": "機率", "激活": "啟動", "掩碼": "遮罩",
    "令牌": "標記", "詞元": "標記", "接口": "介面", "調用": "呼叫", "加載": "載入",
    "鏈接": "連結", "遞歸": "遞迴", "運算符": "運算子", "嵌套": "巢狀",
    "注釋掉": "註解掉", "層歸一": "層正規化", "殘差鏈接": "殘差連接", "自注意力網": "自注意力機制",
}  # fmt: skip


WORD = re.compile(r"[A-Za-z]{2,}")


def is_translated(en: str, zh: str) -> Iterator[str]:
    """A message without a word ("$q$", "a") may stay empty: the English is shown."""
    words = WORD.findall(visible_text(en))
    if not zh.strip() and words:
        yield "not translated"
    elif len(words) >= 4 and not re.search(HAN, zh):
        yield "not translated: the Chinese holds no Chinese"


def keeps_markup(en: str, zh: str) -> Iterator[str]:
    """The same mathematics, roles, links, code and emphasis on both sides, in any order."""
    ours, theirs = markup(en), markup(zh)
    for (kind, content), count in (ours - theirs).items():
        yield f"{count} × {kind} {content!r} missing in the Chinese"
    for (kind, content), count in (theirs - ours).items():
        yield f"{count} × {kind} {content!r} not in the English"


def keeps_placeholders(en: str, zh: str) -> Iterator[str]:
    """The same ``{fields}`` for str.format."""
    ours, theirs = (Counter(re.findall(r"{[^{}]*}", text)) for text in (en, zh))
    if ours != theirs:
        yield f"placeholders differ: {sorted(ours)} in English, {sorted(theirs)} in Chinese"


def markup_is_read(en: str, zh: str) -> Iterator[str]:
    """No ``**`` or backtick left as text: next to 「」 Markdown's emphasis often does not open."""
    for sign in ("**", "`", "$", "]("):
        if sign in visible_text(zh) and sign not in visible_text(en):
            yield f"{sign} is shown as text; a space or another place for it helps"


def is_traditional(_en: str, zh: str) -> Iterator[str]:
    if wrong := sorted(set(zh) & SIMPLIFIED):
        yield f"simplified characters: {' '.join(wrong)}"
    for variant in sorted(set(zh) & set(NOT_TAIWANESE)):
        yield f"{variant} is written {NOT_TAIWANESE[variant]} in Taiwan"


def is_taiwanese(_en: str, zh: str) -> Iterator[str]:
    for word, replacement in MAINLAND.items():
        if word in zh:
            yield f"{word}: in Taiwan {replacement}"


def punctuation_is_full_width(_en: str, zh: str) -> Iterator[str]:
    for match in HALF_WIDTH.finditer(CODE.sub("", visible_text(zh))):
        yield f"half-width punctuation next to Chinese: {match[0]!r}"


def is_whole(en: str, zh: str) -> Iterator[str]:
    """Neither cut short nor grown; a sentence ends as a sentence."""
    long, short = len(visible_text(en)), len(visible_text(zh))
    if long >= 60 and not 0.18 <= short / long <= 1.1:
        yield f"{short} characters for {long} of English: is it whole?"
    han, latin = (len(re.findall(letter, visible_text(zh))) for letter in (HAN, "[A-Za-z]"))
    if long >= 60 and han < latin / 3:
        yield f"only {han} Chinese characters beside {latin} Latin letters"
    mark, end = (text.rstrip(" *_")[-1:] for text in (en, zh))
    if mark in ENDS and end not in ENDS[mark]:
        yield f"the English ends with {mark!r}, the Chinese with {end!r}"


MESSAGE_CHECKS: list[Check] = [
    is_translated,
    keeps_markup,
    markup_is_read,
    is_traditional,
    is_taiwanese,
    punctuation_is_full_width,
    is_whole,
]


def problems(en: str, zh: str, checks: list[Check]) -> list[str]:
    """All that is wrong with one message; an empty translation is only reported as such."""
    if not zh.strip():
        return list(is_translated(en, zh))
    return [problem for check in checks for problem in check(en, zh)]


def markup(text: str) -> Counter[tuple[str, str]]:
    """Everything in a Markdown text that a translation has to carry over unchanged."""
    return Counter(filter(None, map(markup_of, tokens(text))))


def markup_of(token) -> tuple[str, str] | None:
    match token.type:
        case "math_inline" | "math_block" | "math_block_label" | "amsmath":
            return "mathematics", token.content.strip()
        case "myst_role":
            return f"{{{token.meta['name']}}}", role_target(token)
        case "link_open":
            return "link", token.attrs["href"]
        case "image":
            return "image", token.attrs["src"]
        case "code_inline" | "html_inline" | "fence" | "code_block" | "footnote_ref":
            return token.type, token.content or str(token.meta)
        case "strong_open" | "em_open":
            return token.type.removesuffix("_open"), ""
    return None


def role_target(token) -> str:
    """What a role points at; its title is free to be translated."""
    title = explicit_title_re.match(token.content)
    return title[2] if title and token.meta["name"] != "math" else token.content


def visible_text(text: str) -> str:
    """The prose alone; mathematics, code and roles become a character that is not punctuation."""
    return "".join(t.content if t.type == "text" else "\ufffc" for t in tokens(text) if is_leaf(t))


def is_leaf(token) -> bool:
    return token.type == "text" or token.type in ("math_inline", "code_inline", "myst_role")
