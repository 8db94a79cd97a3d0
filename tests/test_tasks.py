"""The tasks: dates as CLDR has them, numerals by their rules, a split that leaks nothing."""

import re
from collections import Counter
from datetime import date

import pytest
import torch
from babel import localedata
from hypothesis import given
from hypothesis import strategies as st

from transformer_lib import beam_search
from transformer_lib.tasks.dates import (
    FORMS,
    LOCALES,
    STYLES,
    date_pair,
    date_pairs,
    days_of,
    write_date,
)
from transformer_lib.tasks.numerals import (
    chinese_numeral,
    draw_numbers,
    english_words,
    number_pairs,
)
from transformer_lib.tasks.split import split
from transformer_lib.tasks.translation import (
    Translator,
    exact_match,
    mistakes,
    pair_batches,
)
from transformer_lib.tasks.vocabulary import BOS_ID, EOS_ID, PAD_ID, Vocabulary

# --- characters ---------------------------------------------------------------------------


def test_a_vocabulary_has_each_character_once():
    vocabulary = Vocabulary(["banana", "年月日", "b"])
    assert vocabulary.characters == "abn年日月"
    assert len(vocabulary) == 6 + 3
    assert Vocabulary(["日月年", "nab"]).characters == vocabulary.characters


@given(st.lists(st.text("abc 年月日", min_size=1), min_size=1))
def test_encoding_can_be_undone(texts):
    vocabulary = Vocabulary(["abc 年月日"])
    ids = vocabulary.encode(texts)
    assert vocabulary.decode(ids) == texts
    assert ids.shape == (len(texts), max(map(len, texts)) + 1)
    assert ((ids == EOS_ID).sum(1) == 1).all()
    assert [(row != PAD_ID).sum() for row in ids] == [len(text) + 1 for text in texts]


def test_decoding_stops_at_the_end_and_leaves_special_tokens_out():
    vocabulary = Vocabulary(["ab"])
    ids = torch.tensor([[BOS_ID, 3, PAD_ID, 4, EOS_ID, 3], [3, 3, 3, 4, 4, 4]])
    assert vocabulary.decode(ids) == ["ab", "aaabbb"]


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda: Vocabulary([]), ValueError, "at least one character, got none"),
        (lambda: Vocabulary(["", ""]), ValueError, "at least one character, got none"),
        (lambda: Vocabulary(["ab"]).encode("ab"), TypeError, r"write \['ab'\]"),
        (lambda: Vocabulary(["ab"]).encode([]), ValueError, "at least one text, got none"),
        (lambda: Vocabulary(["ab"]).encode(["a", ""]), ValueError, "the text is empty"),
        (
            lambda: Vocabulary(["ab"]).encode(["a", "bécé"]),
            ValueError,
            "'bécé' has characters outside the vocabulary: 'éc'; those it has are 'ab'",
        ),
        (
            lambda: Vocabulary(["ab"]).decode(torch.tensor([[3, 5]])),
            ValueError,
            "ids must be in 0 … 4, got 3 … 5",
        ),
    ],
)
def test_what_is_no_text_is_refused(wrong, error, message):
    with pytest.raises(error, match=message):
        wrong()


# --- splitting ----------------------------------------------------------------------------


def test_a_split_has_everything_once():
    parts = split(range(100), n_validation=10, n_test=20, seed=1)
    assert [len(part) for part in parts] == [70, 10, 20]
    assert sorted(parts.train + parts.validation + parts.test) == list(range(100))
    assert parts == split(range(100), 10, 20, seed=1) != split(range(100), 10, 20, seed=2)
    assert parts.test == split(range(100), 0, 20, seed=1).test  # whatever else is held back


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([1, 2, 1], 1, 1), ValueError, "items must all be different"),
        (([1, 2, 3], 1, 2), ValueError, "3 of 3 items held back leave none"),
        (([1, 2, 3], -1, 1), ValueError, "n_validation must be 0 or more, got -1"),
        (([1, 2, 3], 1, 0.5), TypeError, "n_test must be an int, got float"),
    ],
)
def test_a_split_that_would_leak_or_be_empty_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        split(*arguments)


