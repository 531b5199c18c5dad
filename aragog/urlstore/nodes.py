"""
The cells of a URL's node, and reads of nodes through their aliases.

| cell | contents |
|---|---|
| `m:<field>` | a field; `m:_` exists as long as the node has any data to show |
| `s:url` | the URL; it is compared on reads, in case two URLs have the same key |
| `s:canonical_url` | the URL that this URL is an alias of; absent or the URL itself: not an alias |
| `s:provisional`, `s:reasons` | whether that decision is provisional, and its reasons |
| `s:own` | JSON of what a fetch of exactly this URL found, used to decide about other URLs |
| `s:facts` | JSON of the last fetch |
| `s:fetched` | the `FetchRecord` of the last fetch of exactly this URL that returned content |
| `s:response` | the `FetchRecord` of another URL's fetch that returned this page's content |
| `s:fetch` | the `FetchRecord` of the last fetch without content (a 304, a failure) |
| `s:provenance` | JSON of where the pipeline found each field |
| `s:from:<field>` | the source that the writer of a `put` gave |
| `s:ckey`, `s:chash`, `s:clen`, `s:cenc` | content: key, hash as stored, length, encoding |
| `s:pack` | content in a pack: the pointer to its record, instead of `s:ckey` (`packs.pointers`) |
| `s:rec:<pack> <offset>` | a record in a pack: length, digest, and `body`, `revisit` or `shared` |
| `s:due` | when to fetch again, ms; empty: never |
| `s:refresh` | JSON of the state between fetches: `RefreshState` |
| `s:signal` | JSON of what a sitemap or feed reports about the page: `PageMark` |
| `s:watched` | `1`: the URL is watched; `0`: the last watch ended; absent: it was never watched |
| `s:version` | a random word, new with each write |
| `s:removed` | `removed` or `taken down`; its timestamp is the time of the removal |
| `s:was:<field>` | JSON of the last values of a field that has a history |
| `s:aliased` | `1`: the URL has aliases, or had some; absent: it has no alias edges |
| `s:likeness` | JSON of the `Likeness` of the last page that a fetch stored here |
| `s:claim` | the lease of the first page that declares this unfetched URL as canonical |
| `s:doubted` | JSON [URL, URL]: two pages that declare this URL as canonical but do not match |
| `s:asked` | `1`: this URL was enqueued because of `s:doubted` |
| `s:leaving` | the canonical URL that an alias is being detached from; empty: none |
| `s:moved` | the latest time of data that moved away from here; data that returns is newer |
| `s:withdrawn` | `1`: the page was deleted; the feed hides its values up to the cell's time |
| `s:in:<crawl>` | `1`: the page was stored for this crawl; timestamp: when that first happened |
| `s:changed` | the last change that a fetch found, as in the change feed; timestamp: that fetch |
| `s:lock` | the lease of a conditional write (`CellLeases`) |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import orjson

from aragog.errors import CorruptRow
from aragog.urlstore.records import Fact, Likeness
from urlspelling import url_key
from urlspelling.domain import host
from zengraph import MultiGraph
from zengraph.records import Cell, Row

SENTINEL = b"m:_"
"""A record's marker cell: `PRESENT`, or the time (ms) from which the page is hidden."""
PRESENT = b"1"
"""The value of cells that only mark something, such as a crawl's cell."""
URL = b"s:url"
CANONICAL = b"s:canonical_url"
CANONICAL_URL = "canonical_url"
"""The name of the property with the canonical URL when nodes are read through the graph API."""
PROVISIONAL = b"s:provisional"
REASONS = b"s:reasons"
OWN = b"s:own"
FACTS = b"s:facts"
FETCHED = b"s:fetched"
RESPONSE = b"s:response"
FETCH = b"s:fetch"
PROVENANCE = b"s:provenance"
CONTENT_KEY = b"s:ckey"
CONTENT_HASH = b"s:chash"
CONTENT_LENGTH = b"s:clen"
CONTENT_ENCODING = b"s:cenc"
CONTENT_PACK = b"s:pack"
RECORDS = b"s:rec:"
"""Prefix of the cells for records in packs."""
DUE = b"s:due"
REFRESH = b"s:refresh"
SIGNAL = b"s:signal"
WATCHED = b"s:watched"
VERSION = b"s:version"
REMOVED = b"s:removed"
ALIASED = b"s:aliased"
LIKENESS = b"s:likeness"
CLAIM = b"s:claim"
CONFLICTING_PAGES = b"s:doubted"
ENQUEUED_FOR_CHECK = b"s:asked"
LEAVING = b"s:leaving"
MOVED = b"s:moved"
WITHDRAWN = b"s:withdrawn"
LOCK = b"s:lock"
CHANGED = b"s:changed"
IN_CRAWL = b"s:in:"
"""Prefix of a page's cells for its crawls."""

_PAGE_STATUSES = (*range(200, 300), 304)
"""HTTP statuses of fetches that returned or confirmed a page."""

