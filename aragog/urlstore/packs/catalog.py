"""
The catalog of packs. It has what their files do not show, such as which records are dead (used by
no page).

| record | of | values |
|---|---|---|
| `pack` | each pack | `i:size`; `i:also:<offset>:<hash>`: a URL that shares a record; `i:dictionary`: id |
| `pack-open` | packs whose pages may not all be written yet | `i:at` |
| `pack-dead` | packs with records that no page uses | `i:<offset>`: length |
| `pack-erase` | packs with bytes to erase | `i:<offset>` (0: a dictionary): when that was requested, ms |
| `pack-moved` | packs whose records have moved | `i:at` |
| `pack-fresh` | packs whose hosts were not checked yet | `i:at`; `i:h:<host>`: bytes of a host; `i:dictionary` |
| `pack-upkeep` | `pack_upkeep`: one record | `i:dead`: bytes; `i:<bucket>`: the last `pack-dead` read |

These are records of the registry, in the bucket of the pack's name; `pack-upkeep` is in the first
bucket. Every write is safe to repeat. Repair restores lost records by reading the packs. The
records of dictionaries are in `dictionary_records`.
"""  # noqa: E501 - a table

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha256

from aragog.urlstore.packs.dictionary_records import DictionaryRecords
from aragog.urlstore.packs.pointers import PackPointer
from urlspelling import url_key
from zengraph import MultiGraph
from zengraph.records import Row, newest_ms

PACK, OPEN, DEAD, ERASE, MOVED = b"pack", b"pack-open", b"pack-dead", b"pack-erase", b"pack-moved"
FRESH = b"pack-fresh"
_UPKEEP = b"pack-upkeep"
_DEAD = b"i:dead"
_SIZE, _AT, _ALSO, _BUSY, _HOST = b"i:size", b"i:at", b"i:also:", b"i:busy", b"i:h:"
_DICTIONARY = b"i:dictionary"
MAX_HOSTS = 32
"""Number of hosts recorded per pack. Only these, the largest ones, may get a dictionary."""
BUSY_MS = 600_000
"""Milliseconds that a claim for a rewrite lasts."""


