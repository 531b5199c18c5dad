"""
Extract typed metadata of a page, with the provenance of each value. No I/O.

    pin = extract(body, url)
    pin.type, pin.title, pin.recipe.total_minutes, pin.provenance["recipe.total_minutes"]

`syntax` reads structured data and meta elements into one graph of nodes. `types` has one module per
pin type, which reads the nodes with the parsers in `values`. `heuristics` reads the visible text.
`subject` decides what the page is about. `assemble` passes the visible values to `types`, which use
them where the markup has none. docs/extraction.md describes the rules, docs/fields.md the stored
format.
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
    Return the Rich Pin of a page's bytes.

    The result is always a pin: broken markup yields fewer values and is reported in `problems`.
    `content_type` is the header as sent; `url` is the URL of the page.
    """
    return extract_from(parse(html, url=url, content_type=content_type))


def extract_from(document: Document) -> RichPin:
    """Return the Rich Pin of a parsed page, without parsing it again."""
    return pin_of(Sources(document))
