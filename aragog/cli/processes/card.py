"""A page's Rich Pin as a card: title, type, and a few values with source and age."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import orjson
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from aragog.durations import span
from aragog.formatting import plain
from aragog.terminal import printable
from aragog.urlstore.records import FieldInfo, Record
from aragog.urlstore.store import UrlStore

# The fields of each kind of page follow these, the most informative ones first.
FIRST = (
    "page.title", "page.type", "product.price", "product.currency", "product.availability",
    "product.brand", "product.rating", "page.description", "page.image",
)  # fmt: skip
HIDDEN = ("page.extractor_version", "page.canonical_url", "page.images", "page.types")
MOST_ROWS = 12
MOST_CHARS = 60
LOOKED_AT = 25


def best_of(store: UrlStore, urls: Iterable[str]) -> Record | None:
    """The page with the most fields among the first `LOOKED_AT` URLs; None: no page is stored."""
    records = [store.get(url, info=True) for url, _ in zip(urls, range(LOOKED_AT), strict=False)]
    pages = [record for record in records if record is not None and record.fields]
    return max(pages, key=lambda record: len(record.fields), default=None)


def card(store: UrlStore, record: Record) -> Panel:
    """The card of a page that has fields."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    table.add_column(style="dim")
    now_ms = time.time() * 1000
    for name in _order(record)[:MOST_ROWS]:
        value = _text(orjson.loads(orjson.dumps(store.formats.to_json(name, record.fields[name]))))
        info = record.info.get(name)
        table.add_row(name, Text(printable(plain(value, MOST_CHARS))), _source(info, now_ms))
    return Panel(table, title=Text(printable(plain(record.canonical_url, 100))), expand=False)


def _order(record: Record) -> list[str]:
    first = [name for name in FIRST if name in record.fields]
    others = sorted(record.fields.keys() - set(first) - set(HIDDEN))
    return first + [name for name in others if not name.endswith("_groups")]


def _source(info: FieldInfo | None, now_ms: float) -> str:
    """The syntax that a value came from, and its age: `json-ld, 3 min ago`."""
    if info is None:
        return ""
    syntax = (info.provenance or "derived").partition(" ")[0]
    return f"{printable(syntax)}, {span(now_ms - info.at_ms)} ago"


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return _text(value.get("url", ", ".join(f"{k} {_text(v)}" for k, v in value.items())))
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    return str(value)
