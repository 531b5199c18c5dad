"""Rich Pins of pages written in a test, and JSON-LD for those pages."""

from __future__ import annotations

import json

from richpins.extraction import extract
from richpins.rich_pins import RichPin


def pin(markup: str, url: str = "https://a.test/x") -> RichPin:
    """The Rich Pin of a page in UTF-8."""
    return extract(markup.encode(), url, "text/html; charset=utf-8")


def ld(*items: object) -> str:
    """A JSON-LD script element for each item."""
    return "".join(
        f'<script type="application/ld+json">{json.dumps(item)}</script>' for item in items
    )


def recipe_ld(**more: object) -> str:
    """A JSON-LD script element of a recipe named Soup."""
    return ld({"@type": "Recipe", "name": "Soup", **more})
