"""
Typed metadata of a page, each value with its provenance. Pure.

    pin = extract(body, url)
    pin.type, pin.title, pin.recipe.total_minutes, pin.provenance["recipe.total_minutes"]

The syntaxes (jsonld, marked, metatags) become nodes and tags (graph, sources); one module a type
reads them with the value parsers (values, numbers, durations, dates, yields, images); merge decides
what the page is about. docs/extraction.md tells the rules, docs/fields.md the stored form.
"""

from __future__ import annotations

from aragog.pages.document import Document, parse
from aragog.pages.richpins.assemble import pin_of
from aragog.pages.richpins.fields import FIELDS_VERSION, to_fields
from aragog.pages.richpins.model import EXTRACTOR_VERSION, PinType, RichPin
from aragog.pages.richpins.provenance import Conflict, Dropped, Provenance
from aragog.pages.richpins.syntax.sources import Sources
from aragog.pages.richpins.values.images import Image

__all__ = [
    "EXTRACTOR_VERSION",
    "FIELDS_VERSION",
    "Conflict",
    "Dropped",
    "Image",
    "PinType",
    "Provenance",
    "RichPin",
    "extract",
    "extract_from",
    "to_fields",
]


def extract(html: bytes, url: str, content_type: str | None = None) -> RichPin:
    """
    The Rich Pin of a page's bytes.

    Whatever the page holds, the answer is a pin: broken markup gives less and says so in
    `problems`. `content_type` is the header as sent; `url` the page's own.
    """
    return extract_from(parse(html, url=url, content_type=content_type))


def extract_from(document: Document) -> RichPin:
    """The Rich Pin of a parsed page, without another parse."""
    return pin_of(Sources(document))
