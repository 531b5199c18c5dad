"""
Finds pages on a host with the same body, or nearly the same text.

The index has two kinds of records (`MultiGraph.registry`), in the bucket of the body's hash:

| record | `i:p` |
|---|---|
| `same`, host, body, 8 zero bytes | 8 bytes of the key of the page that last stored this body |
| `same`, host, body, 8 bytes of the URL's key | fingerprint or `-`, scheme, rest of the URL |

Host and body are 8 bytes of SHA-256 each. A record is written before its page's node, and deleted
after the node has changed. Each record that is found is checked against the node. `aragog store
repair` adds records that were lost, or whose pages were stored before this index existed.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice

from aragog.errors import BadInput
from aragog.urlstore import nodes
from aragog.urlstore.node_ids import host_of
from aragog.urlstore.nodes import Nodes, alias_of, facts_of, stored_likeness
from aragog.urlstore.records import Likeness, ListPage, is_expired
from richpins.fingerprint import distance, fingerprint_of
from urlspelling import normalize, url_key
from zengraph import MultiGraph
from zengraph.records import Mutation, Row, put_record

MAX_DISTANCE = 3
MAX_ENTRIES_READ = 20_000
"""Maximum number of entries read per call (about 0.1 s)."""
_KIND = b"same\0"
_PAGE = b"i:p"
_PART_BYTES = 8
_BODY = re.compile(r"[0-9a-f]{16}")
_BUCKETS = range(16)
_COLUMNS = (
    nodes.URL, nodes.CANONICAL, nodes.SENTINEL, nodes.REMOVED, nodes.LIKENESS, nodes.FACTS,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SamePage:
    """A page with the same body as the given page, or nearly the same text."""

    url: str
    is_identical: bool
    distance: int | None
    """How many of the fingerprints' 64 bits differ; None if a text is too short."""


def entry_name(url: str, likeness: Likeness | None) -> bytes | None:
    """Return the name of a page's entry, or None if its body's hash is unknown."""
    prefix = _body_prefix(url, likeness)
    return None if prefix is None else prefix + url_key(url)[:_PART_BYTES]


def entry_put(url: str, likeness: Likeness | None, at_ms: int) -> list[Mutation]:
    """Return the mutation that writes a page's entry; an empty list for a page without an entry."""
    name = entry_name(url, likeness)
    if name is None or likeness is None:
        return []
    scheme, _, host_and_path = url.partition("://")
    path = host_and_path[len(host_of(url.encode()).decode()) :]
    value = f"{fingerprint_of(likeness.text) or '-'} {scheme} {path}".encode()
    return [put_record(name, {_PAGE: value}, at_ms)]


def original_put(url: str, likeness: Likeness | None, at_ms: int) -> list[Mutation]:
    """Return the mutation that records this page as the original of its body."""
    prefix = _body_prefix(url, likeness)
    if prefix is None:
        return []
    return [put_record(prefix + bytes(_PART_BYTES), {_PAGE: url_key(url)[:_PART_BYTES]}, at_ms)]


def stored_entries(url: str, row: Row) -> list[tuple[bytes, int]]:
    """Return the names of a node's entries, each with the timestamp for its deletion."""
    likeness, cell = stored_likeness(row), row.get(nodes.LIKENESS)
    name = entry_name(url, likeness)
    if name is None or cell is None:
        return []
    # If another page stored the same body later, that page is now the original. Its record is newer
    # than the second delete, so it is kept.
    return [(name, cell.at_ms), (name[:-_PART_BYTES] + bytes(_PART_BYTES), cell.at_ms)]


