"""Parse an offer's availability."""

from __future__ import annotations

import re
from typing import Any, Literal

from richpins.structured_data.graph import Node

Availability = Literal[
    "in_stock", "out_of_stock", "pre_order", "back_order", "limited", "online_only",
    "in_store_only", "discontinued", "sold_out", "made_to_order", "reserved",
]  # fmt: skip

_AVAILABILITY: dict[str, Availability] = {
    "instock": "in_stock", "available": "in_stock", "availablefororder": "back_order",
    "instocksoon": "back_order", "oos": "out_of_stock", "outofstock": "out_of_stock",
    "unavailable": "out_of_stock", "notavailable": "out_of_stock", "preorder": "pre_order",
    "presale": "pre_order", "pending": "pre_order", "backorder": "back_order",
    "limitedavailability": "limited", "onlineonly": "online_only", "instoreonly": "in_store_only",
    "discontinued": "discontinued", "soldout": "sold_out", "madetoorder": "made_to_order",
    "reserved": "reserved", "true": "in_stock", "false": "out_of_stock",
    "onbackorder": "back_order", "backordered": "back_order", "availableonbackorder": "back_order",
    "backorderonly": "back_order", "onpreorder": "pre_order", "comingsoon": "pre_order",
    "lowstock": "limited", "limitedstock": "limited", "lowinstock": "limited",
    "notinstock": "out_of_stock", "outofstockonline": "out_of_stock",
    "temporarilyoutofstock": "out_of_stock", "temporarilyunavailable": "out_of_stock",
    "currentlyunavailable": "out_of_stock", "nolongeravailable": "discontinued",
    "outofprint": "discontinued",
}  # fmt: skip
_AVAILABLE_NOW = frozenset({"in_stock", "limited", "online_only", "in_store_only", "made_to_order"})
_AVAILABLE_LATER = frozenset({"pre_order", "back_order", None})


def availability(value: Any) -> Availability | None:
    """Parse schema.org's and Open Graph's availability: `http://schema.org/InStock`, `in stock`."""
    return _AVAILABILITY.get(normalize_term(value))


def rank(state: Availability | None) -> int:
    """Return 0 if available now, 1 if available later or not stated, 2 if unavailable."""
    return 0 if state in _AVAILABLE_NOW else 1 if state in _AVAILABLE_LATER else 2


def normalize_term(value: Any) -> str:
    """Return a term in lower case without its URL's folder and spaces: `instock` for `in stock`."""
    if isinstance(value, Node):
        value = value.id or value.first("name", "url") or ""
    return re.sub(
        r"[\s_\-]", "", str(value).rstrip("/").rpartition("/")[2].rpartition(":")[2]
    ).lower()