CONTENT = (CONTENT_KEY, CONTENT_HASH, CONTENT_LENGTH, CONTENT_ENCODING, CONTENT_PACK)
CONTENT_AND_RESPONSE = (*CONTENT, RESPONSE)
POINTERS = (CONTENT_KEY, CONTENT_PACK)
"""The columns for the content's location; if both exist, the newer cell counts."""
TAKEN_DOWN = b"taken down"

MAX_HOPS = 4
"""Maximum number of aliases to follow. Writes flatten chains, so more than one occurs only after a
race."""


ALIAS_URL = b"p:u"
"""An alias edge's column with the alias's URL."""
HISTORIES = b"s:was:"
"""Prefix of the columns with field histories."""


@lru_cache(maxsize=4096)
def field_column(field: str) -> bytes:
    """Return the column with a field's value."""
    return b"m:" + field.encode()


def history_column(field: str) -> bytes:
    """Return the column with a field's last values."""
    return HISTORIES + field.encode()


def provenance_column(field: str) -> bytes:
    """Return the column with the source that a field's writer gave."""
    return b"s:from:" + field.encode()


def text(row: Row, column: bytes) -> str | None:
    """Return a cell as text, or None if it is absent or empty."""
    cell = row.get(column)
    return cell.value.decode() if cell and cell.value else None


def content_cell(row: Row) -> tuple[bytes, Cell] | None:
    """Return the column and cell with a page's content location, or None."""
    pack, key = row.get(CONTENT_PACK), row.get(CONTENT_KEY)
    if pack and pack.value and not (key and key.value and key.at_ms > pack.at_ms):
        return CONTENT_PACK, pack
    return (CONTENT_KEY, key) if key and key.value else None


def is_taken_down(row: Row) -> bool:
    """Return True if the URL was taken down and must not be stored again."""
    cell = row.get(REMOVED)
    return cell is not None and cell.value == TAKEN_DOWN


def facts_of(row: Row, column: bytes = FACTS) -> dict[str, Fact]:
    """Return the facts in a JSON cell; empty if it is absent."""
    cell = row.get(column)
    return orjson.loads(cell.value) if cell else {}


def alias_of(row: Row, url: str) -> str | None:
    """Return the URL that `url` is an alias of, or None."""
    cell = row.get(CANONICAL)
    if cell is None or not cell.value:
        return None
    target = cell.value.decode()
    return None if target == url else target


def leads_to(row: Row, url: str) -> str | None:
    """Like `alias_of`, but None for an alias that was taken down, because it must show no page."""
    target = alias_of(row, url)
    return None if target is None or is_taken_down(row) else target


def sender_of(row: Row, url: str) -> str:
    """
    Return the URL that returned the stored page of `url`.

    Returns `url` if that is unknown.
    """
    sender = facts_of(row).get("final_url")
    return sender if isinstance(sender, str) and sender else url


def was_fetched(row: Row) -> bool:
    """Return True if a fetch of exactly this URL returned a page that no later fetch found gone."""
    own_facts = facts_of(row, OWN)
    return (
        own_facts.get("status") in _PAGE_STATUSES
        and not own_facts.get("gone")
        and not own_facts.get("redirects_to")
    )


def page_senders(row: Row) -> tuple[str, ...]:
    """
    Return the URLs of the fetch that returned a node's page, with the final URL first; empty
    without a page.
    """
    facts = facts_of(row)
    if SENTINEL not in row or not facts.get("fetched_at_ms"):
        return ()
    urls = (facts.get("final_url"), facts.get("url"))
    return tuple(dict.fromkeys(url for url in urls if isinstance(url, str) and url))


def response_cell(row: Row) -> Cell | None:
    """Return the record of the fetch that returned a node's content, or None if unknown."""
    stored = row.get(CONTENT_HASH)
    reports = (row.get(RESPONSE), row.get(FETCHED))
    return next((cell for cell in reports if cell and stored and cell.at_ms == stored.at_ms), None)


def stored_likeness(row: Row) -> Likeness | None:
    """Return the likeness of a node's page, or None if unknown."""
    if not text(row, LIKENESS):
        return None
    values = facts_of(row, LIKENESS)
    return Likeness(str(values.get("body") or ""), str(values.get("text") or ""))


def likeness_cell(likeness: Likeness | None) -> bytes:
    """Return the value of the likeness cell; empty if unknown."""
    if likeness is None:
        return b""
    return orjson.dumps({"body": likeness.body, "text": likeness.text})


def have_same_host(url: str, other: str) -> bool:
    """Return True if two normalized URLs have the same host, ignoring a leading `www.`."""
    return host(url).removeprefix("www.") == host(other).removeprefix("www.")


def check_url(row: Row, url: str) -> None:
    """
    Check that the node belongs to `url`.

    Raises:
        CorruptRow: the node belongs to another URL with the same key.
    """
    cell = row.get(URL)
    if cell and cell.value != url.encode():
        raise CorruptRow("n", f"of {url}", f"contains {cell.value!r}: two URLs have the same id")


def sentinel_value(facts: Mapping[str, object]) -> bytes:
    """Return the sentinel for a page with these facts; see `SENTINEL`."""
    expires_ms = facts.get("unavailable_after_ms")
    return b"%d" % expires_ms if isinstance(expires_ms, int) and expires_ms > 1 else PRESENT