class SameContent:
    """Finds similar pages; threads may share it."""

    def __init__(self, zen: MultiGraph) -> None:
        self._zen = zen
        self._nodes = Nodes(zen)
        self._registry = zen.registry

    def serves(self, name: bytes) -> bool:
        """Return False while the file with the entry is damaged."""
        return self._zen.serves(name[0])

    def has(self, name: bytes) -> bool:
        return bool(self._registry.get(name))

    def skip_damaged(self, puts: Iterable[Mutation]) -> list[Mutation]:
        """Return the entries that are not in damaged files."""
        return [put for put in puts if self.serves(put[1])]

    def forget(self, entries: Sequence[tuple[bytes, int]]) -> None:
        if readable := [entry for entry in entries if self.serves(entry[0])]:
            self._registry.delete_many(readable)

    def originals(self, stored_likeness: Mapping[str, Likeness]) -> dict[str, str]:
        """
        For each normalized URL, return another page on the host with the same body.

        URLs without such a page are omitted. Takes one multi-get, and one more if some are found.
        The returned pages may have another body by now.
        """
        prefixes = {
            url: _body_prefix(url, page_likeness) for url, page_likeness in stored_likeness.items()
        }
        original_names = {
            url: p + bytes(_PART_BYTES) for url, p in prefixes.items() if p and self.serves(p)
        }
        if not original_names:
            return {}
        original_rows = self._registry.get_many(sorted(set(original_names.values())))
        entries = {
            url: name[:-_PART_BYTES] + original_rows[name][_PAGE].value
            for url, name in original_names.items()
            if name in original_rows
            and original_rows[name][_PAGE].value != url_key(url)[:_PART_BYTES]
        }
        rows = self._registry.get_many(sorted(set(entries.values()))) if entries else {}
        return {
            url: _entry_url(rows[entry], url) for url, entry in entries.items() if entry in rows
        }  # fmt: skip

    def page(
        self, url: str, *, within: int | None = None, limit: int = 100, cursor: str | None = None
    ) -> ListPage[SamePage]:
        """
        Return other pages of the host with the same body or, with `within`, also with similar
        texts.

        They are in no particular order. With `within`, a call reads up to 20,000 of the host's
        entries, so a part may have fewer pages than its limit although more follow.

        Args:
            url: the page's URL, in any spelling.
            within: how many bits of the fingerprints may differ, 0 to 3.
            limit: number of pages, 1 or more.
            cursor: the cursor of the previous part.

        Raises:
            BadInput: `within` is out of range, or the cursor is invalid.
        """
        if within is not None and not 0 <= within <= MAX_DISTANCE:
            raise BadInput(f"distance {within}: must be 0 to {MAX_DISTANCE}")
        canonical, row = self._nodes.resolve(normalize(url), _COLUMNS)
        likeness, after = stored_likeness(row), _read_cursor(cursor)
        if not self._is_shown(row, canonical) or likeness is None:
            return ListPage([])
        pages: list[SamePage] = []
        last, count = b"", 0
        with closing(
            self._walk_entries(canonical, likeness, after, same_body=within is None)
        ) as entries:
            while batch := list(islice(entries, min(MAX_ENTRIES_READ - count, limit - len(pages)))):
                last, count = batch[-1][0], count + len(batch)
                pages += self._similar_pages(canonical, likeness, batch, within)
                if len(pages) >= limit or count >= MAX_ENTRIES_READ:
                    return ListPage(pages, last.hex())
        return ListPage(pages)

    def _walk_entries(
        self, url: str, likeness: Likeness, after: bytes, *, same_body: bool
    ) -> Generator[tuple[bytes, Row], None, None]:
        """Yield the host's entries after the name `after`, or only those with the same body."""
        body = _body_prefix(url, likeness)
        if same_body:
            prefixes = [body] if body else []
        else:
            prefixes = [bytes([bucket]) + _KIND + _host_hash(url) for bucket in _BUCKETS]
        for prefix in prefixes:
            if after[:1] > prefix[:1] or not self.serves(prefix):
                continue
            start = after if after.startswith(prefix) else b""
            with closing(self._registry.walk(prefix, start_after=start)) as rows:
                yield from (
                    entry for entry in rows if entry[0][-_PART_BYTES:] != bytes(_PART_BYTES)
                )

    def _similar_pages(
        self, url: str, likeness: Likeness, entries: Sequence[tuple[bytes, Row]], within: int | None
    ) -> list[SamePage]:
        own_entry, own_fingerprint = entry_name(url, likeness), fingerprint_of(likeness.text)
        urls = []
        for name, row in entries:
            is_same = own_entry is not None and name[:-_PART_BYTES] == own_entry[:-_PART_BYTES]
            bits = distance(own_fingerprint, row[_PAGE].value[:16].decode("latin-1"))
            is_near = within is not None and bits is not None and bits <= within
            if (is_same or is_near) and name != own_entry:
                urls.append(_entry_url(row, url))
        rows = self._nodes.read(urls, _COLUMNS) if urls else {}
        pages = []
        for other_url, row in rows.items():
            other_likeness = stored_likeness(row)
            if other_likeness is None or not self._is_shown(row, other_url):
                continue
            is_same = bool(likeness.body) and other_likeness.body == likeness.body
            bits = distance(own_fingerprint, fingerprint_of(other_likeness.text))
            if is_same or (within is not None and bits is not None and bits <= within):
                pages.append(SamePage(other_url, is_same, bits))
        return pages

    def _is_shown(self, row: Row, url: str) -> bool:
        is_page = nodes.SENTINEL in row and alias_of(row, url) is None
        is_gone = nodes.is_taken_down(row) or is_expired(facts_of(row), self._zen.clock.now_ms())
        return is_page and not is_gone


def _host_hash(url: str) -> bytes:
    return sha256(host_of(url.encode())).digest()[:_PART_BYTES]


def _body_prefix(url: str, likeness: Likeness | None) -> bytes | None:
    if likeness is None or not _BODY.fullmatch(likeness.body):
        return None
    body = bytes.fromhex(likeness.body)
    return bytes([body[0] % len(_BUCKETS)]) + _KIND + _host_hash(url) + body


def _entry_url(row: Row, neighbor: str) -> str:
    """Return the URL of an entry, which is on the same host as `neighbor`."""
    _, scheme, path = row[_PAGE].value.decode("utf-8", "replace").split(" ", 2)
    return f"{scheme}://{host_of(neighbor.encode()).decode()}{path}"


def _read_cursor(cursor: str | None) -> bytes:
    try:
        position = bytes.fromhex(cursor or "")
    except ValueError:
        position = b"?"
    if position and (position[0] not in _BUCKETS or not position[1:].startswith(_KIND)):
        raise BadInput(f"cursor: {(cursor or '')[:80]!r} is not a valid cursor")
    return position
