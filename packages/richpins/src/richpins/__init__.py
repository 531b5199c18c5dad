"""
Extract typed metadata from a web page, without network, storage or settings.

    page = read(body, url="https://example.com/soup", content_type="text/html")
    page.pin.recipe.total_minutes, page.links, page.markdown

`read` returns a `Page`. The names exported here are public, as are these modules, for programs that
need only part of a page or store what they extract:

- `document` parses a page once for all other modules; `documents` also handles PDF and plain text;
- `extraction` returns the typed metadata (`RichPin`) of a parsed page, `provenance` each value's
  source;
- `rich_pins` converts that record and its fields to JSON, `field_types` has the types of the
  fields, `page_types` has one module per page type;
- `links`, `canonical_evidence` and `robots_meta` read the page's anchors, its canonical URL
  declarations and its robots directives;
- `main_text` finds the text without menus (needs `richpins[text]`);
- `compared_text` and `text_sketch` detect near-duplicate pages, `fingerprint` finds them among
  many;
- `selectors` reads values by CSS and XPath (XPath needs `richpins[xpath]`), `items` reads many
  typed records from a page, and `guesses` suggests rules for them from example pages;
- `encodings` implements the encodings of the web.

Names load on first use: `import richpins` alone loads no parser.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from richpins.document import Document
    from richpins.errors import MissingExtra, RichpinsError
    from richpins.links import Link
    from richpins.page import Page, read
    from richpins.provenance import Provenance
    from richpins.rich_pins import EXTRACTOR_VERSION, RichPin
    from richpins.text_sketch import are_near_same

__all__ = [
    "EXTRACTOR_VERSION",
    "Document",
    "Link",
    "MissingExtra",
    "Page",
    "Provenance",
    "RichPin",
    "RichpinsError",
    "are_near_same",
    "read",
]

_MODULE_BY_NAME = {
    "EXTRACTOR_VERSION": "rich_pins",
    "Document": "document",
    "Link": "links",
    "MissingExtra": "errors",
    "Page": "page",
    "Provenance": "provenance",
    "RichPin": "rich_pins",
    "RichpinsError": "errors",
    "are_near_same": "text_sketch",
    "read": "page",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_BY_NAME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULE_BY_NAME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
