"""
Parse decimals and counts in the notations of many countries.

Where a point may be a decimal point or group thousands, the currency decides. Euros have two
decimals, so the point in `1.299` euros groups thousands.
"""

from __future__ import annotations

import re
import unicodedata
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any

DIGITS = r"\d(?:[\d.,]|(?<=\d)[\x20'](?=\d{3}(?!\d))|){0,40}+|(?<!\w)[.,]\d{1,9}+(?![.,]?\d)"
"""
Matches a number in text that `normalize_signs` returned. A space or apostrophe groups three digits.
A leading point or comma (`.75`) is a decimal separator.
"""
_NUMBER = re.compile(rf"[-+]?(?:{DIGITS})")
_EXPONENT = re.compile(r"[eE]([+-]?\d{1,3})(?![\w.,])")
"""The exponent in `1.25E7`, as Java and PHP write large numbers."""
_MANTISSA = re.compile(r"[-+]?\d(?:\.\d{1,20})?")
_CONTINUATION = re.compile(
    r"[eE][+-]?\d|'\d|[kKmMbB](?![^\W\d_])|\s?[万萬만億亿억千천]|"
    r"\s?(?:[KMB]|mil|mio|mln|[bm]illi?ons?|thousand|lakhs?|crores?)(?![^\W\d_])"
)
"""Text that belongs to the number before it: `1.2M` is not 1.2, and `1'25` is not 1."""
_MAX_EXPONENT = 18
_ARABIC_SEPARATORS = {ord("٫"): ".", ord("٬"): ",", ord("،"): ","}
"""Arabic and Persian separators. Python reads the digits of these scripts."""
_SPACES = dict.fromkeys(
    map(ord, "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2007\u2008\u2009\u202f"), " "
)
_INVISIBLE = dict.fromkeys(
    [0xAD, 0x61C, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x206A), 0xFEFF]
)
_APOSTROPHES = dict.fromkeys(map(ord, "’‘ʼʹ´`＇"), "'")
_SIGNS = {ord("−"): "-", ord("﹣"): "-", ord("－"): "-", ord("＋"): "+"}
_FULL_WIDTH = {
    ord("，"): ",",
    ord("．"): ".",
    ord("￥"): "¥",
    ord("＄"): "$",
    ord("￡"): "£",
    ord("￦"): "₩",
}
_RAISED_DIGITS = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_RAISED_DECIMALS = re.compile(rf"(?<=\d)[.,]?([{_RAISED_DIGITS}]{{2}})(?![{_RAISED_DIGITS}])")
_RAISED_DIGIT_VALUES = {ord(raised): str(digit) for digit, raised in enumerate(_RAISED_DIGITS)}
_REPLACEMENTS = (
    _ARABIC_SEPARATORS | _SPACES | _INVISIBLE | _APOSTROPHES | _SIGNS | _FULL_WIDTH
    | {ord("０") + digit: str(digit) for digit in range(10)}
)  # fmt: skip
_THREE_DECIMAL_CURRENCIES = frozenset({"BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"})


def normalize_signs(text: str) -> str:
    """
    Return a string with ASCII separators, signs and spaces, and no invisible characters.

    Two raised digits after a number are its decimals: `12⁹⁹`.
    """
    if text.isascii():
        return text
    text = _RAISED_DECIMALS.sub(lambda match: "." + match[1].translate(_RAISED_DIGIT_VALUES), text)
    return unicodedata.normalize("NFC", text).translate(_REPLACEMENTS)


