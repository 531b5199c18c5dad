"""Parse the yield of a recipe: a number and its unit."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from richpins.structured_data.graph import Node
from richpins.values import numbers, scalars

_YIELD_RANGE = re.compile(
    r"(\d{1,9}(?:[.,]\d{1,9})?)\s{0,3}(?:-|–|—|to|bis|à|a|tot|till|til|ou|or|o|oder|до)\s{0,3}"
    r"(\d{1,9}(?:[.,]\d{1,9})?)",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)?")
_MIXED_QUANTITY = re.compile(r"(?:(\d{1,9})\s{1,3})?(\d{1,9})\s{0,3}[/⁄]\s{0,3}(\d{1,9})")
_ONE_CHARACTER_FRACTION = re.compile(r"(?<![\d.,])(?:(\d{1,6})\s{0,3})?([¼½¾⅐-⅞])")
"""A one-character fraction, alone or after a whole number."""
_SERVING_WORDS = re.compile(
    r"\b(?:serv\w*|portion\w*|people|persons?|person(?:en|as|er|e)|personnes?|personas?|pers\.?|"
    r"porzion\w*|raci\w+|porci\w*|porç\w*|porc\w*|comensal\w*|osob\w*|adag|annos\w*|guests?|"
    r"couverts?|mensen|commensali|порц\w*|человек\w*|персон\w*)\b|人|份|명|인분|מנות",
    re.IGNORECASE,
)
_DIGITS_BY_WORD = {
    word: digits
    for digits, words in {
        "1": "one ein eine einen une una uno een",
        "2": "two zwei deux dos due twee dois",
        "3": "three drei trois tres tre drie três",
        "4": "four vier quatre cuatro quattro quatro cztery",
        "5": "five fünf cinq cinco cinque vijf",
        "6": "six sechs seis sei zes",
        "8": "eight acht huit ocho otto oito",
        "10": "ten zehn dix diez dieci tien dez",
        "12": "twelve zwölf douze doce dodici twaalf doze",
        "1 dozen": "a\\sdozen",
    }.items()
    for word in words.split()
}
_NUMBER_WORD = re.compile(rf"\b(?:{'|'.join(_DIGITS_BY_WORD)})\b(?=\s|\Z)", re.IGNORECASE)
_PIECE_SIZE = re.compile(
    r"\s{0,3}\(?\d[\d.,/½¼¾]{0,5}(?:\s?[x×-]\s?\d[\d.,]{0,5})?\s?-?\s?"
    r"(?:inch(?:es)?|in|cm|mm|ounces?|oz|g|kg|lb|pounds?|ml|cl|l|quarts?|qt|cups?|[\"″])\)?(?:\s|-|(?<=\)))\s{0,3}(?=[^\W\d_])",
    re.IGNORECASE,
)
"""The size of one piece, before or after its name: `9-inch pie`, `(8-inch) cakes`."""
_LEADING_WORDS = re.compile(
    r"^(?:makes|yields?|serves|serving[s ]*size|servings?|for|about|approx\w*|ca\.?|circa|für|pour|"
    r"para|per|voor|för|til|around|roughly)\b[:.\s]*",
    re.IGNORECASE,
)
_UNIT_NAME = re.compile(r"[^\W\d_][^\d,;()/]{0,40}")


@dataclass(frozen=True, slots=True)
class Yield:
    """
    A quantity and its unit.

    For a range, `quantity` is the maximum and `quantity_min` the minimum.
    """

    quantity: Decimal
    unit: str = "servings"
    """The page's word in lower case. All words for people or portions become `servings`."""
    quantity_min: Decimal | None = None

    def __str__(self) -> str:
        number = f"{self.quantity.normalize():f}"
        unit = "serving" if number == "1" and self.unit == "servings" else self.unit
        return f"{number} {unit}"


