"""The JSON values that the API and the command line show, without any HTTP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from aragog.errors import InvalidUrl, PermanentError
from aragog.urls.normalize import normalize
from aragog.urlstore.records import LinkRecord, Record
from aragog.urlstore.store import UrlStore

MOST_LINKS = 1000
MOST_ALIASES = 1000
MOST_BATCH_BYTES = 33_554_432
"""Limit of field values in one batch response; the last part may exceed it."""
BATCH_PART = 20
PROBE_URL = "http://readiness.invalid/"


def probe(store: UrlStore) -> None:
    """Make one small read; raises the errors of the store."""
    store.get(PROBE_URL, ())


def record(store: UrlStore, found: Record) -> dict[str, Any]:
    """A record as JSON; the value of each field follows its declared format."""
    return {
        "url": found.url,
        "canonical_url": found.canonical_url,
        "version": found.version,
        "fields": {name: store.formats.to_json(name, data) for name, data in found.fields.items()},
        "facts": dict(found.facts),
    }


def link(found: LinkRecord) -> dict[str, Any]:
    """A link as JSON."""
    return {"url": found.url, "text": found.text, "rel": found.rel.split()}


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
    """
    found = store.get(url, fields)
    if found is None:
        return None
    return record(store, found) | extras(store, url, include)


def extras(store: UrlStore, url: str, include: Sequence[str]) -> dict[str, Any]:
    """Those of `EXTRAS` that are in `include`."""
    shown: dict[str, Any] = {}
    if "aliases" in include:
        shown["aliases"] = store.aliases.of(url)[:MOST_ALIASES]
    if "inlinks" in include:
        shown["inlinks"] = store.links.count_inlinks(url)
    if "fetch" in include:
        shown["fetch"] = store.pages.fetch_report(url)
    return shown


def read_urls(
    store: UrlStore, urls: Sequence[str], fields: Sequence[str] | None
) -> list[dict[str, Any]]:
    """
    Many records, in order: `status` 200 with `record`, or 400, 404, 413 or 500 with `detail`.

    A URL that is invalid, or whose row cannot be read, does not affect the others. Records after
    the first `MOST_BATCH_BYTES` are not read: their status is 413, and the caller requests them
    again.
    """
    shown: list[dict[str, Any]] = []
    size = 0
    for at in range(0, len(urls), BATCH_PART):
        part = urls[at : at + BATCH_PART]
        if size >= MOST_BATCH_BYTES:
            shown += [_left_out(given) for given in part]
            continue
        results, part_size = _read_part(store, part, fields)
        shown += results
        size += part_size
    return shown


def _read_part(
    store: UrlStore, urls: Sequence[str], fields: Sequence[str] | None
) -> tuple[list[dict[str, Any]], int]:
    """The results, and the approximate size of their values in bytes."""
    checked = [_checked(url) for url in urls]
    valid = [url for url, reason in checked if reason is None]
    try:
        records = store.get_many(valid, fields)
    except PermanentError:
        results = [_one(store, given, fields) for given in urls]
        return results, len(orjson.dumps(results))
    found = iter(records)
    results = [
        {"input": given, "status": 400, "detail": reason}
        if reason is not None
        else _shown(store, given, next(found))
        for given, (_, reason) in zip(urls, checked, strict=True)
    ]
    return results, sum(len(data) for each in records if each for data in each.fields.values())


def _left_out(given: str) -> dict[str, Any]:
    detail = f"the response holds {MOST_BATCH_BYTES} bytes already: ask for this URL again"
    return {"input": given, "status": 413, "detail": detail}


def _checked(url: str) -> tuple[str, str | None]:
    try:
        return normalize(url), None
    except InvalidUrl as error:
        return url, str(error)


def _shown(store: UrlStore, given: str, found: Record | None) -> dict[str, Any]:
    if found is None:
        return {"input": given, "status": 404, "detail": "nothing is known of this URL"}
    return {"input": given, "status": 200, "record": record(store, found)}


def _one(store: UrlStore, given: str, fields: Sequence[str] | None) -> dict[str, Any]:
    try:
        return _shown(store, given, store.get(given, fields))
    except InvalidUrl as error:
        return {"input": given, "status": 400, "detail": str(error)}
    except PermanentError as error:
        return {"input": given, "status": 500, "detail": str(error)}


def read_links(
    store: UrlStore, url: str, direction: str, limit: int, cursor: str | None
) -> Mapping[str, Any]:
    """A page of links; its `cursor` begins the next page and is None at the end."""
    read = store.links.inlinks if direction == "in" else store.links.outlinks
    page = read(url, limit=min(limit, MOST_LINKS), cursor=cursor)
    answer: dict[str, Any] = {"links": [link(one) for one in page.items], "cursor": page.cursor}
    if direction == "in":
        answer["count"] = store.links.count_inlinks(url)
    return answer
