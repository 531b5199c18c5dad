"""
The cell tables' schema in PostgreSQL, its version, and checks of the server.

Rows of `n` are packed, as on SQLite: one value contains all cells of a node. The other tables store
each cell as one row. Tables whose keys begin with a hash are partitioned by the key's first byte.
That spreads rows as evenly as PostgreSQL's own hash, and scans still read partitions in key order.
Each partition is vacuumed separately.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

from zengraph._remedies import DEFAULT, Remedies
from zengraph.errors import InvalidConfig, StoreUnavailable
from zengraph.tables import FORMAT, TABLES
from zengraph.tables.postgres.connection import PostgresConnection, Rows, ServerError
from zengraph.tables.postgres.pool import PostgresPool

VERSION = 2
"""The version of new schemas. Programs that do not know the data format `FORMAT` reject it."""
_USABLE = frozenset({1})
"""Earlier versions with the same tables, which need no upgrade."""
OLDEST_SERVER = 15
HASHED = ("n", "e", "o", "l")
"""Tables whose keys begin with a hash."""
PACKED = "n"
_FORM = "format"
"""The key of the data's format in `meta`. If missing, the format is 1."""

UPGRADES: Mapping[int, Callable[[str], str]] = {1: "SELECT 1 FROM {}.meta".format}
"""
Upgrades from version k to k + 1. Each takes the schema's name and returns statements. These run
while processes of the old version use the tables, and must not break those processes.
"""

# An update can put a row's new version into free space of the same page without changing an index
# (a HOT update); the page's next reader prunes old versions. By default, autovacuum starts when a
# fifth of a table is dead, here millions of rows.
_STORAGE = {
    # Nodes are rewritten often. Rows up to half a page stay in the page, outside TOAST tables.
    "n": "fillfactor=70, toast_tuple_target=4080",
    "o": "fillfactor=80",
    "l": "fillfactor=80",
}
_UPDATED = (
    "autovacuum_vacuum_scale_factor=0.05, autovacuum_vacuum_threshold=2000, "
    "autovacuum_analyze_scale_factor=0.1, autovacuum_vacuum_cost_delay=1"
)
# A queue: rows are added at one end and deleted at the other. It needs frequent vacuums, because
# readers must pass all dead rows at the start.
_QUEUED = (
    "autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000, "
    "autovacuum_analyze_scale_factor=0.1, autovacuum_vacuum_cost_delay=0"
)
_QUEUES = ("j", "d", "f")


def statements(schema: str, partitions: int) -> str:
    """Return statements that create the schema and missing tables, and change no existing ones."""
    lines = [
        f"CREATE SCHEMA IF NOT EXISTS {schema}",
        f"CREATE TABLE IF NOT EXISTS {schema}.meta (name text PRIMARY KEY, value text NOT NULL)",
    ]
    for name in TABLES:
        lines += _table(schema, name, partitions)
    for key, value in (
        ("version", str(VERSION)),
        ("partitions", str(partitions)),
        ("identity", secrets.token_hex(8)),
        (_FORM, str(FORMAT)),
    ):
        lines.append(
            f"INSERT INTO {schema}.meta VALUES ('{key}', '{value}') ON CONFLICT DO NOTHING"  # noqa: S608
        )
    return ";\n".join(lines) + ";\n"


def _table(schema: str, name: str, partitions: int) -> Iterator[str]:
    columns = (
        "row bytea, parts smallint NOT NULL, data bytea NOT NULL, PRIMARY KEY (row)"
        if name == PACKED
        else "row bytea, col bytea, at bigint NOT NULL, value bytea NOT NULL, "
        "PRIMARY KEY (row, col)"
    )
    value = "data" if name == PACKED else "value"
    options = f"{_STORAGE.get(name, 'fillfactor=90')}, {_QUEUED if name in _QUEUES else _UPDATED}"
    full = f"{schema}.{name}"
    if name not in HASHED:
        yield f"CREATE TABLE IF NOT EXISTS {full} ({columns}) WITH ({options})"
        yield f"ALTER TABLE {full} ALTER COLUMN {value} SET STORAGE EXTERNAL"
        return
    yield f"CREATE TABLE IF NOT EXISTS {full} ({columns}) PARTITION BY RANGE (row)"
    # Values are stored uncompressed (EXTERNAL), because large ones are already compressed.
    yield f"ALTER TABLE {full} ALTER COLUMN {value} SET STORAGE EXTERNAL"
    for number in range(partitions):
        low, high = bounds(number, partitions)
        yield (
            f"CREATE TABLE IF NOT EXISTS {full}_{number} PARTITION OF {full} "
            f"FOR VALUES FROM ({low}) TO ({high}) WITH ({options})"
        )


