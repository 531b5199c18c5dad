"""
Read the text of an element that shows a price.

Pages put cents in a separate element (`<b>5</b><sup>99</sup>`), and the text alone does not show
that `5` and `99` are one number. The element may also contain other prices.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from selectolax.lexbor import LexborNode

MAX_PRICE_CHARS = 60
"""Longer text is not a price, and is returned unchanged."""

_TWO_DIGITS = re.compile(r"\d\d")
_CENTS_SELECTOR = 'sup,[class*="cent" i],[class*="fraction" i],[class*="decimal" i]'
_SKIPPED_TAGS = frozenset({"del", "s", "strike", "script", "style", "template"})
_SPLIT_NUMBER = re.compile(r"(\d)\s?([.,])\s(?=\d\d(?!\d))|(\d)\s(?=[.,]\d\d\d?(?!\d))")
_UNIT_PRICE = re.compile(
    r"[(\[]?(?:[^\W\d_]{1,3}\s?|[€$£]\s?)?\d[\d.,]{0,9}\s?(?:[€$£]|[^\W\d_]{1,3}\.?)?\s?"
    r"(?:/|\bper\b|\bpro\b|\bje\b|\bpor\b|\bpar\b|\bal\b|\bза\b)\s?"
    r"(?:\d{1,4}\s?)?(?:kg|g|gr|mg|l|lt|ltr|liter|litre|ml|cl|dl|lb|oz|m|m²|m2|100\s?g|stk|st|unit|ea)"
    r"\b\.?[)\]]?",
    re.IGNORECASE,
)
"""A unit price: `(12,50 €/kg)`, `$0.40 per oz`."""
_MAX_NODES = 200
_FORMER_PRICE_CLASS = re.compile(
    r"(?<![a-z])(?:(?:old|was|former|regular|before|original|compare)[-_]?(?:price)?(?![a-z])"
    r"|(?:rrp|msrp|uvp)(?![a-z])|strike|line-through|crossed|list-?price)"
)
_CAMEL_CASE = re.compile(r"(?<=[a-z])(?=[A-Z])")
_MAX_ANCESTORS = 3
_MAX_CLASS_CHARS = 200


def is_former_price(element: LexborNode) -> bool:
    """Return True if the element or a parent is struck out or has a class for former prices."""
    ancestor: LexborNode | None = element
    for _ in range(_MAX_ANCESTORS):
        if ancestor is None or (ancestor is not element and "itemscope" in ancestor.attributes):
            return False
        class_name = _CAMEL_CASE.sub(
            "-", (ancestor.attributes.get("class") or "")[:_MAX_CLASS_CHARS]
        ).lower()
        if ancestor.tag in _STRIKE_TAGS or _FORMER_PRICE_CLASS.search(class_name):
            return True
        ancestor = ancestor.parent
    return False


_STRIKE_TAGS = frozenset({"del", "s", "strike"})


def price_text(element: LexborNode) -> str:
    """Return the text without other prices, and with raised cents as decimals: `5.99`."""
    text = " ".join(_read_current_text(element).split())
    if len(text) > MAX_PRICE_CHARS:
        return text
    cents = next(_find_cents(element), None)
    if cents is not None:
        text = _add_decimals(text, cents)
    return _UNIT_PRICE.sub(" ", _SPLIT_NUMBER.sub(_join_groups, text)).strip()


def _add_decimals(text: str, cents: str) -> str:
    for match in _SEPARATED_CENTS.finditer(text):
        if match[1] == cents:
            return f"{text[: match.start()]}.{cents}{text[match.end() :]}"
    return text


_SEPARATED_CENTS = re.compile(r"(?<=\d)\s?[.,]?\s(\d\d)(?!\d)")


def _find_cents(element: LexborNode) -> Iterator[str]:
    """Yield two digits that are raised, have a class for cents, or end the text after a digit."""
    raised = {inner.mem_id for inner in element.css(_CENTS_SELECTOR)}
    characters = "".join((element.text() or "").split())
    for inner in element.css("*")[:_MAX_NODES]:
        text = (inner.text() or "").strip()
        if inner.mem_id == element.mem_id or not _TWO_DIGITS.fullmatch(text):
            continue
        if inner.mem_id in raised or (characters.endswith(text) and characters[-3:-2].isdigit()):
            yield text


def _read_current_text(element: LexborNode) -> str:
    if element.css_first(",".join(_SKIPPED_TAGS)) is None:
        return element.text(separator=" ")
    parts: list[str] = []
    _collect_texts(element, parts)
    return " ".join(parts)


def _collect_texts(element: LexborNode, parts: list[str]) -> None:
    for child in element.iter(include_text=True):
        if len(parts) >= _MAX_NODES:
            return
        if child.tag == "-text":
            parts.append(child.text_content or "")
        elif child.tag not in _SKIPPED_TAGS:
            _collect_texts(child, parts)


def _join_groups(match: re.Match[str]) -> str:
    return "".join(part for part in match.groups() if part)
