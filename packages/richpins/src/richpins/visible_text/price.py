"""
Find a product's price in the visible text of a page whose markup has none.

The price is the first one after the heading that is in an element with a price class. The page must
have a shopping cart. A price in a link, or in one of several similar blocks, belongs to another
product. On pages that sell nothing, this takes only two searches in the bytes.
"""

from __future__ import annotations

import re
from decimal import Decimal

from selectolax.lexbor import LexborNode

from richpins._price_texts import MAX_PRICE_CHARS, price_text
from richpins.provenance import Candidate
from richpins.structured_data.sources import Sources
from richpins.structured_data.words import CARTS, PRICES
from richpins.values import money

_PRICES = ",".join(
    [
        '[itemprop~="price"]',
        *(f'[{name}*="{word}" i]' for word in PRICES for name in ("class", "id")),
    ]
)
_OTHER_PRICE = re.compile(
    r"(?:(?<![a-z])|(?<=price)|(?<=per))(?:old|was(?![ht])|regular|strik|strok|line-through|crossed|compare|"
    r"former|list-?price|rrp|msrp|uvp|original|before(?!:)|prev|unit|tax)"
)
"""Class names of other prices. They do not match `font-bold`, `holder` or `whitewash`."""
_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_RANGE = re.compile(r"\d\s?[^\s\d]{0,3}\s?[-–]\s?[^\s\d]{0,3}\s?\d")
_MAX_SEEN = 20
_MAX_CLASS_CHARS = 1_000
_MAX_CLIMB = 8
_MAX_ELEMENTS = 400
_MAX_SIBLINGS = 60
_MIN_ALIKE = 3


def shown_price(
    sources: Sources, country: str | None, *, is_product: bool
) -> tuple[Decimal, str, Candidate] | None:
    """
    Return the amount, its currency and its position, or None if the page shows no price.

    With `is_product`, the markup already declares a product, so no cart is required.
    """
    if not sources.words.in_class(*PRICES) and not sources.words.in_tag("price"):
        return None
    if not is_product and not sources.words.any(CARTS):
        return None
    nodes = sources.document.tree.css(f"h1,{_PRICES}")[:_MAX_ELEMENTS]
    holders = _holders(nodes)
    for node in _after_the_heading(nodes):
        text = price_text(node)
        if not 0 < len(text) <= MAX_PRICE_CHARS or _is_of_another_product(node, holders):
            continue
        if money.count_of_amounts(text) > 1 and not _RANGE.search(text):
            continue  # a former price is next to this one, each in its own element
        currency = money.currency_of(text, country)
        amount = money.amount_of(text, currency) if currency else None
        if currency and amount is not None and amount > 0:
            return amount, currency, Candidate(text, "html", f"{node.tag} called price")
    return None


def _holders(nodes: list[LexborNode]) -> set[int]:
    """Return the elements that contain an element with a price class."""
    holders: set[int] = set()
    for node in nodes:
        at = node.parent if node.tag != "h1" else None
        for _ in range(_MAX_CLIMB):
            if at is None or at.mem_id in holders:
                break
            holders.add(at.mem_id)
            at = at.parent
    return holders


def _after_the_heading(nodes: list[LexborNode]) -> list[LexborNode]:
    places = [place for place, node in enumerate(nodes) if node.tag == "h1"]
    if not places:
        return []
    behind = nodes[places[0] + 1 : places[0] + 1 + _MAX_SEEN]
    return [node for node in behind if node.tag not in {"h1", "input", "script", "style", "label"}]


def _is_of_another_product(node: LexborNode, holders: set[int]) -> bool:
    """Return True for a former price, a price in a link, or one of several similar blocks."""
    attributes = node.attributes
    named = f"{attributes.get('class') or ''} {attributes.get('id') or ''}"[:_MAX_CLASS_CHARS]
    if _OTHER_PRICE.search(_CAPITAL.sub("-", named).lower()):
        return True
    at: LexborNode | None = node
    for _ in range(_MAX_CLIMB):
        if at is None or at.tag in {"body", "html"}:
            return False
        if at.tag in {"a", "del", "s", "strike", "aside", "footer", "nav"} or _is_one_of_many(
            at, holders
        ):
            return True
        at = at.parent
    return False


def _is_one_of_many(node: LexborNode, holders: set[int]) -> bool:
    named = node.attributes.get("class")
    if node.parent is None or not named:
        return False
    alike = 0
    for count, sibling in enumerate(node.parent.iter()):
        if count > _MAX_SIBLINGS:
            break
        same = sibling.tag == node.tag and sibling.attributes.get("class") == named
        alike += same and sibling.mem_id in holders
    return alike >= _MIN_ALIKE