def bounds(number: int, partitions: int) -> tuple[str, str]:
    """Return the lower and upper bound of a partition, in PostgreSQL's syntax."""
    step = 256 // partitions
    low = rf"'\x{number * step:02x}'" if number else "MINVALUE"
    high = rf"'\x{(number + 1) * step:02x}'" if number + 1 < partitions else "MAXVALUE"
    return low, high


class TableSchema:
    """
    Creates, checks and upgrades the schema in one database.

    Args:
        pool: connections to the database.
        name: the schema's name, of letters, digits and underscores.
        partitions: number of partitions for new tables.
        upgrades: see `UPGRADES`.
    """

    def __init__(
        self,
        pool: PostgresPool,
        name: str,
        partitions: int,
        upgrades: Mapping[int, Callable[[str], str]] = UPGRADES,
    ) -> None:
        self._pool = pool
        self._words = pool.words
        self.name = name
        self._partitions = partitions
        self._upgrades = upgrades
        self._meta = f"SELECT name, value FROM {name}.meta"  # noqa: S608
        self._newest = VERSION + len(upgrades) - len(UPGRADES)

    def create(self) -> None:
        """
        Create missing tables, in one process at a time.

        Raises:
            InvalidConfig: the schema has another version.
        """
        if not self._facts():
            self._execute(statements(self.name, self._partitions))
        self.require_version()

    def partitions(self) -> int:
        """
        Return the tables' number of partitions; checks the version first.

        Raises:
            InvalidConfig: the schema is missing or has another version.
        """
        return int(self.require_version()["partitions"])

    def identity(self) -> str:
        """Return a random word that identifies this data."""
        return self.require_version()["identity"]

    def form(self) -> int:
        """
        Return the data's format: see `Tables.format`.

        Raises:
            InvalidConfig: the format is newer than this program.
        """
        form = int(self.require_version().get(_FORM, 1))
        if form > FORMAT:
            raise InvalidConfig(
                f"the schema {self.name} has format {form}, written by a later version of "
                f"{self._words.program}; this one reads up to {FORMAT}: install the later one"
            )
        return form

    def check_version(self, connection: PostgresConnection) -> None:
        """Raise InvalidConfig if the schema on a new connection has another version."""
        with suppress(ServerError):  # a missing schema is reported by the first statement
            self._require_version(_texts(connection.read(self._meta)))

    def require_version(self) -> dict[str, str]:
        """
        Return the contents of `meta`.

        Raises InvalidConfig if this program cannot use the schema.
        """
        return self._require_version(self._facts())

    def _require_version(self, facts: dict[str, str]) -> dict[str, str]:
        if not facts:
            raise InvalidConfig(
                f"{self._pool.where} has no schema {self.name}: {self._words.create}"
            )
        version = int(facts["version"])
        if version > self._newest:
            raise InvalidConfig(
                f"the schema {self.name} has version {version}, and this {self._words.program} "
                f"knows versions up to {self._newest}: install the {self._words.program} that "
                "upgraded it; you cannot downgrade it"
            )
        if version < self._newest and version not in _USABLE:
            raise InvalidConfig(
                f"the schema {self.name} has version {version}, and this {self._words.program} "
                f"needs {self._newest}: {self._words.upgrade}; the system may keep running"
            )
        return facts

    def upgrade(self, report: Callable[[str], None] = lambda _: None) -> int:
        """Upgrade the schema, one transaction per version. Returns the new version."""
        while True:
            facts = self._facts()
            version = int(facts["version"]) if facts else self._newest
            if version >= self._newest:
                self.create()
                return version
            report(f"from version {version} to {version + 1}")
            self._execute(
                f"{self._upgrades[version](self.name)};\nUPDATE {self.name}.meta "
                f"SET value='{version + 1}' WHERE name='version' AND value='{version}';\n"
            )

    def problems(self) -> Iterator[str]:
        """Yield problems with the server or its tables, one line each with the remedy."""
        try:
            (values,) = self._read(_FACTS)
        except StoreUnavailable as error:
            yield str(error)
            return
        facts = ServerFacts(*((value or b"").decode() for value in values))
        yield from problems_of_server(facts, self._words)
        yield from self._problems_of_tables(facts.may_create == "true")

    def _problems_of_tables(self, may_create: bool) -> Iterator[str]:
        try:
            self.require_version()
        except InvalidConfig as error:
            if "has no schema" in str(error) and not may_create:
                yield f"the user may not create the schema {self.name}: GRANT CREATE ON DATABASE"
            else:
                yield str(error)
            return
        for name, table in ((name, f"{self.name}.{name}") for name in ("meta", *TABLES)):
            ((here, may_write),) = self._read(
                f"SELECT to_regclass('{table}') IS NOT NULL, coalesce(has_table_privilege("
                f"to_regclass('{table}'), 'SELECT, INSERT, UPDATE, DELETE'), false)"
            )
            if here == b"\0":
                yield f"the table {name} is missing: {self._words.create}"
            elif may_write == b"\0" or not self._all_rights(table):
                yield (
                    f"the user lacks rights on {table}: GRANT SELECT, INSERT, UPDATE, DELETE ON "
                    f"ALL TABLES IN SCHEMA {self.name}"
                )

    def _all_rights(self, table: str) -> bool:
        """
        Return True if the user has all rights. With a list, `has_table_privilege` checks for any of
        them.
        """
        each = " AND ".join(
            f"has_table_privilege('{table}', '{right}')"
            for right in ("SELECT", "INSERT", "UPDATE", "DELETE")
        )
        return self._read(f"SELECT {each}") == [(b"\1",)]

    def close(self) -> None:
        self._pool.close()

    def _facts(self) -> dict[str, str]:
        try:
            return _texts(self._read(self._meta))
        except StoreUnavailable as error:
            cause = error.__cause__
            if isinstance(cause, ServerError) and cause.state in {"42P01", "3F000"}:
                return {}
            raise

    def _read(self, text: str) -> Rows:
        return self._pool.use(lambda connection: connection.read(text))

    def _execute(self, text: str) -> None:
        """Execute statements in a transaction, one process at a time."""
        script = (
            "SET LOCAL statement_timeout = 0;\n"
            f"SELECT pg_advisory_xact_lock(hashtext('{self._words.program} {self.name}'));\n{text}"
        )
        self._pool.use(lambda connection: connection.execute(script), repeatable=False)


