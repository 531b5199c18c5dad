"""
Parse prices as people write them: which number is the price, and in which currency.

A symbol or code counts only next to a number or alone: `after` does not contain the currency `ft`,
and a `TOPAZ RING` is not priced in `TOP`. Percentages, quantities of goods and former prices are
not the current price.
"""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal
from typing import Any

from aragog.pages.values import numbers
from aragog.pages.values.numbers import ARABIC_MARKS, CURRENCIES

MAX_CHARS = 200

SYMBOLS = {
    "€": "EUR", "£": "GBP", "¥": "JPY", "円": "JPY", "₹": "INR", "₽": "RUB", "руб": "RUB",
    "руб.": "RUB", "рублей": "RUB", "₩": "KRW", "원": "KRW", "₺": "TRY", "tl": "TRY", "₪": "ILS",
    "₫": "VND", "đ": "VND", "₴": "UAH", "грн": "UAH", "грн.": "UAH", "zł": "PLN", "kč": "CZK",
    "ft": "HUF", "r$": "BRL", "us$": "USD", "u$s": "USD", "us $": "USD", "usd$": "USD",
    "a$": "AUD", "au$": "AUD", "c$": "CAD", "ca$": "CAD", "nz$": "NZD", "hk$": "HKD",
    "nt$": "TWD", "s$": "SGD", "mx$": "MXN", "fr.": "CHF", "sfr.": "CHF", "лв": "BGN",
    "лв.": "BGN", "฿": "THB", "₦": "NGN", "₱": "PHP", "₸": "KZT", "тг": "KZT", "тг.": "KZT",
    "₡": "CRC", "₲": "PYG", "₵": "GHS", "₼": "AZN", "₾": "GEL", "lei": "RON", "rm": "MYR",
    "rp": "IDR", "kn": "HRK", "kd": "KWD", "د.ك": "KWD", "ر.س": "SAR", "د.إ": "AED",
}  # fmt: skip
"""Symbols and short names of exactly one currency, in lower case."""
_SHARED = {
    "$": {
        "us": "USD", "au": "AUD", "ca": "CAD", "nz": "NZD", "hk": "HKD", "sg": "SGD", "mx": "MXN",
        "ar": "ARS", "cl": "CLP", "co": "COP", "tw": "TWD",
    },
    "kr": {"se": "SEK", "no": "NOK", "dk": "DKK", "is": "ISK"},
    "rs": {"in": "INR", "pk": "PKR", "lk": "LKR", "np": "NPR", "mu": "MUR"},
    "元": {"cn": "CNY", "tw": "TWD"},
}  # fmt: skip
"""Symbols of several currencies, by the country of the page's audience."""
_ALIASES = {"kr.": "kr", "rs.": "rs", ":-": "kr"}
_WORDS = frozenset("ALL ANG BAM COD COP CUP GEL LAK MAD MOP PEN RON SOS TOP TRY".split())
"""Codes that are also words: in a text they count only with nothing else but a number."""

_NUMBER = r"\d(?:[\d.,'’\u00a0\u202f]|\x20(?=\d{3}(?!\d))|){0,30}+"
_MARK = "|".join(
    re.escape(symbol) for symbol in sorted([*SYMBOLS, *_SHARED, *_ALIASES], key=len, reverse=True)
)
_CODE = r"[A-Z]{3}"
_BEFORE = re.compile(
    rf"(?<![^\W\d_])(?:(?P<mark>(?i:{_MARK}))|(?P<code>{_CODE}))[\s\u00a0]?(?P<number>{_NUMBER})"
)
_AFTER = re.compile(
    rf"(?P<number>{_NUMBER})[\s\u00a0]?(?:(?P<mark>(?i:{_MARK}))|(?P<code>{_CODE}))(?![^\W\d_])"
)
_PLAIN = re.compile(_NUMBER)
_FORMER = re.compile(
    r"\b(?:was|rrp|msrp|list(?:\sprice)?|regular|instead\sof|before|old|statt|uvp|avant|prima|antes|"
    r"save|off|you\ssave)\b[\s:.]{0,3}\Z",
    re.IGNORECASE,
)
_ASKED = re.compile(
    r"\b(?:now|sale|only|our\sprice|jetzt|nur|ahora|maintenant|ora|por)\b[\s:.]{0,3}\Z",
    re.IGNORECASE,
)
_MEASURED = re.compile(
    r"\s?(?:%|(?:lit(?:er|re)s?|l|ml|cl|kg|g|gr|lbs?|oz|packs?|pcs|pieces?|x|cm|mm|m|inch(?:es)?|in|"
    r"stück|stk|gb|tb|w|v|reviews?|ratings?|stars?)\b)",
    re.IGNORECASE,
)
_WORDS_BEFORE = 20


