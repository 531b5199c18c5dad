"""
Selects the pages and changes that may be used for a purpose.

The statements stored with each page are evaluated when the data is read
(`aragog.pages.preferences.refusal`). Data that was not fetched, such as an application's record,
has no statements. It may be used for `search`, but not by models.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from aragog.urlstore.feed import Change
from aragog.urlstore.nodes import FACTS, URL, facts_of
from aragog.urlstore.records import is_allowed
from aragog.urlstore.store import UrlStore
from zengraph import MultiGraph

_NO_STATEMENTS: dict[str, object] = {}


def is_usable(store: UrlStore, url: str, purpose: str | None) -> bool:
    """
    Return True if a reader may use the page's data for this purpose (None: any).

    Takes one read.
    """
    return purpose is None or bool(usable_urls(store, [url], purpose))


def usable_urls(store: UrlStore, urls: Iterable[str], purpose: str) -> set[str]:
    """Return the URLs whose pages a reader may use. Takes one read in total."""
    distinct = list(dict.fromkeys(urls))
    records = store.get_many(distinct, ()) if distinct else []
    return {
        url
        for url, record in zip(distinct, records, strict=True)
        if is_allowed(record.facts if record else _NO_STATEMENTS, purpose)
    }


def usable_changes(
    store: UrlStore, changes: Sequence[Change], purpose: str | None
) -> Sequence[Change]:
    """
    Return the changes, without the fields of pages that a reader may not use.

    Changes to these pages are still included, so that the reader can delete data that it may no
    longer use.
    """
    if purpose is None:
        return changes
    usable = usable_urls(store, (change.url for change in changes), purpose)
    return [change if change.url in usable else replace(change, fields={}) for change in changes]


def usable_nodes(zen: MultiGraph, keys: Sequence[bytes], purpose: str | None) -> set[bytes]:
    """
    Return the nodes that are not pages, or whose pages a reader may use.

    Takes one read in total.
    """
    if purpose is None or not keys:
        return set(keys)
    rows = zen.nodes.get_many(list(keys), [URL, FACTS])
    return {
        key
        for key in keys
        if URL not in (row := rows.get(key, {})) or is_allowed(facts_of(row), purpose)
    }
