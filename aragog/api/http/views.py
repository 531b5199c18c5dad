"""The JSON values that the API and the command line show, without any HTTP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from aragog.errors import TakenDown
from aragog.urls.normalize import normalize
from aragog.urlstore.records import LinkRecord, Record
from aragog.urlstore.store import UrlStore

MOST_LINKS = 1000
MOST_ALIASES = 1000
PROBE_URL = "http://readiness.invalid/"


def probe(store: UrlStore) -> None:
    """Make one small read; raises the errors of the store."""
    store.get(PROBE_URL, ())


def record(store: UrlStore, stored: Record) -> dict[str, Any]:
    """A record as JSON; the value of each field follows its declared format."""
    return {
        "url": stored.url,
        "canonical_url": stored.canonical_url,
        "version": stored.version,
        "fields": {name: store.formats.to_json(name, data) for name, data in stored.fields.items()},
        "facts": dict(stored.facts),
        "content_bytes": stored.content_bytes,
        "content_hash": stored.content_hash,
        "due_at_ms": stored.due_at_ms,
    }


def link(link_record: LinkRecord) -> dict[str, Any]:
    """A link as JSON."""
    return {"url": link_record.url, "text": link_record.text, "rel": link_record.rel.split()}


EXTRAS = ("aliases", "inlinks", "fetch")
"""What a record may be returned with; each costs about one more read."""


def read_url(
    store: UrlStore,
    url: str,
    fields: Sequence[str] | None,
    include: Sequence[str] = EXTRAS,
) -> dict[str, Any] | None:
    """
    One record, by any spelling or alias of its URL; None when the URL is unknown.

    Args:
        store: the store to read.
        url: the URL in any spelling.
        fields: the fields to return; None: all.
        include: those of `EXTRAS` to add.

    Raises:
        TakenDown: the URL was taken down.
    """
    result = store.get(url, fields)
    if result is None:
        for refused in store.takedowns.refused([normalize(url)]):
            raise TakenDown(refused)
        return None
    return record(store, result) | extras(store, url, include)


def extras(store: UrlStore, url: str, include: Sequence[str]) -> dict[str, Any]:
    """The parts of `EXTRAS` that are in `include`."""
    values: dict[str, Any] = {}
    if "aliases" in include:
        values["aliases"] = store.aliases.of(url)[:MOST_ALIASES]
    if "inlinks" in include:
        values["inlinks"] = store.links.count_inlinks(url)
    if "fetch" in include:
        values["fetch"] = store.pages.fetch_report(url)
    return values


def read_links(
    store: UrlStore, url: str, direction: str, limit: int, cursor: str | None
) -> Mapping[str, Any]:
    """A page of links; its `cursor` begins the next page and is None at the end."""
    read = store.links.inlinks if direction == "in" else store.links.outlinks
    page = read(url, limit=min(limit, MOST_LINKS), cursor=cursor)
    links: dict[str, Any] = {"links": [link(edge) for edge in page.items], "cursor": page.cursor}
    if direction == "in":
        links["count"] = store.links.count_inlinks(url)
    return links
