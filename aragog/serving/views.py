"""What the read API answers, as plain values: from the UrlStore to JSON. No HTTP here."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from aragog.urlstore.records import LinkRecord, Record
from aragog.urlstore.store import UrlStore

MOST_LINKS = 1000


def value(data: bytes) -> Any:
    """A field's bytes for JSON: what they are if they are JSON, else text, else base64."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        pass
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def record(found: Record) -> dict[str, Any]:
    """A record as JSON."""
    return {
        "url": found.url,
        "canonical_url": found.canonical_url,
        "fields": {name: value(data) for name, data in found.fields.items()},
        "facts": dict(found.facts),
    }


def link(found: LinkRecord) -> dict[str, Any]:
    """A link as JSON."""
    return {"url": found.url, "text": found.text, "rel": list(found.rel)}


def read_url(store: UrlStore, url: str, fields: Sequence[str] | None) -> dict[str, Any] | None:
    """One record, by any spelling or alias of its URL; None when nothing is known of it."""
    found = store.get(url, fields)
    return None if found is None else record(found)


def read_urls(
    store: UrlStore, urls: Sequence[str], fields: Sequence[str] | None
) -> list[dict[str, Any] | None]:
    """Many records, in order."""
    return [None if found is None else record(found) for found in store.get_many(urls, fields)]


def read_links(
    store: UrlStore, url: str, direction: str, limit: int, cursor: str | None
) -> Mapping[str, Any]:
    """A page of links; `cursor` of the answer goes on behind it, None at the end."""
    read = store.inlinks if direction == "in" else store.outlinks
    page = read(url, limit=min(limit, MOST_LINKS), cursor=cursor)
    answer: dict[str, Any] = {"links": [link(one) for one in page.items], "cursor": page.cursor}
    if direction == "in":
        answer["count"] = store.count_inlinks(url)
    return answer