# --- dates --------------------------------------------------------------------------------

DAY = date(2031, 3, 5)


def test_dates_are_written_as_people_do():
    assert [write_date(DAY, "en_US", style) for style in STYLES] == [
        "Wednesday, March 5, 2031",
        "March 5, 2031",
        "Mar 5, 2031",
        "3/5/31",
    ]
    assert date_pair(DAY, "en_GB", "full") == (
        "Wednesday, 5 March 2031",
        "2031年3月5日 星期三",
    )
    assert date_pair(DAY, "en_CA", "short") == ("2031-03-05", "2031/3/5")


def test_days_of_years():
    days = days_of(1999, 2001)
    assert (days[0], days[-1], len(days)) == (date(1999, 1, 1), date(2001, 12, 31), 365 * 3 + 1)
    assert len(days_of(1900, 1900)) == 365  # no leap year


def test_every_text_means_one_date_only():
    """In all the forms that are learned: no two centuries, and no day and month, are mixed up."""
    meanings = {}
    for year in (1901, 1911, 1931, 2001, 2010, 2031):
        for day in days_of(year, year):
            for form in FORMS:
                english, chinese = date_pair(day, *form)
                assert meanings.setdefault(english, chinese) == chinese, (english, day, form)


def test_the_form_left_out_can_be_meant_two_ways():
    assert set(FORMS) | {("en_US", "short")} == {(x, y) for x in LOCALES for y in STYLES}
    american = [write_date(day, "en_US", "short") for day in (DAY, date(1931, 3, 5))]
    assert american == ["3/5/31", "3/5/31"]
    assert write_date(date(2031, 5, 3), "en_AU", "short") == "3/5/31"


def test_no_english_locale_writes_month_before_day_and_four_digits_of_the_year():
    """Or else 03/05/2031, which the task reads as the 3rd of May, would have a second meaning."""
    locales = [name for name in localedata.locale_identifiers() if name.startswith("en")]
    assert len(locales) > 80
    shorts = {write_date(DAY, name, style) for name in locales for style in ("medium", "short")}
    assert "05/03/2031" in shorts
    assert not [text for text in shorts if re.fullmatch(r"0?3\D0?5\D2031", text)]


def test_pairs_come_in_all_forms_and_the_seed_decides():
    days = days_of(2001, 2003)
    pairs = date_pairs(days, seed=0)
    counts = Counter(
        form
        for day, pair in zip(days, pairs, strict=True)
        for form in FORMS
        if date_pair(day, *form) == pair
    )
    assert set(counts) == set(FORMS) and min(counts.values()) > 20
    assert pairs == date_pairs(days, seed=0) != date_pairs(days, seed=1)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda: days_of(2001, 2000), ValueError, "last_year must be 2001 or more, got 2000"),
        (lambda: days_of(1, 10_000), ValueError, "last_year must be 9999 or less"),
        (lambda: days_of(1.0, 2), TypeError, "first_year must be an int, got float"),
        (lambda: write_date(DAY, "en_US", "tiny"), ValueError, "style must be one of 'full'"),
        (lambda: write_date(DAY, "en_XX", "long"), ValueError, "CLDR knows no locale 'en_XX'"),
        (lambda: write_date(DAY, "English", "long"), ValueError, "no locale 'English'"),
    ],
)
def test_what_is_no_date_is_refused(wrong, error, message):
    with pytest.raises(error, match=message):
        wrong()


