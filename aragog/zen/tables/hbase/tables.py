"""
All cell tables on one HBase cluster: creating, checking and closing them.

`table` reads and writes one of them, `pool` holds the connections to the gateways.
"""

from __future__ import annotations

import secrets
import time
from concurrent.futures import ThreadPoolExecutor

from aragog.errors import ConfigError, StoreUnavailable
from aragog.settings import StoreSettings
from aragog.zen.tables import TABLES, Tables
from aragog.zen.tables.hbase.connection import thrift_api
from aragog.zen.tables.hbase.pool import HBasePool
from aragog.zen.tables.hbase.schema import families, problems, table_name
from aragog.zen.tables.hbase.table import HBaseTable

# Creating a table takes HBase 0.6 s when idle, and much longer on a busy cluster.
CREATE_TIMEOUT_S = 120.0


class HBaseTables(Tables):
    """
    All tables on one HBase. Safe for threads and forks: each process has its own connections.

    Does not connect before the first call.
    """

    def __init__(self, settings: StoreSettings) -> None:
        self._settings = settings
        self._pool = self._new_pool(settings.hbase_timeout_ms / 1000)
        self._tables = {
            name: HBaseTable(self._pool, name, table_name(settings.hbase_prefix, name))
            for name in TABLES
        }

    def __getitem__(self, name: str) -> HBaseTable:
        return self._tables[name]

    def create(self) -> None:
        """
        Create missing tables, one region each (see `schema.shell_commands`); drops nothing.

        Raises:
            ConfigError: HBase does not support that compression.
            StoreUnavailable: HBase did not answer; some tables may have been created.
        """
        pool = self._new_pool(CREATE_TIMEOUT_S)
        try:
            missing = self._missing(pool)
            with ThreadPoolExecutor(max_workers=self._settings.hbase_pool_size) as threads:
                for done in [threads.submit(self._create_one, pool, name) for name in missing]:
                    done.result()
        finally:
            pool.close()

    def identity(self) -> str:
        row, column = b"\0store-identity", b"i:v"
        table = self["u"]
        table.check_and_put(row, column, None, secrets.token_hex(8).encode())
        return table.get(row, [column])[column].value.decode()

    def check(self) -> list[str]:
        """Problems of the tables, one line each with the remedy; empty if there are none."""
        prefix, result = self._settings.hbase_prefix, []
        missing = self._missing(self._pool)
        for name in TABLES:
            full = table_name(prefix, name)
            if name in missing:
                result.append(f"{full.decode()}: is missing: run `aragog store create-tables`")
            elif not self._pool.call("isTableEnabled", full):
                result.append(f"{full.decode()}: is disabled: enable '{full.decode()}'")
            else:
                have = self._pool.call("getColumnDescriptors", full)
                compression = self._settings.hbase_compression
                result.extend(problems(full.decode(), name, have, compression))
        return result

    def close(self) -> None:
        self._pool.close()

    def _new_pool(self, timeout_s: float) -> HBasePool:
        return HBasePool(
            self._settings.hbase_gateways, size=self._settings.hbase_pool_size, timeout_s=timeout_s
        )

    def _missing(self, pool: HBasePool) -> list[str]:
        existing = set(pool.call("getTableNames"))
        prefix = self._settings.hbase_prefix
        return [name for name in TABLES if table_name(prefix, name) not in existing]

    def _create_one(self, pool: HBasePool, name: str) -> None:
        full = table_name(self._settings.hbase_prefix, name)
        compression = self._settings.hbase_compression
        try:
            pool.call("createTable", full, families(name, compression), repeatable=False)
        except StoreUnavailable as error:
            message = str(getattr(error.__cause__, "message", ""))
            if isinstance(error.__cause__, thrift_api.AlreadyExists) or "TableExists" in message:
                self._wait_until_enabled(pool, full)
                return
            if "ompression" in message:
                raise ConfigError(
                    f"store.hbase_compression: HBase does not support {compression} "
                    f"(SNAPPY, GZ and NONE need no further jars): {error.reason}"
                ) from error
            raise

    def _wait_until_enabled(self, pool: HBasePool, full: bytes) -> None:
        """Another process is creating it at this moment; takes about a second."""
        until_s = time.monotonic() + CREATE_TIMEOUT_S
        while not pool.call("isTableEnabled", full):
            if time.monotonic() > until_s:
                raise StoreUnavailable(full.decode(), "is being created and is not ready yet")
            time.sleep(0.1)
