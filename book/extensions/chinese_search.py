"""Search in Traditional Chinese: every character and every pair of neighbours is a word.

Chinese has no spaces, and dictionaries that split it know Simplified Chinese best. Pairs need
none: a query is found where all of its pairs are, 注意力權重 where 注意, 意力, 力權 and 權重 are.
"""

import re

from sphinx.application import Sphinx
from sphinx.search import SearchLanguage

CJK = r"\u3400-\u9fff\uf900-\ufaff"
RUN = re.compile(rf"[{CJK}]+|[^\W{CJK}]+")  # of Chinese characters, or of other letters


def pairs(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(len(run) - 1)]


class TraditionalChinese(SearchLanguage):
    lang = "zh_TW"
    language_name = "Traditional Chinese"
    # The same split for the query; a query needs single characters only where it has no pair.
    js_splitter_code = rf"""
function splitQuery(query) {{
  const runs = query.match(/[{CJK}]+|(?:(?![{CJK}])[\p{{L}}\p{{N}}_])+/gu) || [];
  const pairs = (run) => [...run].slice(1).map((character, i) => [...run][i] + character);
  return runs.flatMap((run) => (/[{CJK}]{{2}}/.test(run) ? pairs(run) : [run]));
}}
"""

    def split(self, input: str) -> list[str]:
        words = []
        for run in RUN.findall(input):
            words += [*run, *pairs(run)] if re.match(f"[{CJK}]", run) else [run]
        return words

    def stem(self, word: str) -> str:
        return word.lower()


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_search_language(TraditionalChinese)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