# --- numbers ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "english", "chinese"),
    [
        (0, "zero", "零"),
        (7, "seven", "七"),
        (10, "ten", "十"),
        (15, "fifteen", "十五"),
        (20, "twenty", "二十"),
        (21, "twenty-one", "二十一"),
        (100, "one hundred", "一百"),
        (105, "one hundred five", "一百零五"),
        (110, "one hundred ten", "一百一十"),
        (1_001, "one thousand one", "一千零一"),
        (1_010, "one thousand ten", "一千零一十"),
        (10_000, "ten thousand", "一萬"),
        (10_001, "ten thousand one", "一萬零一"),
        (20_300, "twenty thousand three hundred", "二萬零三百"),
        (105_000, "one hundred five thousand", "十萬五千"),
        (110_011, "one hundred ten thousand eleven", "十一萬零一十一"),
        (1_000_000, "one million", "一百萬"),
        (10_001_000, "ten million one thousand", "一千萬一千"),
        (10_010_000, "ten million ten thousand", "一千零一萬"),
        (20_000_005, "twenty million five", "二千萬零五"),
        (
            12_345_678,
            "twelve million three hundred forty-five thousand six hundred seventy-eight",
            "一千二百三十四萬五千六百七十八",
        ),
        (100_000_001, "one hundred million one", "一億零一"),
        (1_000_200_000, "one billion two hundred thousand", "十億零二十萬"),
    ],
)
def test_numbers_written_by_hand(number, english, chinese):
    assert number_pairs([number]) == [(english, chinese)]


def value_of_english(words: str) -> int:
    """By adding up, from left to right."""
    small = {english_words(n): n for n in range(20)}
    small |= {english_words(10 * n): 10 * n for n in range(2, 10)}
    total = group = 0
    for word in re.split("[ -]", words):
        if word in small:
            group += small[word]
        elif word == "hundred":
            group *= 100
        else:
            total += group * {"thousand": 10**3, "million": 10**6, "billion": 10**9}[word]
            group = 0
    return total + group


def value_of_chinese(numeral: str) -> int:
    total = group = digit = 0
    for character in numeral:
        if character in "零一二三四五六七八九":
            digit = "零一二三四五六七八九".index(character)
        elif character in "十百千":
            group += (digit or 1) * 10 ** ("十百千".index(character) + 1)
            digit = 0
        else:
            total += (group + digit) * {"萬": 10**4, "億": 10**8}[character]
            group = digit = 0
    return total + group + digit


@given(st.integers(0, 10**12 - 1) | st.integers(0, 12).map(lambda n: max(0, 10**n - 1)))
def test_numbers_can_be_read_back(number):
    assert value_of_english(english_words(number)) == number
    assert value_of_chinese(chinese_numeral(number)) == number


@given(st.integers(0, 10**12 - 1))
def test_numerals_are_well_formed(number):
    """No two 零 in a row, none at the end or before a unit, no 十 without its 一 in the middle."""
    numeral = chinese_numeral(number)
    assert not re.search("零零|零[十百千萬億]|.零$|[百千萬億]十|^一十", numeral)


def test_drawn_numbers_are_different_and_rich_in_zeros():
    numbers = draw_numbers(5_000, seed=0)
    assert len(set(numbers)) == len(numbers) > 2_000
    assert min(numbers) >= 0 and 10**7 < max(numbers) < 10**8
    long = [number for number in numbers if number > 10**6]
    assert sum("零" in chinese_numeral(number) for number in long) > len(long) / 2
    assert sum(number < 10**6 for number in numbers) > len(numbers) / 4
    assert numbers == draw_numbers(5_000, seed=0) != draw_numbers(5_000, seed=1)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("function", [english_words, chinese_numeral])
@pytest.mark.parametrize(
    ("number", "error", "message"),
    [
        (-1, ValueError, "number must be 0 or more, got -1"),
        (10**12, ValueError, "number must be below 10¹²"),
        (1.0, TypeError, "number must be an int, got float"),
    ],
)
def test_what_is_no_number_is_refused(function, number, error, message):
    with pytest.raises(error, match=message):
        function(number)


@pytest.mark.usefixtures("unchecked")
def test_too_many_digits_are_refused():
    with pytest.raises(ValueError, match="n_digits must be 12 or less, got 13"):
        draw_numbers(10, n_digits=13)


