"""
Extract many typed records from one page, by rules, a class or a function. No I/O.

    cards = kind_of("cards", {
        "pages": "*/c/*",
        "each": "css:.card",
        "fields": {"sku": "css:.sku", "price": {"select": "css:.price", "type": "decimal"}},
        "required": ["price"],
        "key": "sku",
        "follow": "css:a.next",
    })
    found = find(cards, document.parse(body, url="https://shop.example/c/lamps"))
    found.items[0].values  # {"sku": "L-1", "price": "19.90"}
    found.dropped          # {"price: nothing found": 2}
    found.follow           # ("https://shop.example/c/lamps?page=2",)

A kind (an item type) defines which pages have its items, which elements these are, and their
fields. It can also be a dataclass with `Select` in its annotations (`item`), or a function that
returns dicts.
"""

from richpins.errors import InvalidKind
from richpins.items._definitions import Select, item
from richpins.items._extraction import (
    MAX_BYTES_PER_ITEM,
    MAX_BYTES_PER_PAGE,
    MAX_ITEMS,
    FoundItems,
    Item,
    find,
)
from richpins.items._kinds import FIELD_NAME, ItemField, ItemKind, kind_of

__all__ = [
    "FIELD_NAME",
    "MAX_BYTES_PER_ITEM",
    "MAX_BYTES_PER_PAGE",
    "MAX_ITEMS",
    "FoundItems",
    "InvalidKind",
    "Item",
    "ItemField",
    "ItemKind",
    "Select",
    "find",
    "item",
    "kind_of",
]
