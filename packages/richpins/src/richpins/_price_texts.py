"""
Read the text of an element that shows a price.

Pages put cents in a separate element (`<b>5</b><sup>99</sup>`), and put former prices and prices
per measure in the same element. From the text alone, `5` and `99` could be one number or two.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from selectolax.lexbor import LexborNode

MAX_PRICE_CHARS = 60
"""Longer text is not a price, and is returned unchanged."""

_CENTS = re.compile(r"\d\d")
_RAISED_ELEMENTS = 'sup,[class*="cent" i],[class*="fraction" i],[class*="decimal" i]'
_FORMER_ELEMENTS = frozenset({"del", "s", "strike", "script", "style", "template"})
_APART = re.compile(r"(\d)\s?([.,])\s(?=\d\d(?!\d))|(\d)\s(?=[.,]\d\d\d?(?!\d))")
_PER_MEASURE = re.compile(
    r"[(\[]?(?:[^\W\d_]{1,3}\s?|[€$£]\s?)?\d[\d.,]{0,9}\s?(?:[€$£]|[^\W\d_]{1,3}\.?)?\s?"
    r"(?:/|\bper\b|\bpro\b|\bje\b|\bpor\b|\bpar\b|\bal\b|\bза\b)\s?"
    r"(?:\d{1,4}\s?)?(?:kg|g|gr|mg|l|lt|ltr|liter|litre|ml|cl|dl|lb|oz|m|m²|m2|100\s?g|stk|st|unit|ea)"
    r"\b\.?[)\]]?",
    re.IGNORECASE,
)
"""A price per measure: `(12,50 €/kg)`, `$0.40 per oz`."""
_MAX_NODES = 200
_FORMER_CLASS = re.compile(
    r"(?<![a-z])(?:(?:old|was|former|regular|before|original|compare)[-_]?(?:price)?(?![a-z])"
    r"|(?:rrp|msrp|uvp)(?![a-z])|strike|line-through|crossed|list-?price)"
)
_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_MAX_CLIMB = 3
_MAX_CLASS_CHARS = 200


def is_former(element: LexborNode) -> bool:
    """Return True if the element or a parent is struck out or has a former price's class."""
    at: LexborNode | None = element
    for _ in range(_MAX_CLIMB):
        if at is None or (at is not element and "itemscope" in at.attributes):
            return False
        named = _CAPITAL.sub("-", (at.attributes.get("class") or "")[:_MAX_CLASS_CHARS]).lower()
        if at.tag in _STRUCK or _FORMER_CLASS.search(named):
            return True
        at = at.parent
    return False


_STRUCK = frozenset({"del", "s", "strike"})


def price_text(element: LexborNode) -> str:
    """Return the text with raised cents as decimals, without other prices in the element."""
    text = " ".join(_shown_text(element).split())
    if len(text) > MAX_PRICE_CHARS:
        return text
    cents = next(_cents_in(element), None)
    if cents is not None:
        text = _with_decimals(text, cents)
    return _PER_MEASURE.sub(" ", _APART.sub(_joined, text)).strip()


def _with_decimals(text: str, cents: str) -> str:
    """Return the text with `cents` as decimals of the first number before them."""
    for match in _BEFORE_CENTS.finditer(text):
        if match[1] == cents:
            return f"{text[: match.start()]}.{cents}{text[match.end() :]}"
    return text


_BEFORE_CENTS = re.compile(r"(?<=\d)\s?[.,]?\s(\d\d)(?!\d)")


def _cents_in(element: LexborNode) -> Iterator[str]:
    """
    Yield the two-digit texts of elements that are raised, have a class for cents, or end after a
    digit.
    """
    called = {each.mem_id for each in element.css(_RAISED_ELEMENTS)}
    joined = "".join((element.text() or "").split())
    for each in element.css("*")[:_MAX_NODES]:
        text = (each.text() or "").strip()
        if each.mem_id == element.mem_id or not _CENTS.fullmatch(text):
            continue
        if each.mem_id in called or (joined.endswith(text) and joined[-3:-2].isdigit()):
            yield text


def _shown_text(element: LexborNode) -> str:
    """Return an element's text with spaces between its parts, without former prices."""
    if element.css_first(",".join(_FORMER_ELEMENTS)) is None:
        return element.text(separator=" ")
    parts: list[str] = []
    _collect(element, parts)
    return " ".join(parts)


def _collect(element: LexborNode, parts: list[str]) -> None:
    for child in element.iter(include_text=True):
        if len(parts) >= _MAX_NODES:
            return
        if child.tag == "-text":
            parts.append(child.text_content or "")
        elif child.tag not in _FORMER_ELEMENTS:
            _collect(child, parts)


def _joined(match: re.Match[str]) -> str:
    return "".join(part for part in match.groups() if part)
