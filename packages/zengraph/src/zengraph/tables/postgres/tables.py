"""
All cell tables in one schema of a PostgreSQL database.

Any number of machines may write. Acknowledged writes are committed. The server's
`synchronous_commit` determines how many of them a power cut or failover can lose.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from zengraph._remedies import DEFAULT, Remedies
from zengraph.clock import Clock
from zengraph.tables import TABLES, CellTable, Put, Tables
from zengraph.tables.postgres.cells import CellRows
from zengraph.tables.postgres.nodes import NodeRows
from zengraph.tables.postgres.partitions import Partitions
from zengraph.tables.postgres.pool import PostgresPool, ReplicaPool
from zengraph.tables.postgres.schema import HASHED, PACKED, UPGRADES, TableSchema


class PostgresTables(Tables):
    """
    All tables. Thread-safe; may be used across a fork. Does not connect before the first call.

    Args:
        dsn: a libpq connection string, either a URL or `key=value` pairs.
        schema: the schema's name, of letters, digits and underscores.
        partitions: number of partitions of large tables; fixed once they exist.
        pool_size: maximum number of connections of this process.
        timeout_s: limit for one call.
        pooler: True behind a pooler in transaction mode.
        max_lag_s: for a replica, the maximum lag in seconds, above which calls fail. None for a
            primary.
        clock: the clock of `check_and_put` and `incr`. None for the server's clock.
        upgrades: see `UPGRADES`.
        remedies: names of commands and settings for error messages.
    """

    def __init__(
        self,
        dsn: str,
        *,
        schema: str = "zengraph",
        partitions: int = 16,
        pool_size: int = 16,
        timeout_s: float = 10.0,
        pooler: bool = False,
        max_lag_s: float | None = None,
        clock: Clock | None = None,
        upgrades: Mapping[int, Callable[[str], str]] = UPGRADES,
        remedies: Remedies = DEFAULT,
    ) -> None:
        kind = PostgresPool if max_lag_s is None else partial(ReplicaPool, max_lag_s=max_lag_s)
        # The dsn may hide its text when printed; `str.__str__` returns the text.
        new_pool = partial(
            kind, str.__str__(dsn), timeout_s=timeout_s, pooler=pooler, words=remedies
        )
        # The schema needs its own pool, because the other one rejects old versions, which `upgrade`
        # must read.
        self.schema = TableSchema(new_pool(size=1), schema, partitions, upgrades)
        self._pool = new_pool(size=pool_size, opened=self.schema.check_version)
        partitions_of = {
            table: Partitions(schema, table, self.schema.partitions if table in HASHED else None)
            for table in TABLES
        }
        self._nodes = NodeRows(self._pool, partitions_of.pop(PACKED), clock)
        self._others = {
            table: CellRows(self._pool, each, clock) for table, each in partitions_of.items()
        }

    def __getitem__(self, name: str) -> CellTable:
        return self._nodes if name == PACKED else self._others[name]

    def write(self, puts: Sequence[Put]) -> None:
        """See `Tables.write`. Writes in one transaction, usually with one round trip."""
        by_table: dict[str, list[tuple[bytes, Mapping[bytes, bytes], int]]] = {}
        for name, row, cells, at_ms in puts:
            by_table.setdefault(name, []).append((row, cells, at_ms))
        calls = self._nodes.puts(by_table.pop(PACKED, []))
        count = len(calls)
        for name in sorted(by_table):
            calls += self._others[name].puts(by_table[name])
        if calls:
            results = self._pool.run(calls)
            self._nodes.merge_parts([row for rows in results[:count] for (row,) in rows])

    def create(self) -> None:
        """
        Create missing tables.

        Raises:
            InvalidConfig: the schema has another version.
            StoreUnavailable: the server does not respond, or the user may not create tables.
        """
        self.schema.create()

    def format(self) -> int:
        return self.schema.form()

    def identity(self) -> str:
        return self.schema.identity()

    def check(self) -> list[str]:
        return list(self.schema.problems())

    def close(self) -> None:
        self._pool.close()
        self.schema.close()
