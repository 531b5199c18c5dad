"""
All cell tables on one HBase cluster.

HBase's defaults for Thrift are poor for point reads: no bloom filter, no block cache, three
versions, no compression. Thrift 1 cannot pre-split a table, choose a block encoding or change a
family, so create a large store's tables in the hbase shell (`shell_commands`).
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

from zengraph._remedies import DEFAULT, Remedies
from zengraph.errors import InvalidConfig, StoreUnavailable
from zengraph.tables import FORMAT, OWN_ROWS, TABLES, Tables
from zengraph.tables.hbase.connection import thrift_api
from zengraph.tables.hbase.pool import HBasePool
from zengraph.tables.hbase.table import HBaseTable

# Tables whose keys begin with a hash, and those whose keys begin with a bucket (0 to 15). Keys of
# `u` begin with property names of unknown distribution, so HBase splits `u` as it grows.
HASHED = ("n", "e", "o", "l")
BUCKETED = ("j", "i", "d", "h", "f")


_IDENTITY, _FORM = OWN_ROWS
_VALUE = b"i:v"


def table_name(prefix: str, name: str) -> bytes:
    """Return the table's name in HBase."""
    return f"{prefix}{name}".encode()


def families(name: str, compression: str) -> list[thrift_api.ColumnDescriptor]:
    """Return Thrift's descriptors of a table's families."""
    return [
        thrift_api.ColumnDescriptor(
            name=f"{family}:".encode(),
            maxVersions=1,
            compression=compression,
            bloomFilterType="ROW",
            blockCacheEnabled=True,
        )
        for family in TABLES[name]
    ]


def problems(table: str, name: str, result: Mapping[bytes, Any], compression: str) -> Iterator[str]:
    """Yield problems with a table's families, one line each with the remedy."""
    by_name = {key.rstrip(b":").decode(): value for key, value in result.items()}
    for family in TABLES[name]:
        actual = by_name.get(family)
        if actual is None:
            yield f"{table}: has no family {family}: alter '{table}', {{NAME => '{family}', …}}"
            continue
        expected = {
            "VERSIONS": (actual.maxVersions, 1),
            "BLOOMFILTER": (_text(actual.bloomFilterType), "ROW"),
            "BLOCKCACHE": (actual.blockCacheEnabled, True),
            "COMPRESSION": (_text(actual.compression), compression),
        }
        for option, (value, needed) in expected.items():
            if value != needed:
                new = f"'{needed}'" if isinstance(needed, str) else str(needed).lower()
                yield (
                    f"{table}: {option} of family {family} is {value}, not {needed}: in the hbase "
                    f"shell, alter '{table}', {{NAME => '{family}', {option} => {new}}}"
                )


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value


def shell_commands(prefix: str, compression: str, regions: int = 16) -> str:
    """
    Return hbase shell commands that create all tables, split into `regions`.

    Tables keyed by hashes are split evenly; tables keyed by buckets get a region per bucket. All
    families are enabled for replication, which costs nothing without a peer. If someone enables
    replication later and forgets a table, that table stays empty at the peer.
    """
    lines = []
    for name in TABLES:
        options = (
            f"VERSIONS => 1, BLOOMFILTER => 'ROW', COMPRESSION => '{compression}', "
            "DATA_BLOCK_ENCODING => 'FAST_DIFF', REPLICATION_SCOPE => 1"
        )
        parts = [f"{{NAME => '{family}', {options}}}" for family in TABLES[name]]
        if name in BUCKETED:
            parts.append("SPLITS => [" + ", ".join(f'"\\x{n:02x}"' for n in range(1, 16)) + "]")
        elif name in HASHED and regions > 1:
            parts.append(f"{{NUMREGIONS => {regions}, SPLITALGO => 'UniformSplit'}}")
        lines.append(f"create '{prefix}{name}', {', '.join(parts)}")
    return "\n".join(lines) + "\n"


# HBase takes 0.6 s to create a table, and much longer on a busy cluster.
CREATE_TIMEOUT_S = 120.0


