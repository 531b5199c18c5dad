"""A page's Rich Pin, and its conversion to JSON fields for storage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, is_dataclass
from dataclasses import fields as fields_of
from datetime import date
from decimal import Decimal
from typing import Any

import orjson

from richpins import page_types
from richpins.provenance import Alternatives, Conflict, Dropped, Provenance
from richpins.values.dates import AnyDate, Moment
from richpins.values.images import Image
from richpins.values.partial_dates import PartialDate
from richpins.values.yields import Yield

EXTRACTOR_VERSION = 16
"""Incremented when pages may yield other fields than before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RichPin:
    """
    Typed metadata of one page. Values that the page does not contain are None or empty, never
    guessed.

    Fields of all pages are attributes of this class. Fields of the page's type are in `details`.
    This record is also the attribute named after the type: `pin.recipe` is the recipe of a recipe
    page, and None on any other page.
    """

    type: str
    """`page`, or one of `page_types.NAMES`."""
    types: tuple[str, ...] = ()
    """The subject's schema.org types, such as `NewsArticle`."""
    url: str
    title: str | None = None
    description: str | None = None
    canonical_url: str | None = None
    """The declared canonical URL, absolute. `urlspelling.canonical` decides whether to trust it."""
    site_name: str | None = None
    language: str | None = None
    authors: tuple[str, ...] = ()
    image: Image | None = None
    """The best of `images`."""
    images: tuple[Image, ...] = ()
    """All images that the page offers, most trusted first."""
    published_at: AnyDate | None = None
    modified_at: Moment | None = None
    keywords: tuple[str, ...] = ()
    icon_url: str | None = None
    oembed_url: str | None = None
    app_links: Mapping[str, str] = field(default_factory=dict)
    """URLs of the site's app in app stores, with the keys `ios` and `android`."""
    details: Any = None
    """The record of the page's type, such as `page_types.recipe.Recipe`, if it has one."""
    provenance: Mapping[str, Provenance] = field(default_factory=dict)
    """The source of each field, by names such as `recipe.yields`."""
    alternatives: Alternatives = field(default_factory=Alternatives, repr=False, compare=False)
    problems: tuple[str, ...] = ()
    """What could not be read in the page."""
    extractor_version: int = EXTRACTOR_VERSION

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        """Valid values from less trusted sources, computed on first access."""
        return self.alternatives.conflicts

    @property
    def dropped(self) -> tuple[Dropped, ...]:
        """Invalid or uncertain values, with reasons, computed on first access."""
        return self.alternatives.dropped

    @property
    def author(self) -> str | None:
        """All authors in one string."""
        return ", ".join(self.authors) or None

    def __getattr__(self, name: str) -> Any:
        """
        Return `details` if `name` is the page's type; None if it is another page type.

        Raises:
            AttributeError: `name` is not a page type.
        """
        if name not in page_types.NAMES:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return self.details if name == self.type else None


FIELDS_VERSION = 1
"""Format version, incremented when a field changes its name or shape."""

PAGE_FIELDS = (
    "title", "description", "canonical_url", "site_name", "language", "authors", "image", "images",
    "published_at", "modified_at", "keywords", "icon_url", "oembed_url", "app_links",
)  # fmt: skip
"""The attributes of a pin that pages of every type have."""


def to_fields(pin: RichPin) -> tuple[dict[str, bytes], dict[str, str]]:
    """
    Return a pin's fields by name (`page.title`, `product.price`), and the source of each.

    Fields without a value are omitted. Values are JSON in UTF-8 with sorted keys, so that equal
    values have equal bytes. Decimals are strings; dates and times are ISO 8601.
    """
    fields = {"page.type": orjson.dumps(pin.type), "page.types": _json(pin.types)}
    for name in PAGE_FIELDS:
        _put(fields, f"page.{name}", getattr(pin, name))
    if pin.details is not None:
        for detail in fields_of(pin.details):
            _put(fields, f"{pin.type}.{detail.name}", getattr(pin.details, detail.name))
    fields["page.extractor_version"] = _json(pin.extractor_version)
    if not pin.types:
        del fields["page.types"]
    return fields, _provenance(pin, fields)


def _put(fields: dict[str, bytes], name: str, value: Any) -> None:
    if value is not None and value not in ((), {}, ""):
        fields[name] = _json(value)


def _json(value: Any) -> bytes:
    return orjson.dumps(to_json_value(value), option=orjson.OPT_SORT_KEYS)


_JSON_TYPES = frozenset({str, int, float, bool, type(None)})


def to_json_value(value: Any) -> Any:
    """Convert a typed value to types that JSON supports."""
    if type(value) in _JSON_TYPES:
        return value
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, date | PartialDate):
        return value.isoformat()
    if is_dataclass(value) and not isinstance(value, type):
        result = {
            field.name: to_json_value(getattr(value, field.name)) for field in fields_of(value)
        }
        if isinstance(value, Yield):
            result["text"] = str(value)
        return {name: part for name, part in result.items() if part is not None}
    if isinstance(value, Mapping):
        return {str(name): to_json_value(part) for name, part in value.items()}
    if isinstance(value, tuple | list):
        return [to_json_value(part) for part in value]
    return value


def _provenance(pin: RichPin, fields: Mapping[str, bytes]) -> dict[str, str]:
    return {
        name: f"{source.syntax} {source.position}"
        for name, source in pin.provenance.items()
        if name in fields
    }