def read_yield(value: Any) -> Yield | None:
    """
    Return the yield in a number, a string, or a list of these, preferably one with a unit.

    If the list has a number before a range (`4`, `4-6 bowls`), that number is the quantity, and the
    range gives the unit.
    """
    parsed = [result for part in _as_list(value) if (result := _parse_yield(part)) is not None]
    if not parsed:
        return None
    with_unit = next((parsed_yield for parsed_yield, has_unit in parsed if has_unit), parsed[0][0])
    first = parsed[0][0]
    if with_unit.quantity_min is not None and first.quantity_min is None:
        return Yield(first.quantity, with_unit.unit)
    return with_unit


def _as_list(value: Any) -> list[Any]:
    return value[:20] if isinstance(value, list) else [value]


def _parse_yield(value: Any) -> tuple[Yield, bool] | None:
    """Return the yield, and whether the value names a unit."""
    if isinstance(value, Node):
        amount = scalars.text(value.first("value", "minvalue", "name"))
        value = f"{amount or ''} {scalars.text(value.first('unittext', 'unitcode')) or ''}"
    raw = scalars.text(value)
    if not raw or len(raw) > 200:
        return None
    text = _LEADING_WORDS.sub(
        "", _words_to_digits(_ONE_CHARACTER_FRACTION.sub(_fraction_to_decimal, raw)).strip()
    )
    matches = (pattern.search(text) for pattern in (_YIELD_RANGE, _MIXED_QUANTITY, _NUMBER))
    first = min(
        (match for match in matches if match), key=lambda match: match.start(), default=None
    )
    if first is None:
        return None
    low, high = _parse_bounds(first)
    quantity = low if high is None else high
    if quantity is None or not 0 < quantity <= 100_000:
        return None
    unit = _find_unit(text, first.end())
    return Yield(quantity, unit or "servings", None if high is None else low), unit is not None


def _fraction_to_decimal(match: re.Match[str]) -> str:
    """Return a number with its one-character fraction as a decimal: `1½` becomes `1.5`."""
    fraction = Decimal(unicodedata.numeric(match[2]))
    return f"{_round(Decimal(match[1] or 0) + fraction):f}"


def _round(number: Decimal) -> Decimal:
    """Return a number with at most two decimals and without zeros at the end."""
    rounded = number.quantize(Decimal("0.01")).normalize()
    return rounded if rounded != rounded.to_integral() else rounded.quantize(Decimal(1))


def _words_to_digits(text: str) -> str:
    """Replace a number word with digits if no digits precede it: `two loaves`."""
    word = _NUMBER_WORD.search(text)
    digit = _NUMBER.search(text)
    if word is None or (digit is not None and digit.start() < word.start()):
        return text
    key = "a\\sdozen" if word[0][:1].lower() == "a" and " " in word[0] else word[0].lower()
    return f"{text[: word.start()]}{_DIGITS_BY_WORD[key]}{text[word.end() :]}"


def _parse_bounds(match: re.Match[str]) -> tuple[Decimal | None, Decimal | None]:
    if match.re is _YIELD_RANGE:
        low, high = numbers.decimal(match[1]), numbers.decimal(match[2])
        return low, (high if low is not None and high is not None and high > low else None)
    if match.re is _MIXED_QUANTITY and match[3].strip("0"):
        whole, numerator, denominator = (int(part or 0) for part in match.groups())
        return _round(Decimal(whole) + Decimal(numerator) / denominator), None
    return numbers.decimal(match[0].replace(",", ".")), None


def _find_unit(text: str, end: int) -> str | None:
    size = _PIECE_SIZE.match(text, end)
    end = size.end() if size is not None else end
    after = _UNIT_NAME.search(text, end)
    if after and _SERVING_WORDS.search(after[0]):
        return "servings"
    if after and text[end : after.start()].strip() in {"", "x", "×", "-"}:
        return after[0].strip(" .-").lower() or None
    return "servings" if _SERVING_WORDS.search(text) else None