class HBaseTables(Tables):
    """
    All tables on one HBase cluster. Thread-safe; may be used across a fork.

    Does not connect before the first call.

    Args:
        gateways: `host:port` of each Thrift 1 gateway.
        prefix: prefix of the table names.
        compression: compression of new column families.
        pool_size: maximum number of connections of this process.
        timeout_s: limit for one call.
        remedies: names of commands and settings for error messages.
    """

    def __init__(
        self,
        gateways: Sequence[str],
        *,
        prefix: str = "zengraph_",
        compression: str = "SNAPPY",
        pool_size: int = 16,
        timeout_s: float = 10.0,
        remedies: Remedies = DEFAULT,
    ) -> None:
        self._gateways = gateways
        self._prefix = prefix
        self._compression = compression
        self._pool_size = pool_size
        self._remedies = remedies
        self._pool = self._new_pool(timeout_s)
        self._tables = {
            name: HBaseTable(self._pool, name, table_name(prefix, name)) for name in TABLES
        }

    def __getitem__(self, name: str) -> HBaseTable:
        return self._tables[name]

    def create(self) -> None:
        """
        Create missing tables, one region each (see `shell_commands`).

        A store without nodes gets the format `FORMAT`. Safe to repeat.

        Raises:
            InvalidConfig: HBase does not support the compression.
            StoreUnavailable: HBase did not respond; some tables may have been created.
        """
        pool = self._new_pool(CREATE_TIMEOUT_S)
        try:
            missing = self._find_missing(pool)
            with ThreadPoolExecutor(max_workers=self._pool_size) as threads:
                for creation in [threads.submit(self._create_one, pool, name) for name in missing]:
                    creation.result()
            self._store_format()
        finally:
            pool.close()

    def _store_format(self) -> None:
        """Store the format if missing: `FORMAT` if there are no nodes, otherwise 1."""
        with closing(self["n"].scan(b"", None, limit=1)) as rows:
            form = FORMAT if next(rows, None) is None else 1
        self["u"].check_and_put(_FORM, _VALUE, None, b"%d" % form)

    def format(self) -> int:
        cell = self["u"].get(_FORM, [_VALUE]).get(_VALUE)
        form = int(cell.value) if cell else 1
        if form > FORMAT:
            raise InvalidConfig(
                f"the tables {self._prefix}* have format {form}, written by a later version of "
                f"{self._remedies.program}; this one reads up to {FORMAT}: install the later one"
            )
        return form

    def identity(self) -> str:
        table = self["u"]
        table.check_and_put(_IDENTITY, _VALUE, None, secrets.token_hex(8).encode())
        return table.get(_IDENTITY, [_VALUE])[_VALUE].value.decode()

    def check(self) -> list[str]:
        prefix, result = self._prefix, []
        missing = self._find_missing(self._pool)
        for name in TABLES:
            full_name = table_name(prefix, name)
            if name in missing:
                result.append(f"{full_name.decode()}: is missing: {self._remedies.create}")
            elif not self._pool.call("isTableEnabled", full_name):
                result.append(f"{full_name.decode()}: is disabled: enable '{full_name.decode()}'")
            else:
                have = self._pool.call("getColumnDescriptors", full_name)
                result.extend(problems(full_name.decode(), name, have, self._compression))
        return result

    def close(self) -> None:
        self._pool.close()

    def _new_pool(self, timeout_s: float) -> HBasePool:
        return HBasePool(
            self._gateways, size=self._pool_size, timeout_s=timeout_s, words=self._remedies
        )

    def _find_missing(self, pool: HBasePool) -> list[str]:
        existing = set(pool.call("getTableNames"))
        prefix = self._prefix
        return [name for name in TABLES if table_name(prefix, name) not in existing]

    def _create_one(self, pool: HBasePool, name: str) -> None:
        full_name = table_name(self._prefix, name)
        compression = self._compression
        try:
            pool.call("createTable", full_name, families(name, compression), repeatable=False)
        except StoreUnavailable as error:
            message = str(getattr(error.__cause__, "message", ""))
            if isinstance(error.__cause__, thrift_api.AlreadyExists) or "TableExists" in message:
                self._wait_until_enabled(pool, full_name)
                return
            if "ompression" in message:
                raise InvalidConfig(
                    f"{self._remedies.compression}: HBase does not support {compression} "
                    f"(SNAPPY, GZ and NONE need no additional jars): {error.reason}"
                ) from error
            raise

    def _wait_until_enabled(self, pool: HBasePool, full_name: bytes) -> None:
        """Wait for another process to create the table, which takes about a second."""
        deadline_s = time.monotonic() + CREATE_TIMEOUT_S
        while not pool.call("isTableEnabled", full_name):
            if time.monotonic() > deadline_s:
                raise StoreUnavailable(full_name.decode(), "is being created and is not ready yet")
            time.sleep(0.1)
