"""Property indexes: from the value of a property to the nodes that have it."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass

from aragog.clock import Clock
from aragog.errors import NotUnique
from aragog.zen.codec import BUCKETS, ID_BYTES, after, index_key, index_prefix, unique_key
from aragog.zen.tables import Tables, newest_ms

_CLAIM_MS = 10_000
"""How long a claimed value waits for its property to be set."""

_ID = b"i:id"
CANONICAL_URL = "canonical_url"
"""The property of an alias that names the URL of the node that stands for it."""
CANONICAL_COLUMN = b"s:canonical_url"
MAX_LIMIT = 6000
"""Maximum number of edges or nodes that one call returns."""


def property_column(name: str) -> bytes:
    """The cell of a node that stores a property."""
    return CANONICAL_COLUMN if name == CANONICAL_URL else b"m:" + name.encode()


@dataclass(frozen=True, slots=True)
class Schema:
    """The properties that are indexed, and the edge types that are counted."""

    unique: tuple[str, ...] = ()
    """Properties whose values belong to one node at most."""
    indexed: tuple[str, ...] = ()
    """Properties by whose values nodes can be found."""
    counted: tuple[int, ...] = ()
    """Edge types whose number is stored with the node, in both directions."""


class PropertyIndexes:
    """
    Writes and reads index rows.

    A row is written before the property that makes it true, and deleted after it; a hit counts only
    if the node still has the value.
    """

    def __init__(self, tables: Tables, schema: Schema, clock: Clock) -> None:
        self._tables = tables
        self._schema = schema
        self._clock = clock

    @property
    def names(self) -> tuple[str, ...]:
        """The indexed properties."""
        return (*self._schema.unique, *self._schema.indexed)

    def add(self, node_id: bytes, name: str, value: bytes, at_ms: int) -> None:
        """Enter a value. Raises NotUnique."""
        if name in self._schema.unique:
            self._claim(name, value, node_id)
        else:
            key = index_key(node_id, name, value)
            self._tables["i"].put(key, {_ID: node_id}, at_ms=at_ms)

    def lookup_unique(self, name: str, value: bytes) -> bytes | None:
        """The node that has the value of a unique property; two reads."""
        cell = self._tables["u"].get(unique_key(name, value), [_ID]).get(_ID)
        holder = cell.value[:ID_BYTES] if cell else None
        return holder if holder and self._has(holder, name, value) else None

    def lookup(
        self, name: str, value: bytes, limit: int = 100, cursor: bytes | None = None
    ) -> tuple[list[bytes], bytes | None]:
        """
        (nodes that have the value of an indexed property, cursor or None at the end).

        One range scan a bucket, and one multi-get a call that checks the hits.
        """
        result: list[bytes] = []
        last = cursor or b""
        for bucket in range(last[0] if last else 0, BUCKETS):
            prefix = index_prefix(bucket, name, value)
            start = last + b"\0" if last.startswith(prefix) else prefix
            with closing(self._tables["i"].scan(start, after(prefix))) as rows:
                for key, row in rows:
                    if len(result) == min(limit, MAX_LIMIT):
                        return result, last
                    last = key
                    if self._has(row[_ID].value, name, value):
                        result.append(row[_ID].value)
        return result, None

    def _has(self, node_id: bytes, name: str, value: bytes) -> bool:
        row = self._tables["n"].get(node_id, [property_column(name)])
        cell = row.get(property_column(name))
        return cell is not None and cell.value == value

    def _claim(self, name: str, value: bytes, node_id: bytes) -> None:
        """Enter the node as the value's owner in the unique index, or report the present owner."""
        index, key = self._tables["u"], unique_key(name, value)
        for _ in range(3):
            cell = index.get(key, [_ID]).get(_ID)
            current = cell.value if cell else None
            now_ms = self._clock.now_ms()
            if current is not None:
                holder, since_ms = current[:ID_BYTES], int.from_bytes(current[ID_BYTES:])
                if holder == node_id:
                    return
                if since_ms > now_ms - _CLAIM_MS or self._has(holder, name, value):
                    raise NotUnique(name, holder.hex())
            # Free, or left by a writer that crashed before it set the property.
            if index.check_and_put(key, _ID, current, node_id + now_ms.to_bytes(8)):
                return
        raise NotUnique(name, "that is being written")

    def remove(self, node_id: bytes, name: str, value: bytes) -> None:
        """Delete the row of a value that the node no longer has."""
        table = "u" if name in self._schema.unique else "i"
        key = unique_key(name, value) if table == "u" else index_key(node_id, name, value)
        row = self._tables[table].get(key)
        if row and row[_ID].value[:ID_BYTES] == node_id:
            self._tables[table].delete(key, at_ms=newest_ms(row))
