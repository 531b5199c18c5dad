"""
Convert a Rich Pin to stored fields, named by type, with JSON values.

docs/fields.md describes the format.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields as fields_of
from dataclasses import is_dataclass
from datetime import date
from decimal import Decimal
from typing import Any

import orjson

from aragog.pages.richpins.model import RichPin
from aragog.pages.richpins.values.dates import PartialDate
from aragog.pages.richpins.values.yields import Yield

FIELDS_VERSION = 1
"""Version of the format; incremented when a field changes its name or shape."""

_PAGE_FIELDS = (
    "title", "description", "canonical_url", "site_name", "language", "authors", "image", "images",
    "published_at", "modified_at", "keywords", "icon_url", "oembed_url", "app_links",
)  # fmt: skip


def to_fields(pin: RichPin) -> tuple[dict[str, bytes], dict[str, str]]:
    """
    Return the fields of a pin by name (`page.title`, `product.price`), and the source of each.

    Fields without a value are omitted. Values are JSON in UTF-8 with sorted keys, so equal values
    have equal bytes. Decimals are strings; dates and times are ISO 8601.
    """
    fields = {"page.type": orjson.dumps(pin.type), "page.types": _json(pin.types)}
    for name in _PAGE_FIELDS:
        _put(fields, f"page.{name}", getattr(pin, name))
    typed = None if pin.type == "page" else getattr(pin, pin.type)
    if typed is not None:
        for field in fields_of(typed):
            _put(fields, f"{pin.type}.{field.name}", getattr(typed, field.name))
    fields["page.extractor_version"] = _json(pin.extractor_version)
    if not pin.types:
        del fields["page.types"]
    return fields, _provenance(pin, fields)


def _put(fields: dict[str, bytes], name: str, value: Any) -> None:
    if value is not None and value not in ((), {}, ""):
        fields[name] = _json(value)


def _json(value: Any) -> bytes:
    return orjson.dumps(plain(value), option=orjson.OPT_SORT_KEYS)


def plain(value: Any) -> Any:
    """Convert a typed value to types that JSON supports."""
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, date | PartialDate):
        return value.isoformat()
    if is_dataclass(value) and not isinstance(value, type):
        result = {field.name: plain(getattr(value, field.name)) for field in fields_of(value)}
        if isinstance(value, Yield):
            result["text"] = str(value)
        return {name: part for name, part in result.items() if part is not None}
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, tuple | list):
        return [plain(part) for part in value]
    return value


def _provenance(pin: RichPin, fields: Mapping[str, bytes]) -> dict[str, str]:
    return {
        name: f"{source.syntax} {source.position}"
        for name, source in pin.provenance.items()
        if name in fields
    }
