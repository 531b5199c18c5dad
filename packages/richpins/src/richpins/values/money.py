"""
Find the amount and the currency in prices as people write them.

A symbol or code counts only next to a number or alone, so `after` does not contain the currency
`ft`. Percentages, quantities, former prices and prices for several pieces are not current prices. A
price is rejected if only part of it is readable.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from richpins._plain_text import clean
from richpins.values import currencies, numbers
from richpins.values.currencies import MARKS, WORDS

MAX_CHARS = 200

_NUMBER = numbers.DIGITS
_MULTIPLIERS = {
    word: factor
    for words, factor in (
        ("k thousand tsd tys тыс rb ribu 千 천", 10**3),
        ("万 萬 만", 10**4),
        ("lakh lakhs lac", 10**5),
        ("mio mln млн jt juta million millions millionen millones millón", 10**6),
        ("milhões milhão milioni miljoen", 10**6),
        ("crore crores", 10**7),
        ("億 亿 억", 10**8),
    )
    for word in words.split()
}
"""Words and letters that multiply the number before them, but not the ambiguous `M`."""
_OPTIONAL_MULTIPLIER = (
    r"(?P<multiplier>[kKM](?![^\W\d_])|[eE][+-]?\d{1,3}(?![\w,.])|\s?[万萬만億亿억千천](?!\d)|"
    r"\s?(?i:thousand|lakhs?|lac|crores?|millionen|millions?|millones|millón|milh[õã][eo]s?|milioni|"
    r"miljoen|tsd|tys|тыс|mio|mln|млн|rb|ribu|jt|juta)(?![^\W\d_])\.?)"
)
_VALUE_CHANGING_SUFFIX = re.compile(
    r"[eE][+-]?\d|'\d|\x20\d\d\Z|[mbB](?![^\W\d_])|mm(?![^\W\d_])|\s?[万萬만億亿억千천]|\s?[KMB](?![^\W\d_])|"
    r"\s?(?i:mil|bn|mrd|milliarden?|billion(?:en|s)?)(?![^\W\d_])|[½¼¾⅓⅔⅛]"
)
"""A number before one of these is not the whole price: `£1.2m`, `5 mil`, `1½`."""
_CODE = r"[A-Z]{3}"
_CURRENCY_BEFORE_NUMBER = re.compile(
    rf"(?<![^\W\d_])(?:(?P<mark>(?i:{MARKS}))|(?P<code>{_CODE}))\s?"
    rf"(?P<number>{_NUMBER})(?:{_OPTIONAL_MULTIPLIER})?"
)
_CURRENCY_AFTER_NUMBER = re.compile(
    rf"(?P<number>{_NUMBER})(?:{_OPTIONAL_MULTIPLIER})?\s?"
    rf"(?:(?P<mark>(?i:{MARKS}))|(?P<code>{_CODE}))(?![^\W\d_])"
)
_BARE_NUMBER = re.compile(rf"(?P<number>{_NUMBER})(?:{_OPTIONAL_MULTIPLIER})?")
_SUFFIX_SYMBOLS = "|".join(
    map(re.escape, ("€", "zł", "kč", "руб.", "руб", "₽", "лв.", "лв", "грн", "lei"))
)
_CENTS_AFTER_SYMBOL = re.compile(
    rf"(?<=\d)\s?(?:(?i:{_SUFFIX_SYMBOLS})|(?<=\d)[€$£])\s?(\d\d)"
    rf"(?:\s?(?i:cents?|ct|c|gr|коп|kop|bani))?\.?(?=[\s)/*]*\Z|\s?[/(*])"
)
"""Decimals after the symbol at the end of a string: `5€99`, `5 € 99`, `12 zł 50 gr`."""
_UNICODE_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")
_FORMER_PRICE_LABEL = re.compile(
    r"\b(?:was|rrp|msrp|list(?:\sprice)?|regular|instead\sof|before|old|statt|uvp|avant|prima|antes|"
    r"save|off|you\ssave)\b[\s:.]{0,3}\Z",
    re.IGNORECASE,
)
_CURRENT_PRICE_LABEL = re.compile(
    r"\b(?:now|sale|only|our\sprice|jetzt|nur|ahora|maintenant|ora|por)\b[\s:.]{0,3}\Z",
    re.IGNORECASE,
)
_BULK_OR_PARTIAL_PREFIX = re.compile(
    r"(?<![\w.,])[2-9]\d?\s?(?:(?:pairs?|pieces|pcs|packs|items|stück|paar|paires?|pares)\s)?(?:for|für|pour|per|za)\s{0,2}\Z|[万萬만億亿억千천]\s?\Z",
    re.IGNORECASE,
)
"""Text before a price for several pieces, or before the rest of a number: `1億2000万円`."""
_QUANTITY_UNIT = re.compile(
    r"\s?(?:%|¢|(?:lit(?:er|re)s?|l|ml|cl|kg|g|gr|lbs?|oz|packs?|pcs|pieces?|x|cm|mm|m|inch(?:es)?|in|"
    r"stück|stk|gb|tb|w|v|reviews?|ratings?|stars?|cents?|ct|cts|c|p|pence|коп|groszy|øre|öre)\b)",
    re.IGNORECASE,
)
_MAX_LABEL_CHARS = 20
_MINUS_PREFIX = re.compile(rf"-[$€£ ]*|(?:(?i:{MARKS})|{_CODE})\s?-\s?")


@dataclass(frozen=True, slots=True)
class _Amount:
    start: int
    """The start of the number, or of the currency before it."""
    end: int
    """The end of the number and its multiplier."""
    number: str
    multiplier: str
    code: str | None

    def value(self, text: str, currency: str | None) -> Decimal | None:
        """Return the value; None if the surrounding text may change it."""
        if _VALUE_CHANGING_SUFFIX.match(text, self.end) or _BULK_OR_PARTIAL_PREFIX.search(
            text[max(0, self.start - _MAX_LABEL_CHARS) : self.start]
        ):
            return None
        multiplier = self.multiplier.strip().rstrip(".")
        if multiplier[:1] in {"e", "E"}:
            return numbers.decimal(f"{self.number}{multiplier}")
        number = numbers.decimal(self.number, None if multiplier else currency)
        if number is None or not multiplier:
            return number
        factor = 10**6 if multiplier == "M" else _MULTIPLIERS.get(multiplier.lower())
        return number * factor if factor else None


def find_currency(value: Any, country: str | None = None) -> str | None:
    """
    Return the currency (ISO 4217) that is the whole string, or is next to a number in it.

    `country` (two letters) decides what `$`, `kr` or `Rs` means; without one, they are ignored.
    """
    if not isinstance(value, str) or len(value) > MAX_CHARS:
        return None
    text = _normalize_text(value)
    code = currencies.parse_currency(text, country)
    return code or next(
        (amount.code for amount in _find_amounts(text, country) if amount.code), None
    )


def find_amount(value: Any, currency: str | None = None) -> Decimal | None:
    """
    Return the price in a JSON number or a string, or None if it is absent or ambiguous.

    If the string has several numbers, the current price is returned. Numbers next to a currency
    take precedence. Percentages, quantities and former prices are never returned.
    """
    if not isinstance(value, str):
        return numbers.decimal(value, currency)
    if len(value) > MAX_CHARS:
        return None
    text = _normalize_text(value)
    amounts = _find_amounts(text, None) or list(_find_bare_amounts(text))
    if not amounts:
        return None
    chosen = _choose_amount(text, amounts)
    amount = chosen.value(text, currency)
    return -amount if amount is not None and _is_negative(text, chosen.start) else amount


def count_amounts(text: str) -> int:
    """Return how many numbers in a string are next to a currency."""
    return len(_find_amounts(_normalize_text(text[:MAX_CHARS]), None))


def _normalize_text(value: str) -> str:
    """Remove escapes and tags, and move decimals after the symbol in front of it."""
    if "\\u" in value:
        value = _UNICODE_ESCAPE.sub(lambda match: chr(int(match[1], 16)), value)
    text = numbers.normalize_signs(clean(value))
    return _CENTS_AFTER_SYMBOL.sub(_move_cents, text)


def _move_cents(match: re.Match[str]) -> str:
    mark = match[0].partition(match[1])[0].strip()
    return f".{match[1]} {mark}"


def _choose_amount(text: str, amounts: list[_Amount]) -> _Amount:
    if len(amounts) == 1:
        return amounts[0]
    labels = [
        text[max(0, candidate.start - _MAX_LABEL_CHARS) : candidate.start] for candidate in amounts
    ]
    for label, amount in zip(labels, amounts, strict=True):
        if _CURRENT_PRICE_LABEL.search(label):
            return amount
    current_amounts = [
        amount
        for label, amount in zip(labels, amounts, strict=True)
        if not _FORMER_PRICE_LABEL.search(label)
    ]
    return (current_amounts or amounts)[0]


def _is_negative(text: str, position: int) -> bool:
    return _MINUS_PREFIX.fullmatch(text[:position]) is not None


def _find_bare_amounts(text: str) -> Iterator[_Amount]:
    for match in _BARE_NUMBER.finditer(text):
        if not _QUANTITY_UNIT.match(text, match.end("number")):
            yield _make_amount(match, None)


def _find_amounts(text: str, country: str | None) -> list[_Amount]:
    """
    Return the numbers next to a currency, in order.

    A symbol between two numbers belongs to the one it touches: `2 $50`.
    """
    result: dict[int, _Amount] = {}
    touching_symbol_starts: set[int] = set()
    for match in _CURRENCY_BEFORE_NUMBER.finditer(text):
        group = "mark" if match["code"] is None else "code"
        if match.end(group) == match.start("number"):
            touching_symbol_starts.add(match.start(group))
        _add_amount(result, match, text, country)
    for match in _CURRENCY_AFTER_NUMBER.finditer(text):
        position = match.start("mark" if match["code"] is None else "code")
        if position not in touching_symbol_starts or text[position - 1] != " ":
            _add_amount(result, match, text, country)
    return [result[end] for end in sorted(result)]


def _add_amount(
    result: dict[int, _Amount], match: re.Match[str], text: str, country: str | None
) -> None:
    """Add the match's amount, by its number's end, unless its code is just a word here."""
    code = match["code"]
    if code is None:
        currency = currencies.currency_by_symbol(match["mark"], country)
    else:
        currency = currencies.currency_by_code(code)
        if currency is None or (code in WORDS and len(match[0]) < len(text)):
            return
    result.setdefault(match.end("number"), _make_amount(match, currency))


def _make_amount(match: re.Match[str], code: str | None) -> _Amount:
    multiplier = match["multiplier"] or ""
    end = match.end("multiplier") if multiplier else match.end("number")
    return _Amount(match.start(), end, match["number"], multiplier, code)
