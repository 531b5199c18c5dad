"""
The ids of the pages of a store of the first form, in a store where those of a host lie together.

An id is that of a URL if the URL is stored with it: in its node or, if it was never fetched, in its
due row. Ids of an application's own nodes stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from aragog.urlstore.due_index import DUE_URL
from aragog.urlstore.hosts import (
    HOST_URL,
    SAMPLE,
    SAMPLED,
    SENDER,
    in_sample,
    moved_sender,
)
from aragog.urlstore.node_ids import UrlNaming
from aragog.urlstore.nodes import ALIAS_URL, DUE, URL, text
from urlspelling import url_key
from zengraph.records import ID_BYTES, Cell, newest_ms, put_number
from zengraph.rekeying import ids_in, rekeyed
from zengraph.tables import Row, Tables

_NAMING = UrlNaming(lambda: True)
_URLS = {"n": URL, "d": DUE_URL, "h": HOST_URL, "e": ALIAS_URL}
"""Where the rows of a table have the URL of one of their nodes."""

Rows = Sequence[tuple[bytes, Row]]


class NewIds:
    """Gives rows of the tables `source` their new keys; reads nodes whose URL a row lacks."""

    def __init__(self, source: Tables) -> None:
        self._source = source

    def rekeyed(self, table: str, rows: Rows) -> Rows:
        """These rows with new ids. At most two multi-gets."""
        ids = dict.fromkeys(each for key, row in rows for each in ids_in(table, key, row))
        new_of = self._known(table, rows)
        new_of |= self._read([each for each in ids if each not in new_of])
        moved = [rekeyed(table, key, row, new_of) for key, row in rows]
        if table == "h":
            moved = [(moved_sender(key, text(row, SENDER), _NAMING), row) for key, row in moved]
            return [*moved, *_sampled(moved)]
        return moved

    def _known(self, table: str, rows: Rows) -> dict[bytes, bytes]:
        """The new ids of what the rows themselves have the URLs of."""
        column = _URLS.get(table)
        urls = (text(row, column) for _, row in rows) if column else ()
        return _new_of(url for url in urls if url)

    def _read(self, ids: Sequence[bytes]) -> dict[bytes, bytes]:
        """The new ids of nodes by their URLs, or by those of their due rows."""
        if not ids:
            return {}
        nodes = self._source["n"].get_many(ids, [URL, DUE])
        due = {
            put_number(each, int(at_ms), {}, 0)[1]
            for each, row in nodes.items()
            if URL not in row and (at_ms := text(row, DUE))
        }
        never_fetched = self._source["d"].get_many(list(due), [DUE_URL]) if due else {}
        urls = [text(row, URL) for row in nodes.values()]
        urls += [text(row, DUE_URL) for row in never_fetched.values()]
        return _new_of(url for url in urls if url)


def _sampled(rows: Rows) -> Rows:
    """The rows of the sample of pages, which a store of the first form has not."""
    return [
        (key[:1] + SAMPLE + url_key(url) + key[-ID_BYTES:], {SAMPLED: Cell(b"1", newest_ms(row))})
        for key, row in rows
        if SENDER not in row and (url := text(row, HOST_URL)) and in_sample(url)
    ]


def _new_of(urls: Iterable[str]) -> dict[bytes, bytes]:
    return {url_key(url): _NAMING.node_id(url) for url in urls}
