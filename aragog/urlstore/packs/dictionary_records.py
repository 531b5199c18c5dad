"""
The records of shared dictionaries.

| record | of | values |
|---|---|---|
| `dictionary` | each shared dictionary, by its id | `i:at`; `i:on:<pack>`: a pack whose records it was trained on; `i:erased`: when it had to be erased |
| `dictionary-data` | the same | `i:data`: the dictionary, compressed |
| `dictionary-pack` | each pack with a shared dictionary, by id and pack | `i:at` |
| `dictionary-use` | one record | `i:id`: the dictionary that new bodies are compressed with, 0 for none; `i:tried`: when one was trained |

They are registry records, like those of packs (`catalog`). Every write is safe to repeat.
"""  # noqa: E501 - a table

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple

from aragog.urlstore.packs.dictionaries import Dictionary
from zengraph import MultiGraph
from zengraph.records import Row, newest_ms

_HEAD, _DATA_OF, _PACK_OF = b"dictionary", b"dictionary-data", b"dictionary-pack"
_USE = b"dictionary-use"
_AT, _DATA, _ON, _ERASED, _ID = b"i:at", b"i:data", b"i:on:", b"i:erased", b"i:id"
_TRIED = b"i:tried"


class SharedRecord(NamedTuple):
    """The record of a shared dictionary."""

    id: int
    at_ms: int
    """When it was trained."""
    trained_on: frozenset[str]
    erased_ms: int | None
    """When it had to be erased, because it may contain text of a page that was taken down."""


class DictionaryRecords:
    """Threads and processes may share the records."""

    def __init__(self, zen: MultiGraph, now_ms: Callable[[], int]) -> None:
        self._registry = zen.registry
        self._now_ms = now_ms

    def add(self, dictionary: Dictionary, trained_on: Sequence[str]) -> None:
        """Record a dictionary. From now on, the packs that it was trained on are kept."""
        now_ms = self._now_ms()
        on = {_ON + pack.encode(): b"" for pack in trained_on}
        name = _name(dictionary.id)
        self._registry.put_many(
            [
                (self._row(_HEAD, name), {_AT: b"%d" % now_ms, **on}, now_ms),
                (self._row(_DATA_OF, name), {_DATA: dictionary.stored}, now_ms),
            ]
        )

    def use(self, dictionary_id: int) -> None:
        """Compress new bodies with this dictionary from now on, or with none if 0."""
        now_ms = self._now_ms()
        self._registry.put(self._row(_USE, b""), {_ID: b"%d" % dictionary_id}, at_ms=now_ms)

    def in_use(self) -> int:
        """Return the id of the dictionary that new bodies are compressed with; 0 if none."""
        cell = self._registry.get(self._row(_USE, b"")).get(_ID)
        return 0 if cell is None else int(cell.value)

    def record_try(self) -> None:
        now_ms = self._now_ms()
        self._registry.put(self._row(_USE, b""), {_TRIED: b"%d" % now_ms}, at_ms=now_ms)

    def tried_ms(self) -> int:
        """Return when a dictionary was last trained, used or not; 0 for never."""
        cell = self._registry.get(self._row(_USE, b"")).get(_TRIED)
        return 0 if cell is None else int(cell.value)

    def data(self, dictionary_id: int) -> bytes | None:
        """Return a dictionary's data (`Dictionary.read`), or None if it is unknown or erased."""
        cell = self._registry.get(self._row(_DATA_OF, _name(dictionary_id))).get(_DATA)
        return None if cell is None else cell.value

    def all(self) -> list[SharedRecord]:
        """Return all recorded dictionaries, including erased ones that packs may still have."""
        return [_parsed(name, row) for name, row in self._walk(_HEAD, b"")]

    def is_known(self, dictionary_id: int) -> bool:
        """Return True if the dictionary is recorded, erased or not."""
        return bool(self._registry.get(self._row(_HEAD, _name(dictionary_id))))

    def erase(self, dictionary_id: int) -> None:
        """Record that a dictionary must be erased, and delete its data."""
        if self.in_use() == dictionary_id:
            self.use(0)
        name, now_ms = _name(dictionary_id), self._now_ms()
        self._registry.put(self._row(_HEAD, name), {_ERASED: b"%d" % now_ms}, at_ms=now_ms)
        self._drop(self._row(_DATA_OF, name))

    def erase_trained_on(self, packs: Collection[str]) -> None:
        """Erase the dictionaries trained on these packs. Call it before their records move."""
        for one in self.all():
            if one.erased_ms is None and not one.trained_on.isdisjoint(packs):
                self.erase(one.id)

    def forget(self, dictionary_id: int) -> None:
        """Stop using a dictionary that no pack has, and delete its records."""
        if self.in_use() == dictionary_id:
            self.use(0)
        self._drop(self._row(_DATA_OF, _name(dictionary_id)))
        self._drop(self._row(_HEAD, _name(dictionary_id)))

    def pack_put(
        self, dictionary_id: int, pack: str, now_ms: int
    ) -> tuple[bytes, Mapping[bytes, bytes], int]:
        """Return the write that records a pack's dictionary, for `Registry.put_many`."""
        return self._pack_row(dictionary_id, pack), {_AT: b"%d" % now_ms}, now_ms

    def packs_with(self, dictionary_id: int) -> Iterator[str]:
        for name, _ in self._walk(_PACK_OF, _name(dictionary_id) + b"/"):
            yield name.decode()

    def record_pack(self, dictionary_id: int, pack: str) -> None:
        self._registry.put_many([self.pack_put(dictionary_id, pack, self._now_ms())])

    def forget_pack(self, dictionary_id: int, pack: str) -> None:
        self._drop(self._pack_row(dictionary_id, pack))

    def _pack_row(self, dictionary_id: int, pack: str) -> bytes:
        return self._row(_PACK_OF, _name(dictionary_id) + b"/" + pack.encode())

    def _walk(self, kind: bytes, start: bytes) -> Iterator[tuple[bytes, Row]]:
        for bucket in self._registry.buckets():
            prefix = bytes([bucket]) + kind + b"\0" + start
            for name, row in self._registry.walk(prefix):
                yield name.removeprefix(prefix), row

    def _drop(self, name: bytes) -> None:
        if row := self._registry.get(name):
            self._registry.delete(name, at_ms=newest_ms(row))

    def _row(self, kind: bytes, name: bytes) -> bytes:
        bucket = self._registry.open_bucket(sha256(name).digest()[0])
        return bytes([bucket]) + kind + b"\0" + name


def _name(dictionary_id: int) -> bytes:
    return b"%x" % dictionary_id


def _parsed(name: bytes, row: Row) -> SharedRecord:
    trained_on = (column[len(_ON) :].decode() for column in row if column.startswith(_ON))
    at, erased = row.get(_AT), row.get(_ERASED)
    return SharedRecord(
        int(name, 16),
        0 if at is None else int(at.value),
        frozenset(trained_on),
        None if erased is None else int(erased.value),
    )