def decimal(value: Any, currency: str | None = None) -> Decimal | None:
    """
    Return a number as Decimal, or None if it is absent or ambiguous.

    A JSON number is used unchanged. In a string, the last of two kinds of separators is the decimal
    separator (`1.299,00` and `1,299.00`), and a repeated separator groups digits (`1.299.000`).
    A single comma before three digits groups them, and so does a point if the currency is known;
    in a currency with three decimals, neither does. A rounded number (`1.2M`) yields None.
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return _parse_finite(repr(value))
    if not isinstance(value, str) or len(value) > 200:
        return None
    text = normalize_signs(value)
    match = _NUMBER.search(text)
    if match is None:
        return None
    exponent = _EXPONENT.match(text, match.end())
    if exponent is not None and _MANTISSA.fullmatch(match[0]):
        return _parse_finite(f"{match[0]}e{exponent[1]}")
    return (
        None
        if _CONTINUATION.match(text, match.end())
        else _parse_finite(_normalize_separators(match[0], currency))
    )


def decimal_with_point(value: Any, currency: str) -> Decimal | None:
    """
    Return a number such as `3.350` with its point as a decimal separator; None for other text.

    Software may write three decimals for a currency with two; the third decimal is then zero. In a
    currency without decimals, a point can only group thousands.
    """
    if not isinstance(value, str) or _ZERO_THIRD_DECIMAL.fullmatch(value.strip()) is None:
        return None
    return (
        None
        if currency in _THREE_DECIMAL_CURRENCIES | _NO_DECIMAL_CURRENCIES
        else _parse_finite(value.strip())
    )


_ZERO_THIRD_DECIMAL = re.compile(r"[1-9]\d{0,2}\.\d\d0")
_NO_DECIMAL_CURRENCIES = frozenset(
    "ALL AMD BIF CLP COP CRC DJF GNF HUF IDR IQD IRR ISK JPY KMF KRW KZT LAK LBP MGA MMK MNT NGN "
    "PKR PYG RSD RWF TZS UGX UYU UZS VND VUV XAF XOF XPF XXX ARS".split()
)


def round_excess_decimals(amount: Decimal, currency: str) -> Decimal:
    """
    Return an amount in the currency's smallest unit if it has five or more decimals.

    Programs write such amounts when they compute with binary fractions (`185.130001`) or leave out
    taxes. Prices below 0.1, such as those of screws, and up to four decimals are not changed.
    """
    exponent = amount.as_tuple().exponent
    if not isinstance(exponent, int) or exponent > -_MIN_EXCESS_DECIMALS or abs(amount) < _TENTH:
        return amount
    if currency in _NO_DECIMAL_CURRENCIES:
        unit = Decimal(1)
    else:
        unit = Decimal("0.001") if currency in _THREE_DECIMAL_CURRENCIES else Decimal("0.01")
    return amount.quantize(unit, ROUND_HALF_UP)


_MIN_EXCESS_DECIMALS = 5
_TENTH = Decimal("0.1")

_GROUPED_COUNT = re.compile(r"(?<![\d.,])[1-9]\d{0,2}(?:\.\d{3})+(?![\d.,])")
"""A count has no decimals, so points before three digits group thousands."""


def count(value: Any) -> int | None:
    """Return a whole number of 0 or more, as in `1,234 reviews` or `1.234`, or None."""
    grouped = _GROUPED_COUNT.search(value) if isinstance(value, str) else None
    number = decimal(grouped[0].replace(".", "") if grouped else value)
    if number is None or number < 0 or number != number.to_integral_value():
        return None
    return int(number)


def _normalize_separators(text: str, currency: str | None) -> str:
    text = text.rstrip(".,").replace("'", "").replace(" ", "")
    dots, commas = text.count("."), text.count(",")
    if dots and commas:
        separator = "." if text.rfind(".") > text.rfind(",") else ","
        whole, _, rest = text.rpartition(separator)
        grouping = "," if separator == "." else "."
        return f"{whole.replace(grouping, '')}.{rest}" if _has_valid_groups(whole, grouping) else ""
    separator = "." if dots else ","
    if dots + commas > 1:
        return text.replace(separator, "") if _has_valid_groups(text, separator) else ""
    if dots + commas == 1 and _is_grouping(text, separator, currency):
        return text.replace(separator, "")
    return text.replace(",", ".")


def _has_valid_groups(text: str, separator: str) -> bool:
    """Return True for groups of three digits, or (in India) of two digits before the last three."""
    first, *rest = text.lstrip("+-").split(separator)
    if not (0 < len(first) <= 3 and rest and all(map(str.isdigit, (first, *rest)))):
        return False
    sizes = {len(part) for part in rest[:-1]}
    return len(rest[-1]) == 3 and (sizes <= {3} or sizes == {2})


def _is_grouping(text: str, separator: str, currency: str | None) -> bool:
    """
    Return True if a single separator groups thousands.

    `1,299` is grouped. `1.299` is grouped in a currency with two decimals. `0.299` never is, nor is
    any number in a currency with three decimals.
    """
    whole, _, rest = text.lstrip("+-").partition(separator)
    if len(rest) != 3 or not whole or whole == "0" or len(whole) > 3:
        return False
    return currency not in _THREE_DECIMAL_CURRENCIES and (separator == "," or currency is not None)


def _parse_finite(text: str) -> Decimal | None:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    if not number.is_finite() or number.adjusted() > _MAX_EXPONENT or number.adjusted() < -9:
        return None
    return number