def after_moves(row: Row, at_ms: int) -> int:
    """
    Return the timestamp for writing a page: `at_ms` or slightly later.

    Data that moved away from a node was deleted at its own timestamp, and its links one millisecond
    later. A put that is not newer than such a delete may be lost.
    """
    return max(at_ms, int(text(row, MOVED) or -2) + 2)


def hidden_until_ms(row: Row, now_ms: int) -> int:
    """
    Return the time up to which values are hidden because the page was withdrawn or expired.

    Returns -1 if none are hidden.
    """
    withdrawn, sentinel = row.get(WITHDRAWN), row.get(SENTINEL)
    if sentinel is not None and sentinel.value != PRESENT and int(sentinel.value) <= now_ms:
        return now_ms
    return -1 if withdrawn is None else withdrawn.at_ms


def record_marker(row: Row) -> bytes:
    """Return the `SENTINEL` value for a record that is written again without a fetch."""
    cell = row.get(SENTINEL)
    return PRESENT if cell is None else cell.value


class Nodes:
    """Reads nodes. A batch takes one multi-get, and one more for each alias in a chain."""

    def __init__(self, zen: MultiGraph) -> None:
        self._properties = zen.nodes
        self.id_of = zen.node_id
        self._ids_of = zen.node_ids

    def read(self, urls: Iterable[str], columns: Sequence[bytes] | None) -> dict[str, Row]:
        """Return the node of each URL; an empty row if it has none."""
        urls = list(urls)
        ids = self._ids_of(urls)
        rows = self._properties.get_many(list(dict.fromkeys(ids)), columns)
        return {url: rows.get(key, {}) for url, key in zip(urls, ids, strict=True)}

    def follow(
        self,
        urls: Sequence[str],
        columns: Sequence[bytes] | None,
        rows: dict[str, Row] | None = None,
    ) -> dict[str, tuple[str, Row]]:
        """
        Return the canonical URL of each URL, and that URL's node.

        In a cycle of aliases, the URL with the smallest hash is the canonical URL. `columns` must
        contain `CANONICAL`. With `REMOVED`, an alias that was taken down is not followed. `rows`
        are nodes that were already read with these columns.
        """
        if rows is None:
            rows = self.read(dict.fromkeys(urls), columns)
        aliases = _alias_targets(rows)
        if not aliases:
            return {url: (url, rows[url]) for url in urls}
        for _ in range(MAX_HOPS):
            missing = {target for target in aliases.values() if target not in rows}
            if not missing:
                break
            targets = self.read(missing, columns)
            rows |= targets
            aliases |= _alias_targets(targets)
        return {
            url: (canonical := follow_aliases(url, rows), rows.get(canonical, {})) for url in urls
        }

    def resolve(self, url: str, columns: Sequence[bytes] = ()) -> tuple[str, Row]:
        """Return the canonical URL (the URL itself if unknown) and its node."""
        return self.follow([url], [URL, CANONICAL, REMOVED, *columns])[url]

    def resolve_taken_down(self, url: str) -> str:
        """Like `resolve`, but also follows an alias that was taken down."""
        return self.follow([url], [URL, CANONICAL])[url][0]


def _alias_targets(rows: Mapping[str, Row]) -> dict[str, str]:
    return {url: target for url, row in rows.items() if (target := leads_to(row, url)) is not None}


def follow_aliases(url: str, rows: Mapping[str, Row]) -> str:
    """Return the URL that `url` leads to, following all aliases in `rows`."""
    chain = [url]
    for _ in range(MAX_HOPS):
        target = leads_to(rows.get(chain[-1], {}), chain[-1])
        if target is None:
            break
        if target in chain:
            return min(chain[chain.index(target) :], key=url_key)
        chain.append(target)
    return chain[-1]


def history_entries(cell: Cell | None) -> list[tuple[bytes, int]]:
    """Return the values in a history cell as (value, at_ms), newest first."""
    if cell is None:
        return []
    return [(value.encode("latin-1"), at_ms) for at_ms, value in orjson.loads(cell.value)]


def history_with(cell: Cell | None, value: bytes, at_ms: int, length: int) -> bytes | None:
    """
    Return the history cell with one more value, or None if the cell stays the same.

    Of consecutive equal values, only the earliest is kept. Values may arrive in any order, and more
    than once.
    """
    before = history_entries(cell)
    versions = sorted({at: v for v, at in [*before, (value, at_ms)]}.items())
    distinct = [v for i, v in enumerate(versions) if not i or versions[i - 1][1] != v[1]]
    after = [(at, v) for at, v in reversed(distinct)][:length]
    if after == [(at, v) for v, at in before]:
        return None
    return orjson.dumps([(at, v.decode("latin-1")) for at, v in after])


def history_cell(row: Row, name: str) -> Cell | None:
    """Return a field's history. Without a stored one, it has just the current value."""
    history, current = row.get(history_column(name)), row.get(field_column(name))
    if history is None and current is not None:
        return Cell(orjson.dumps([(current.at_ms, current.value.decode("latin-1"))]), current.at_ms)
    return history