class ServerFacts(NamedTuple):
    """A server's and its database's settings and states, as strings (`_FACTS`)."""

    version: str
    """The major version times 10,000, plus the minor version."""
    encoding: str
    is_replica: str
    is_read_only: str
    autovacuum: str
    may_create: str


def problems_of_server(facts: ServerFacts, words: Remedies = DEFAULT) -> Iterator[str]:
    """Yield problems with a server, one line each with the remedy."""
    if int(facts.version) < OLDEST_SERVER * 10_000:
        yield (
            f"the server is PostgreSQL {int(facts.version) // 10_000}: {words.program} needs "
            f"{OLDEST_SERVER} or newer"
        )
    if facts.encoding != "UTF8":
        yield (
            f"the database has the encoding {facts.encoding}, not UTF8: create it again with "
            "ENCODING 'UTF8' TEMPLATE template0"
        )
    if facts.is_replica == "true":
        yield f"the server is a replica: name the primary in {words.dsn}"
    elif facts.is_read_only == "on":
        yield "transactions are read-only by default: set default_transaction_read_only to off"
    if facts.autovacuum != "on":
        yield "autovacuum is off: tables grow without bounds; set autovacuum and track_counts to on"


def _texts(rows: Rows) -> dict[str, str]:
    return {name.decode(): value.decode() for name, value in rows}


_FACTS = """
SELECT current_setting('server_version_num'), current_setting('server_encoding'),
  pg_is_in_recovery()::text, current_setting('default_transaction_read_only'),
  CASE WHEN current_setting('autovacuum') = 'on' AND current_setting('track_counts') = 'on'
  THEN 'on' ELSE 'off' END,
  has_database_privilege(current_database(), 'CREATE')::text
"""