def currency_of(value: Any, country: str | None = None) -> str | None:
    """
    Return the ISO 4217 code that a text is, or that it shows next to a number.

    `country` (two letters) decides what `$`, `kr` or `Rs` mean; without it they are ignored.
    """
    if not isinstance(value, str) or len(value) > MAX_CHARS:
        return None
    text = value.strip()
    alone = text.upper() if text.upper() in CURRENCIES else _of_mark(text, country)
    return alone or next((code for _, _, code in _amounts(_plain(text), country) if code), None)


def amount_of(value: Any, currency: str | None = None) -> Decimal | None:
    """
    Return the price in a JSON number or a text, or None if there is none or it is ambiguous.

    Of several numbers, the current price is returned: one next to a currency takes precedence, and
    a percentage, a quantity of goods or a former price is never returned.
    """
    if not isinstance(value, str):
        return numbers.decimal(value, currency)
    if len(value) > MAX_CHARS:
        return None
    text = _plain(value.strip())
    amounts = [(at, number) for at, number, _ in _amounts(text, None)]
    if not amounts:
        amounts = [
            (match.start(), match[0])
            for match in _PLAIN.finditer(text)
            if not _MEASURED.match(text, match.end())
        ]
    if not amounts:
        return None
    return numbers.decimal(_sign(text, *_price_amount(text, amounts)), currency)


def count_of_amounts(text: str) -> int:
    """Return how many numbers with a currency next to them a text has."""
    return len(_amounts(_plain(text[:MAX_CHARS]), None))


def _price_amount(text: str, amounts: list[tuple[int, str]]) -> tuple[int, str]:
    if len(amounts) == 1:
        return amounts[0]
    before = [text[max(0, at - _WORDS_BEFORE) : at] for at, _ in amounts]
    for label, amount in zip(before, amounts, strict=True):
        if _ASKED.search(label):
            return amount
    left = [
        amount for label, amount in zip(before, amounts, strict=True) if not _FORMER.search(label)
    ]
    return (left or amounts)[0]


def _sign(text: str, at: int, number: str) -> str:
    """Return the number with the minus sign before it, if there is one at the start of the text."""
    return f"-{number}" if text[:1] in "-−" and not text[1:at].strip("$€£ ") else number


def _amounts(text: str, country: str | None) -> list[tuple[int, str, str | None]]:
    """Return the start of each number next to a currency, the number, and the code if known."""
    result: dict[int, tuple[int, str, str | None]] = {}
    for pattern in (_BEFORE, _AFTER):
        for match in pattern.finditer(text):
            code = match["code"]
            if code is not None:
                if code not in CURRENCIES or (code in _WORDS and len(match[0]) < len(text)):
                    continue
            else:
                code = _of_mark(match["mark"], country)
            result.setdefault(match.end("number"), (match.start(), match["number"], code))
    return [result[end] for end in sorted(result)]


def _of_mark(mark: str, country: str | None) -> str | None:
    mark = mark.lower()
    if mark in SYMBOLS:
        return SYMBOLS[mark]
    return _SHARED.get(_ALIASES.get(mark, mark), {}).get(country or "")


def _plain(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFC", text).translate(_WIDE)


_WIDE = (
    {ord("￥"): "¥", ord("＄"): "$", ord("，"): ",", ord("．"): "."}
    | ARABIC_MARKS
    | {ord("０") + digit: str(digit) for digit in range(10)}
)
