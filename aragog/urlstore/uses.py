"""
What a reader may have who uses pages for a purpose: of one page, of several, and of changes.

The statements that are stored with each page decide at the time of the read
(`aragog.pages.preferences.refusal`). What no fetch brought, such as a record that an application
put, has no statements, so it is for `search` and not for the uses by models.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from aragog.urlstore.feed import Change
from aragog.urlstore.nodes import FACTS, URL, facts_of
from aragog.urlstore.records import is_allowed
from aragog.urlstore.store import UrlStore
from zengraph import MultiGraph

_NOTHING_SAID: dict[str, object] = {}


def is_usable(store: UrlStore, url: str, purpose: str | None) -> bool:
    """Whether a reader may have data of a page; True without a purpose. One read."""
    return purpose is None or bool(usable_urls(store, [url], purpose))


def usable_urls(store: UrlStore, urls: Iterable[str], purpose: str) -> set[str]:
    """Those of some normalized URLs whose pages a reader may have data of. One read for all."""
    distinct = list(dict.fromkeys(urls))
    found = store.get_many(distinct, ()) if distinct else []
    return {
        url
        for url, record in zip(distinct, found, strict=True)
        if is_allowed(record.facts if record else _NOTHING_SAID, purpose)
    }


def usable_changes(
    store: UrlStore, changes: Sequence[Change], purpose: str | None
) -> Sequence[Change]:
    """
    The changes, without the fields of pages that a reader may not have.

    Those changes stay: they tell a reader to read again, and to delete what is not given anymore.
    """
    if purpose is None:
        return changes
    usable = usable_urls(store, (change.url for change in changes), purpose)
    return [each if each.url in usable else replace(each, fields={}) for each in changes]


def usable_nodes(zen: MultiGraph, keys: Sequence[bytes], purpose: str | None) -> set[bytes]:
    """Those of some nodes that are no page, or one that a reader may have. One read for all."""
    if purpose is None or not keys:
        return set(keys)
    rows = zen.nodes.get_many(list(keys), [URL, FACTS])
    return {
        key
        for key in keys
        if URL not in (row := rows.get(key, {})) or is_allowed(facts_of(row), purpose)
    }
