"""
Derive ids from the names of nodes, so that the rows of related names are stored together.

Nodes connected by links have names, such as URLs, user names or paths. A name is UTF-8 without
control characters. The caller divides the names into groups, such as the pages of one site. The
lists of a group are stored next to each other, because most links stay within a group. On SQLite, a
compaction then writes 30% fewer bytes than with lists ordered by `node_id`.

The nodes of a group may be stored together too. Their ids then begin with the group's hash, except
that the low half of the first byte comes from the name. So a group's nodes form sixteen ranges of
keys, one per bucket. The group's rows are written together, but not all to one region.

A large group may have parts, such as the folders of a site. Most links stay within a part, so its
nodes are often written soon after each other. Then an id also has eight bits of its part's hash and
the first characters of the name within the part, so that these nodes are next to each other. A part
is in four of the group's ranges, so that a group with a single part does not fill a file or region.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from hashlib import sha256

GROUP_BYTES = 4
"""The number of bytes of a list id that identify the group."""
_ID_BYTES = 16

PartOf = Callable[[bytes], tuple[bytes, bytes]]
"""Splits a name into its part of the group, and its name within that part. See `Naming`."""

_PLACES = 16
"""The number of key ranges of a group. Each is in a different bucket (`_codec.bucket_of`)."""
_PLACES_OF_PART = 4
_HASH_START = 7
"""Where the hash of the name begins in ids with parts."""
_CACHE_SIZE = 16_384
_ORDERED_CHARS = 3
_SYMBOLS = 40
"""Few enough that three characters fit into two bytes."""


class Naming:
    """
    Derives ids from names with SHA-256.

    A subclass may compute the same ids faster. Ids are part of the stored format: a graph must
    always be opened with the same naming.

    Args:
        group_of: returns the group of a name. If None, every name is a group of its own.
        is_together: returns True if the nodes of a group are stored together; see
            `Tables.format`. Called once, for the first id. None means False.
        part_of: splits a name into its part and the rest of the name. Different groups must have
            different parts.
        has_parts: returns True if ids of groups that are stored together depend on parts, too.
            Called once. None means False.
    """

    def __init__(
        self,
        group_of: Callable[[bytes], bytes] | None = None,
        is_together: Callable[[], bool] | None = None,
        part_of: PartOf | None = None,
        has_parts: Callable[[], bool] | None = None,
    ) -> None:
        self._group_of = group_of
        self._is_together = is_together
        self._part_of = part_of
        self._has_parts = has_parts
        self._prefix = lru_cache(maxsize=_CACHE_SIZE)(_prefix)
        self._starts: dict[bytes, bytes] = {}

    @cached_property
    def together(self) -> bool:
        return self._is_together is not None and self._is_together()

    @cached_property
    def _used_parts(self) -> PartOf | None:
        """`part_of`, or None if ids do not depend on parts."""
        return self._part_of if self._has_parts is not None and self._has_parts() else None

    def node_id(self, name: str) -> bytes:
        """Return the id of the node with this name, 16 bytes."""
        return self.id_of(name.encode("utf-8", "surrogatepass"))

    def node_ids(self, names: Sequence[str]) -> list[bytes]:
        """Return the `node_id` of each name, in order."""
        return self.ids_of([name.encode("utf-8", "surrogatepass") for name in names])

    def id_of(self, name: bytes) -> bytes:
        """
        Return the `node_id` of a name given as bytes.

        If groups are stored together, 28 bits come from the group's hash and 100 from the name's.
        Then the probability of a collision among 10^10 names of one group is 10^-10. With parts, 12
        bits come from the part's hash, 16 from three characters, and 74 from the hash of the name.
        Then the probability is 3 * 10^-5 among 10^9 names of one part that begin with the same
        characters.
        """
        if self.together and self._used_parts is not None:
            return self._ids_with_parts([name], self._used_parts)[0]
        digest = sha256(name).digest()[:_ID_BYTES]
        if not self.together:
            return digest
        group = self.group_hash(name)
        first = group[0] & 0xF0 | digest[0] & 0x0F
        return bytes([first]) + group[1:] + digest[GROUP_BYTES:]

    def ids_of(self, names: Sequence[bytes]) -> list[bytes]:
        """Return the `id_of` of each name, in order."""
        if self.together and self._used_parts is not None:
            return self._ids_with_parts(names, self._used_parts)
        return list(map(self.id_of, names))

    def _ids_with_parts(self, names: Iterable[bytes], part_of: PartOf) -> list[bytes]:
        known, ids = self._starts.get, []
        for name in names:
            part, rest = part_of(name)
            start = known(part) or self._new_start(part, name)
            digest = sha256(name).digest()
            first = _FIRST_BYTES[start[0]][digest[0] % _PLACES_OF_PART]
            order = _ordered(rest[:_ORDERED_CHARS])
            ids.append(first + start[1:] + order + digest[_HASH_START:_ID_BYTES])
        return ids

    def _new_start(self, part: bytes, name: bytes) -> bytes:
        """Return how ids of a part begin, with the first byte of its first place, and cache it."""
        group, of_part = self.group_hash(name), sha256(part).digest()
        first = _FIRST_BYTES[group[0] & 0xF0 | of_part[0] & 0x0F][0]
        if len(self._starts) >= _CACHE_SIZE:
            self._starts.clear()
        start = self._starts[part] = first + group[1:] + of_part[1:2]
        return start

    def list_id(self, name: bytes) -> bytes:
        """
        Return the id of a node's list of incoming edges: 4 bytes from its group, 12 from its name.

        Groups are spread across all regions. A region filled by one group can be split between its
        names. The probability of a collision among 10^10 names of one group is 10^-9. Takes 0.7 µs.
        """
        return self.group_hash(name) + sha256(name).digest()[GROUP_BYTES:_ID_BYTES]

    def group_hash(self, name: bytes) -> bytes:
        return self._prefix(name if self._group_of is None else self._group_of(name))

    def by_group(self, texts: Mapping[bytes, bytes]) -> Mapping[bytes, Mapping[bytes, bytes]]:
        """Group strings by their names' list ids: by the first 4 bytes, then by the last 12."""
        groups: dict[bytes, dict[bytes, bytes]] = {}
        for name, text in texts.items():
            local_id = sha256(name).digest()[GROUP_BYTES:_ID_BYTES]
            groups.setdefault(self.group_hash(name), {})[local_id] = text
        return groups


