"""Single ends of edges of score 0: listed from one side, with their properties and times."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing

from aragog.zen.codec import after, edge_key, edge_prefix, read_edge_key
from aragog.zen.properties import Row, newest_ms
from aragog.zen.tables import Tables


class EdgeEnds:
    """Reads and deletes edge ends; `mutations.put_edge_end` writes them."""

    def __init__(self, tables: Tables) -> None:
        self._table = tables["e"]

    def of(
        self, node_id: bytes, direction: bytes, edge_type: int
    ) -> Generator[tuple[bytes, Row], None, None]:
        """(other node id, properties) of each edge, in order; close it if you leave it early."""
        prefix = edge_prefix(node_id, direction, edge_type)
        with closing(self._table.scan(prefix, after(prefix))) as rows:
            for key, row in rows:
                yield read_edge_key(key)[4], row

    def walk(self) -> Generator[tuple[bytes, bytes, int, bytes, Row], None, None]:
        """(node, direction, type, other node, properties) of every edge end, of any score."""
        for key, row in self._table.scan(b"", None):
            node_id, direction, edge_type, _, other = read_edge_key(key)
            yield node_id, direction, edge_type, other, row

    def has(self, node_id: bytes, direction: bytes, edge_type: int, other: bytes) -> bool:
        """Whether there is such an end."""
        return bool(self._table.get(edge_key(node_id, direction, edge_type, 0, other)))

    def delete(
        self, node_id: bytes, direction: bytes, edge_type: int, other: bytes, *, at_ms: int
    ) -> None:
        """Delete an end that is not newer than `at_ms`."""
        self._table.delete(edge_key(node_id, direction, edge_type, 0, other), at_ms=at_ms)

    def purge(self, node_id: bytes, direction: bytes, edge_type: int, *, at_ms: int) -> None:
        """Delete all ends of a type, those with a later time than `at_ms` too."""
        prefix = edge_prefix(node_id, direction, edge_type)
        with closing(self._table.scan(prefix, after(prefix))) as rows:
            deletes = [(key, None, max(at_ms, newest_ms(row))) for key, row in rows]
        if deletes:
            self._table.delete_many(deletes)
