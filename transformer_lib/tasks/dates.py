"""English dates and the same dates in Traditional Chinese, both as CLDR has them.

CLDR is the Unicode Consortium's collection of how the world writes dates, numbers and names. Babel
carries it along.
"""

from collections.abc import Sequence
from datetime import date, timedelta
from functools import cache

import numpy as np
from babel import Locale, UnknownLocaleError
from babel.dates import format_date

from transformer_lib.checks import check_choice, check_size
from transformer_lib.tasks.translation import Pair

LOCALES = ("en_US", "en_GB", "en_CA", "en_IE", "en_ZA")
STYLES = ("full", "long", "medium", "short")
CHINESE = "zh_Hant"
# Of these 20 forms one is left out: 3/5/31 is the 5th of March of 1931 and of 2031.
FORMS = tuple((x, y) for x in LOCALES for y in STYLES if (x, y) != ("en_US", "short"))


def days_of(first_year: int, last_year: int) -> list[date]:
    """Every day from the first year's January 1 to the last year's December 31.

    Raises:
        TypeError, ValueError: not two years from 1 to 9999, the first of them first.
    """
    check_size("first_year", first_year)
    check_size("last_year", last_year, least=first_year)
    if last_year > date.max.year:
        raise ValueError(f"last_year must be {date.max.year} or less, got {last_year}")
    first = date(first_year, 1, 1)
    return [first + timedelta(n) for n in range((date(last_year, 12, 31) - first).days + 1)]


@cache
def _locale(name: str) -> Locale:
    """Looked up once, not once a date."""
    try:
        return Locale.parse(name)
    except UnknownLocaleError:
        raise ValueError(f"CLDR knows no locale {name!r}") from None


def write_date(day: date, locale: str, style: str) -> str:
    """The date as people write it there: "March 5, 2031" for en_US, long.

    Args:
        day: the date.
        locale: language and region, such as "en_GB" or "zh_Hant".
        style: "full" (with the day of the week), "long", "medium" or "short".

    Raises:
        ValueError: another style, or a locale that CLDR does not know.
    """
    check_choice("style", style, STYLES)
    return format_date(day, style, _locale(locale))


def date_pair(day: date, locale: str, style: str) -> Pair:
    """The date in an English locale, and in Chinese in the same style.

    Raises:
        ValueError: see :func:`write_date`.
    """
    return write_date(day, locale, style), write_date(day, CHINESE, style)


def date_pairs(days: Sequence[date], seed: int = 0) -> list[Pair]:
    """A pair for each day, in one of FORMS drawn at random.

    Args:
        days: any number of them.
        seed: of the drawing.
    """
    forms = np.random.default_rng(seed).integers(len(FORMS), size=len(days))
    return [date_pair(day, *FORMS[i]) for day, i in zip(days, forms, strict=True)]
