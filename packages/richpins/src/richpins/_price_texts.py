"""
Read the text of an element that shows a price.

Pages put cents in an element of their own (`<b>5</b><sup>99</sup>`). The text alone does not show
that `5` and `99` are one number. The element may also contain other prices.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from selectolax.lexbor import LexborNode

MAX_PRICE_CHARS = 60
"""Longer text is not a price, and is returned unchanged."""

_MAX_EXAMINED_CHARS = 2_000
"""Longer text with white space is not a price whatever is hidden in it."""
_CENTS = re.compile(r"\d\d")
_RAISED_ELEMENTS = 'sup,[class*="cent" i],[class*="fraction" i],[class*="decimal" i]'
_SKIPPED_ELEMENTS = frozenset({"del", "s", "strike", "script", "style", "template"})
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
_FORMER_CLASS = re.compile(
    r"(?<![a-z])(?:(?:old|was|former|previous|regular|before|original|compare)[-_]?(?:price)?(?![a-z])"
    r"|(?:rrp|msrp|uvp)(?![a-z])|recommended(?![a-z])|suggested(?![a-z])|strike|line-through|crossed|list-?price)"
)
_CAMEL_CASE = re.compile(r"(?<=[a-z])(?=[A-Z])")
_MAX_CLIMB = 3
_MAX_CLASS_CHARS = 200


def is_former_price(element: LexborNode) -> bool:
    """Return True if the element or a parent is struck out or has a class for former prices."""
    ancestor: LexborNode | None = element
    for _ in range(_MAX_CLIMB):
        if ancestor is None or (ancestor is not element and "itemscope" in ancestor.attributes):
            return False
        if ancestor.tag in STRUCK_OUT or is_called_former(ancestor):
            return True
        ancestor = ancestor.parent
    return False


STRUCK_OUT = frozenset({"del", "s", "strike"})


def price_text(element: LexborNode) -> str:
    """Return the text without other prices, and with raised cents as its decimals."""
    text = element.text(separator=" ")
    if len(text) > _MAX_EXAMINED_CHARS:
        return text
    text = " ".join(_current_text(element).split())
    if len(text) > MAX_PRICE_CHARS:
        return text
    cents = next(_find_cents(element), None)
    if cents is not None:
        text = _add_decimals(text, cents)
    return _UNIT_PRICE.sub(" ", _SPLIT_NUMBER.sub(_join_groups, text)).strip()


def _add_decimals(text: str, cents: str) -> str:
    for match in _BEFORE_CENTS.finditer(text):
        if match[1] == cents:
            before = text[: match.start()]
            number = before[len(before.rstrip(_NUMBER_CHARS)) :]
            separator = "," if "." in number else "."
            return f"{before}{separator}{cents}{text[match.end() :]}"
    return text


_NUMBER_CHARS = "0123456789.,'"
_BEFORE_CENTS = re.compile(r"(?<=\d)\s?[.,]?\s(\d\d)(?!\d)")


def _find_cents(element: LexborNode) -> Iterator[str]:
    """Yield two digits that are raised, have a class for cents, or end the text after a digit."""
    raised = {inner.mem_id for inner in element.css(_RAISED_ELEMENTS)}
    letters = "".join((element.text() or "").split())
    for inner in element.css("*")[:_MAX_NODES]:
        text = (inner.text() or "").strip()
        if inner.mem_id == element.mem_id or not _CENTS.fullmatch(text):
            continue
        if inner.mem_id in raised or (letters.endswith(text) and letters[-3:-2].isdigit()):
            yield text


def _current_text(element: LexborNode) -> str:
    spoken = {node.mem_id for node in element.css(_SPOKEN_ELEMENTS) if _DIGIT.search(node.text())}
    others = {
        node.mem_id
        for node in element.css(_OTHER_ELEMENTS)[:_MAX_NODES]
        if node.mem_id != element.mem_id
        and (is_hidden(node) or is_called_former(node) or _has_net_class(node))
    }
    if not spoken and not others and element.css_first(",".join(_SKIPPED_ELEMENTS)) is None:
        return element.text(separator=" ")
    # Some shops write the price in one piece for screen readers only.
    texts = (" ".join(_texts(element, skipped)) for skipped in (spoken | others, others, set()))
    return next(filter(_DIGIT.search, texts), "")


def _has_net_class(element: LexborNode) -> bool:
    """Return True if a class calls the element a price without taxes or per measure."""
    return bool(_NET_CLASS.search((element.attributes.get("class") or "")[:_MAX_CLASS_CHARS]))


_NET_CLASS = re.compile(
    r"(?<![a-z])(?:tax|vat|netto|net-?price|excl|unit-?price|per-?unit|base-?price|grundpreis)"
    r"(?![a-z])",
    re.IGNORECASE,
)
_OTHER_ELEMENTS = "[class],[hidden],[style]"
_DISPLAY_NONE = re.compile(r"display:\s?none")


def is_hidden(element: LexborNode) -> bool:
    """Return True if the element itself is hidden by an attribute or its style."""
    attributes = element.attributes
    return "hidden" in attributes or bool(_DISPLAY_NONE.search(attributes.get("style") or ""))


def is_called_former(element: LexborNode) -> bool:
    """Return True if a class or id calls the element a former price, or its style strikes it."""
    attributes = element.attributes
    class_name = f"{attributes.get('class') or ''} {attributes.get('id') or ''}"[:_MAX_CLASS_CHARS]
    is_struck = "line-through" in (attributes.get("style") or "")
    return is_struck or bool(_FORMER_CLASS.search(_CAMEL_CASE.sub("-", class_name).lower()))


_DIGIT = re.compile(r"\d")
_SPOKEN_ELEMENTS = (
    '[class*="screen-reader" i],[class*="screenreader" i],[class~="sr-only"],'
    '[class*="visually-hidden" i],[class*="visuallyhidden" i],[class*="offscreen" i]'
)
"""Elements meant only for screen readers, which repeat the prices in words."""


def _texts(element: LexborNode, skipped: set[int]) -> list[str]:
    parts: list[str] = []
    _collect_texts(element, parts, skipped)
    return parts


def _collect_texts(element: LexborNode, parts: list[str], skipped: set[int]) -> None:
    for child in element.iter(include_text=True):
        if len(parts) >= _MAX_NODES:
            return
        if child.tag == "-text":
            parts.append(child.text_content or "")
        elif child.tag not in _SKIPPED_ELEMENTS and child.mem_id not in skipped:
            _collect_texts(child, parts, skipped)


def _join_groups(match: re.Match[str]) -> str:
    return "".join(part for part in match.groups() if part)