class PackCatalog:
    """The records of packs; threads and processes may share it."""

    def __init__(self, zen: MultiGraph, now_ms: Callable[[], int]) -> None:
        self._registry = zen.registry
        self._now_ms = now_ms
        self.dictionaries = DictionaryRecords(zen, now_ms)

    def record_open(
        self,
        pack: str,
        size: int,
        hosts: Mapping[bytes, int] | None = None,
        dictionary: int = 0,
    ) -> None:
        """
        Record a pack before it is stored: its pages may not be written yet.

        `hosts` has the bytes of each host, if `pack_upkeep` should check whether dictionaries are
        worthwhile. `dictionary` is the id of the pack's shared dictionary, or 0.
        """
        now_ms = self._now_ms()
        at = {_AT: b"%d" % now_ms}
        shared = {_DICTIONARY: b"%d" % dictionary} if dictionary else {}
        rows: list[tuple[bytes, Mapping[bytes, bytes], int]] = [
            (self._row(OPEN, pack), at, now_ms),
            (self._row(PACK, pack), {_SIZE: b"%d" % size, **shared}, now_ms),
        ]
        if dictionary:
            rows.append(self.dictionaries.pack_put(dictionary, pack, now_ms))
        if hosts:
            largest = sorted(hosts, key=lambda host: hosts[host], reverse=True)[:MAX_HOSTS]
            named = {_HOST + host_hash(host): b"%d" % hosts[host] for host in largest}
            rows.append((self._row(FRESH, pack), at | shared | named, now_ms))
        self._registry.put_many(rows)

    def record_checked_hosts(self, pack: str) -> None:
        self._drop(FRESH, pack)

    def record_settled(self, pack: str) -> None:
        self._drop(OPEN, pack)

    def record_dead(self, pointers: Iterable[PackPointer]) -> None:
        """Record that no page uses these records."""
        now_ms = self._now_ms()
        self._put(DEAD, ((one, one.length) for one in pointers), now_ms)

    def erase(self, pointers: Iterable[PackPointer], *, at_once: bool = False) -> None:
        """
        Request that records be erased within `content.takedown_hours` or, with `at_once`, in the
        next maintenance run.
        """
        now_ms = self._now_ms()
        asked_ms = 0 if at_once else now_ms
        self._put(ERASE, ((one, asked_ms) for one in pointers), now_ms)

    def share(self, pointer: PackPointer, url: str) -> None:
        """
        Record that the page of a URL shares a record that was written for another page.

        Stores the URL, because node ids may differ in a copy of the store.
        """
        self.share_all([(pointer, url)])

    def share_all(self, pairs: Iterable[tuple[PackPointer, str]]) -> None:
        """Like `share`, for several pairs of record and URL."""
        cells: dict[str, dict[bytes, bytes]] = {}
        for pointer, url in pairs:
            column = b"%s%d:%s" % (_ALSO, pointer.offset, url_key(url).hex().encode())
            cells.setdefault(pointer.pack, {})[column] = url.encode()
        now_ms = self._now_ms()
        if cells:
            self._registry.put_many(
                [(self._row(PACK, p), named, now_ms) for p, named in cells.items()]
            )

    def sharing(self, pack: str) -> dict[int, set[str]]:
        """Return the URLs whose pages share records of a pack, by the record's offset."""
        found: dict[int, set[str]] = {}
        for column, cell in self._registry.get(self._row(PACK, pack)).items():
            if column.startswith(_ALSO):
                offset, _, _ = column[len(_ALSO) :].partition(b":")
                found.setdefault(int(offset), set()).add(cell.value.decode())
        return found

    def stays(self, pack: str) -> bool:
        """Return False if the pack is gone, or will be deleted because its records have moved."""
        return self.size(pack) is not None and not self.row(MOVED, pack)

    def size(self, pack: str) -> int | None:
        cell = self._registry.get(self._row(PACK, pack), [_SIZE]).get(_SIZE)
        return None if cell is None else int(cell.value)

    def dictionary(self, pack: str) -> int:
        """Return the id of the shared dictionary that a pack has, or 0."""
        return dictionary_in(self._registry.get(self._row(PACK, pack), [_DICTIONARY]))

    def record_dictionary(self, pack: str, dictionary: int) -> None:
        now_ms = self._now_ms()
        self._registry.put(self._row(PACK, pack), {_DICTIONARY: b"%d" % dictionary}, at_ms=now_ms)
        self.dictionaries.record_pack(dictionary, pack)

    def erase_dictionary(self, pack: str) -> None:
        self.erase([PackPointer(pack, 0, 0, "")])

    def erased(self, pack: str) -> set[int]:
        """Return the offsets of a pack's records that must be erased."""
        row = self._registry.get(self._row(ERASE, pack))
        return {int(column[2:]) for column in row if column[2:].isdigit()}

    def row(self, kind: bytes, pack: str) -> Row:
        return self._registry.get(self._row(kind, pack))

    def record_unused(self, pack: str) -> None:
        """Record that no page uses the pack. It is deleted after a grace period."""
        now_ms = self._now_ms()
        self._registry.put(self._row(MOVED, pack), {_AT: b"%d" % now_ms}, at_ms=now_ms)

    def forget(self, pack: str) -> None:
        if dictionary := self.dictionary(pack):
            self.dictionaries.forget_pack(dictionary, pack)
        for kind in (OPEN, DEAD, ERASE, PACK, MOVED, FRESH):
            self._drop(kind, pack)

    def claim(self, pack: str) -> bool:
        """Claim a pack for a rewrite. Returns False if another process has claimed it."""
        now_ms, row = self._now_ms(), self._row(PACK, pack)
        cell = self._registry.get(row, [_BUSY]).get(_BUSY)
        if cell is not None and int(cell.value) > now_ms:
            return False
        before = None if cell is None else cell.value
        return self._registry.check_and_put(row, _BUSY, before, b"%d" % (now_ms + BUSY_MS))

    def is_begun(self, pack: str) -> bool:
        """
        Return True if a rewrite of the pack was begun and not completed.

        Its process may be running or killed.
        """
        cell = self._registry.get(self._row(PACK, pack), [_BUSY]).get(_BUSY)
        return cell is not None and cell.value != b"0"

    def release(self, pack: str) -> None:
        row = self._row(PACK, pack)
        cell = self._registry.get(row, [_BUSY]).get(_BUSY)
        if cell is not None:
            self._registry.check_and_put(row, _BUSY, cell.value, b"0")

    def walk(self, kind: bytes, limit: int | None = None) -> Iterator[tuple[str, Row]]:
        """Yield the packs with an entry of one kind, at most `limit` per bucket."""
        for bucket in self._registry.buckets():
            prefix = bytes([bucket]) + kind + b"\0"
            for name, row in self._registry.walk(prefix, limit):
                yield name.removeprefix(prefix).decode(), row

    def next_dead(self, limit: int) -> list[tuple[str, Row]]:
        """
        Return the next packs with dead records, with their `pack-dead` entries.

        Returns at most `limit` per bucket. Each call continues after the previous call's packs, and
        starts over after the last pack, so that later packs are reached too. Two callers may get
        the same packs.
        """
        name = self._upkeep_row()
        places = self._registry.get(name)
        found: list[tuple[str, Row]] = []
        moved: dict[bytes, bytes] = {}
        for bucket in self._registry.buckets():
            prefix, column = bytes([bucket]) + DEAD + b"\0", b"i:%d" % bucket
            before = places[column].value if column in places else b""
            rows = list(self._registry.walk(prefix, limit, before and prefix + before))
            names = [key.removeprefix(prefix) for key, _ in rows]
            found += [(pack.decode(), row) for pack, (_, row) in zip(names, rows, strict=True)]
            place = names[-1] if len(names) == limit else b""
            if place != before:
                moved[column] = place
        dead = sum(sum(dead_of(row).values()) for _, row in found)
        self._registry.put(name, {**moved, _DEAD: b"%d" % dead}, at_ms=self._now_ms())
        return found

    def dead_bytes(self) -> int | None:
        """
        Return the bytes of dead records in the packs that `next_dead` returned last; None before
        its first call.
        """
        cell = self._registry.get(self._upkeep_row(), [_DEAD]).get(_DEAD)
        return None if cell is None else int(cell.value)

    def _upkeep_row(self) -> bytes:
        return bytes([self._registry.open_bucket()]) + _UPKEEP + b"\0"

    def _put(self, kind: bytes, values: Iterable[tuple[PackPointer, int]], now_ms: int) -> None:
        cells: dict[str, dict[bytes, bytes]] = {}
        for pointer, value in values:
            cells.setdefault(pointer.pack, {})[b"i:%d" % pointer.offset] = b"%d" % value
        if cells:
            rows = [(self._row(kind, pack), named, now_ms) for pack, named in cells.items()]
            self._registry.put_many(rows)

    def _drop(self, kind: bytes, pack: str) -> None:
        name = self._row(kind, pack)
        if row := self._registry.get(name):
            self._registry.delete(name, at_ms=newest_ms(row))

    def _row(self, kind: bytes, pack: str) -> bytes:
        bucket = sha256(pack.encode()).digest()[0]
        return bytes([self._registry.open_bucket(bucket)]) + kind + b"\0" + pack.encode()


def host_hash(host: bytes) -> bytes:
    """Return the hash under which a host is recorded."""
    return sha256(host).hexdigest()[:16].encode()


def hosts_of(row: Row) -> Mapping[bytes, int]:
    """Return the bytes of each host in a fresh pack, by the host's hash."""
    return {
        column[len(_HOST) :]: int(cell.value)
        for column, cell in row.items()
        if column.startswith(_HOST)
    }


def dictionary_in(row: Row) -> int:
    """Return the id of a pack's shared dictionary, or 0."""
    cell = row.get(_DICTIONARY)
    return 0 if cell is None else int(cell.value)


def at_of(row: Row) -> int:
    """Return when a pack was opened or moved, in ms."""
    cell = row.get(_AT)
    return 0 if cell is None else int(cell.value)


def dead_of(row: Row) -> Mapping[int, int]:
    """Return the lengths of dead records by offset."""
    return {int(c[2:]): int(cell.value) for c, cell in row.items() if c[2:].isdigit()}


def asked_of(row: Row) -> int:
    """Return when the first erasure was requested, in ms."""
    return min((int(cell.value) for c, cell in row.items() if c[2:].isdigit()), default=0)
