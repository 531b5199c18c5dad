"""
What the names of nodes mean for where rows lie: ids, groups and lanes.

Nodes that packed edges connect are known by names, of any meaning to the caller: the URLs of pages,
users, files. A name is UTF-8 without control characters. The names of a group, such as the pages of
one site, have their lists beside each other, because most edges stay within a group: with SQLite a
compaction then writes 30 % fewer bytes than with lists by `node_id`.

Their nodes may lie together too. Then an id begins with the group's hash, but for the low half of
its first byte, which is the name's: a group has sixteen places, one in each bucket and each file,
so that the rows of one group are written side by side, and fill no region alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, lru_cache
from hashlib import sha256

GROUP_BYTES = 4
"""The bytes of a list id that name the group."""
_ID_BYTES = 16


class Naming:
    """
    Ids of names, by SHA-256.

    A subclass may compute the same ids in a faster way. Ids are part of the stored form: a graph is
    always opened with one naming.

    Args:
        group_of: the group of a name; None: every name is a group of its own.
        is_together: whether the nodes of a group lie together, as in `Tables.format`; asked once,
            for the first id. None: they do not.
    """

    def __init__(
        self,
        group_of: Callable[[bytes], bytes] | None = None,
        is_together: Callable[[], bool] | None = None,
    ) -> None:
        self._group_of = group_of
        self._is_together = is_together
        self._prefix = lru_cache(maxsize=16_384)(_prefix)

    @cached_property
    def together(self) -> bool:
        """True if the nodes of a group lie together."""
        return self._is_together is not None and self._is_together()

    def node_id(self, name: str) -> bytes:
        """The id of the node of that name, 16 bytes."""
        return self.id_of(name.encode("utf-8", "surrogatepass"))

    def id_of(self, name: bytes) -> bytes:
        """
        `node_id` of a name in bytes: of its hash, or of its group's hash and its own.

        Of a group 28 bits and of the name 100: the probability of a collision among 10^10 names of
        one group is 10^-10.
        """
        digest = sha256(name).digest()[:_ID_BYTES]
        if not self.together:
            return digest
        group = self.group_hash(name)
        first = group[0] & 0xF0 | digest[0] & 0x0F
        return bytes([first]) + group[1:] + digest[GROUP_BYTES:]

    def list_id(self, name: bytes) -> bytes:
        """
        The id of the list of edges into a node: 4 bytes of its group, 12 of its name.

        Groups are spread over all regions; a region that one group fills can be split between its
        names. The probability of a collision among 10^10 names of one group is 10^-9. 0.7 µs.
        """
        return self.group_hash(name) + sha256(name).digest()[GROUP_BYTES:_ID_BYTES]

    def group_hash(self, name: bytes) -> bytes:
        """4 bytes of a hash of the group of a name."""
        return self._prefix(name if self._group_of is None else self._group_of(name))

    def by_group(self, texts: Mapping[bytes, bytes]) -> Mapping[bytes, Mapping[bytes, bytes]]:
        """Texts by name, as texts by the last 12 bytes of list ids, by their first 4."""
        groups: dict[bytes, dict[bytes, bytes]] = {}
        for name, text in texts.items():
            local_id = sha256(name).digest()[GROUP_BYTES:_ID_BYTES]
            groups.setdefault(self.group_hash(name), {})[local_id] = text
        return groups


def _prefix(group: bytes) -> bytes:
    return sha256(group).digest()[:GROUP_BYTES]