# --- translating --------------------------------------------------------------------------

TINY = {"d_model": 16, "n_heads": 2, "d_ff": 32, "n_encoder_layers": 1, "n_decoder_layers": 1}
LETTERS = [(text, text.upper()) for text in ("ab", "ba", "abc", "cab", "bca")]


def test_batches_are_padded_pairs():
    vocabulary = Vocabulary(["abcABC"])
    batch_at = pair_batches(LETTERS, vocabulary, batch_size=50)
    source_ids, target_ids = batch_at(1, torch.Generator().manual_seed(0))
    assert (target_ids[:, 0] == BOS_ID).all()
    pairs = zip(vocabulary.decode(source_ids), vocabulary.decode(target_ids), strict=True)
    assert set(pairs) == set(LETTERS)
    again = batch_at(1, torch.Generator().manual_seed(0))
    assert all(map(torch.equal, again, (source_ids, target_ids)))


def test_batches_are_as_narrow_as_they_can_be():
    batch_at = pair_batches([("a", "bb"), ("aaaa", "b")], Vocabulary(["ab"]), batch_size=1)
    generator = torch.Generator().manual_seed(0)
    shapes = {tuple(ids.size(1) for ids in batch_at(1, generator)) for _ in range(20)}
    assert shapes == {(2, 4), (5, 3)}  # with the end, and the target with its beginning


def test_it_learns_to_translate_and_what_it_says_is_counted():
    translator = Translator.untrained(LETTERS, **TINY)
    before = exact_match(translator, LETTERS)
    trainer = translator.trainer(LETTERS, steps=150, batch_size=20, peak=1e-2, warmup=20)
    trainer.train(150)
    assert before < 0.5 and exact_match(translator, LETTERS) == 1
    assert translator(["cab", "ab"]) == ["CAB", "AB"]
    assert translator(["cab", "ab"], beam_search, beam_width=2) == ["CAB", "AB"]
    wrong = [("ab", "AB"), ("ba", "AB")]
    assert mistakes(translator, wrong) == [("ba", "BA", "AB")]
    assert exact_match(translator, wrong) == 0.5


def test_the_seed_decides_the_weights_and_leaves_the_global_generator_alone():
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    one, same, other = (Translator.untrained(LETTERS, seed, **TINY) for seed in (0, 0, 1))
    assert torch.rand(1) == expected
    weights = [next(t.model.parameters()) for t in (one, same, other)]
    assert torch.equal(weights[0], weights[1]) and not torch.equal(weights[0], weights[2])


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda t: Translator.untrained([]), ValueError, "at least one pair"),
        (lambda t: Translator.untrained([("a", "A"), ("b", 3)]), TypeError, r"\('b', 3\)"),
        (lambda t: Translator.untrained(["ab"]), TypeError, "a pair is a tuple .* got 'ab'"),
        (
            lambda t: Translator.untrained([("", "A")]),
            ValueError,
            r"must not be empty, got \('', 'A'\)",
        ),
        (lambda t: t("ab"), TypeError, r"write \['ab'\]"),
        (lambda t: t([""]), ValueError, "the text is empty"),
        (lambda t: t(["abz"]), ValueError, "outside the vocabulary: 'z'"),
        (lambda t: t(["ab", "abab"]), ValueError, "'abab' has 4 characters; .* of up to 3"),
        (lambda t: t.trainer(LETTERS, steps=100), ValueError, "warmup .100. must be less than"),
        (lambda t: t.trainer(LETTERS, 200, batch_size=0), ValueError, "batch_size must be 1"),
        (lambda t: t.trainer([("z", "z")], 200), ValueError, "outside the vocabulary: 'z'"),
        (lambda t: exact_match(t, []), ValueError, "at least one pair"),
    ],
)
def test_what_cannot_be_translated_is_refused(wrong, error, message):
    translator = Translator.untrained(LETTERS, **TINY)
    with pytest.raises(error, match=message):
        wrong(translator)
