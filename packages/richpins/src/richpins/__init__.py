"""
Typed facts of a web page, from its bytes: no network, no store, no settings.

    page = read(body, url="https://example.com/soup", content_type="text/html")
    page.pin.recipe.total_minutes, page.links, page.markdown

`read` returns a `Page`. What stands here is public, and so are these modules, for programs that
read a part of a page or store what they read:

- `document` parses a page once for all others, `documents` does so for PDF and plain text too;
- `extraction` gives the typed metadata (`RichPin`) of a parsed page, `provenance` where it stood;
- `rich_pins` has that record and its fields as JSON, `field_types` the types of the fields,
  `page_types` one module for each type of page;
- `links`, `canonical_evidence` and `robots_meta` read the page's anchors, the URLs that it declares
  to be its own, and its robots directives;
- `main_text` finds its text without menus, with the extra of the name text;
- `compared_text` and `text_sketch` tell whether two pages say nearly the same, `fingerprint` finds
  such pages among many;
- `selectors` reads values by CSS and XPath, with the extra of the name xpath, and `items` many
  typed records of a page, by rules that `guesses` guesses from a few examples;
- `encodings` has the encodings of the web.

The names load when they are first used: `import richpins` alone loads no parser.
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

_MODULE_OF = {
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
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
