"""
The JSON types of extracted fields, such as `page.title` or `product.rating`. No I/O.

They are derived from the annotations of the records that extraction fills (`RichPin` and the page
types), so a new field needs no separate declaration.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import dataclass, field, is_dataclass
from datetime import date
from decimal import Decimal
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from richpins import page_types
from richpins.rich_pins import PAGE_FIELDS, RichPin
from richpins.values.yields import Yield

TypeKind = Literal[
    "text", "integer", "number", "decimal", "boolean", "date", "list", "map", "record", "any"
]


@dataclass(frozen=True, slots=True)
class FieldType:
    """
    The type of a value.

    `decimal` is a number stored as a string, which preserves its digits. `date` is a string such as
    `2024-05-01`. `any` is any JSON value.
    """

    kind: TypeKind
    item: FieldType | None = None
    """The item type of a `list` or `map`."""
    members: Mapping[str, FieldType] = field(default_factory=dict)
    """The types of a `record`'s members. Each member may be missing."""

    @property
    def has_decimals(self) -> bool:
        """Return True if a value may contain a `decimal`."""
        if self.item is not None:
            return self.item.has_decimals
        return self.kind == "decimal" or any(part.has_decimals for part in self.members.values())


TEXT, ANY = FieldType("text"), FieldType("any")
INTEGER, NUMBER, BOOLEAN = FieldType("integer"), FieldType("number"), FieldType("boolean")
DECIMAL = FieldType("decimal")

_SCALAR_TYPES = {
    str: TEXT, int: INTEGER, float: NUMBER, bool: BOOLEAN, Decimal: DECIMAL,
    date: FieldType("date"),
}  # fmt: skip


@cache
def extracted_types() -> Mapping[str, FieldType]:
    """Return the type of each extracted field. Imports all page types."""
    result = {
        "page.type": TEXT,
        "page.types": FieldType("list", TEXT),
        "page.extractor_version": INTEGER,
    }
    page = get_type_hints(RichPin)
    result |= {f"page.{name}": type_of(page[name]) for name in PAGE_FIELDS}
    for page_type in page_types.page_types():
        hints = get_type_hints(page_type.record)
        result |= {f"{page_type.name}.{name}": type_of(hint) for name, hint in hints.items()}
    return result


def type_of(hint: Any) -> FieldType:
    """
    Return the JSON type to which `rich_pins` converts a value with this annotation.

    Raises:
        TypeError: such values are not supported.
    """
    if scalar := _SCALAR_TYPES.get(hint):
        return scalar
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return TEXT
    if origin in (Union, types.UnionType):
        parts = [part for part in arguments if part is not types.NoneType]
        # Full dates, dates with times and partial dates all have different text forms.
        return type_of(parts[0]) if len(parts) == 1 else TEXT
    if origin in (tuple, list):
        return FieldType("list", type_of(arguments[0]))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return FieldType("map", type_of(arguments[1]))
    if is_dataclass(hint):
        members = {name: type_of(part) for name, part in get_type_hints(hint).items()}
        if hint is Yield:
            members["text"] = TEXT
        return FieldType("record", members=members)
    raise TypeError(f"{hint!r} has no JSON type")