def _prefix(group: bytes) -> bytes:
    return sha256(group).digest()[:GROUP_BYTES]


def _first_bytes(first: int) -> Sequence[bytes]:
    """Return the first bytes of a part's ids: those of its places, from that of `first` on."""
    places = range(first, first + _PLACES, _PLACES // _PLACES_OF_PART)
    return [bytes([first & 0xF0 | place % _PLACES]) for place in places]


_FIRST_BYTES = [_first_bytes(first) for first in range(256)]
"""Computed once, because on some sites, nearly every page is in a folder of its own."""


def _symbol_of(byte: int) -> int:
    """Map a byte to a number from 1 to 39 that sorts like the byte, ignoring case."""
    lower = bytes([byte]).lower()[0]
    if chr(lower) in "0123456789":
        return 2 + lower - ord("0")
    if chr(lower) in "abcdefghijklmnopqrstuvwxyz":
        return 13 + lower - ord("a")
    return 1 if lower < ord("0") else 12 if lower < ord("a") else 39


_SYMBOL_TABLE = bytes(map(_symbol_of, range(256)))


@lru_cache(maxsize=_CACHE_SIZE)
def _ordered(name: bytes) -> bytes:
    """Return two bytes that sort like these characters, at most three."""
    first, second, third = name.translate(_SYMBOL_TABLE).ljust(_ORDERED_CHARS, b"\0")
    return ((first * _SYMBOLS + second) * _SYMBOLS + third).to_bytes(2)
