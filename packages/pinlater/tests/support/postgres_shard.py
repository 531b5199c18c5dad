"""A PinLater shard on PostgreSQL that lets a test move time forward."""

from __future__ import annotations

from pinlater.postgres.link import SqlCall
from pinlater.postgres.shard import PostgresShard

TABLES = (
    "queue", "job", "ready", "running", "ended", "held_key", "frame", "item", "wide", "collecting",
    "stat", "listener",
)  # fmt: skip
INSTANTS = (
    ("ready", "due"), ("wide", "due"), ("job", "due"), ("frame", "due"), ("running", "until"),
    ("ended", "at"), ("queue", "filled_at"),
)  # fmt: skip
# With few rows, deleting them is cheaper than TRUNCATE, which makes new files for each table.
EMPTY = [SqlCall(f"DELETE FROM pinlater.{table}") for table in TABLES]
CREATED = """
UPDATE pinlater.job SET head = convert_to(array_to_string(
  part[1:3] || (part[4]::bigint - {ms})::text || part[5:], '|'), 'UTF8')
FROM (SELECT id, string_to_array(convert_from(head, 'UTF8'), '|') AS part FROM pinlater.job) x
WHERE x.id = job.id
"""
RESTART = SqlCall("ALTER SEQUENCE pinlater.number RESTART")


class PostgresWorld:
    """See `pinlater.testing.shard.ShardWorld`."""

    def __init__(self, dsn: str) -> None:
        self.shard = PostgresShard(dsn, timeout_s=60)

    def empty(self) -> None:
        self.shard.run_all([*EMPTY, RESTART])

    def pass_ms(self, ms: int) -> None:
        changes = [
            SqlCall(f"UPDATE pinlater.{table} SET {instant} = {instant} - {ms}")
            for table, instant in INSTANTS
        ]
        self.shard.run_all([*changes, SqlCall(CREATED.format(ms=ms))])
