"""HBase for bench.urlstore: a private server, and the bare gateway through plain happybase."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import happybase
import psutil

from aragog.bootstrap.stores import hbase_tables
from aragog.settings import StoreSettings
from aragog.urlstore.record_reader import record_columns
from bench import figures
from deploy.hbase.server import HBaseServer
from zengraph.tables.hbase import HBaseTables


class BareHBase:
    """One connection and one table. Reads the cells of a record."""

    def __init__(self, server: HBaseServer, fields: list[str]) -> None:
        self._processes = [psutil.Process(pid) for pid in server.pids]
        self.connection = happybase.Connection("127.0.0.1", server.ports[0])
        family = {
            "max_versions": 1, "bloom_filter_type": "ROW", "block_cache_enabled": True,
            "compression": "SNAPPY",
        }  # fmt: skip
        self.connection.create_table("bare", {"m": family, "s": family})
        self.table = self.connection.table("bare")
        self.columns = record_columns(fields, info=False)
        self.fields = fields

    def fill(self, keys: list[bytes]) -> None:
        names = [*self.columns, *(b"m:og.%d" % i for i in range(11)), b"s:own", b"s:provenance"]
        with self.table.batch(batch_size=5000) as batch:
            for key in keys:
                batch.put(key, {name: os.urandom(40) for name in names})

    def get(self, key: bytes) -> dict[bytes, bytes]:
        return self.table.row(key, self.columns)

    def server_ms_per_get(self, keys: list[bytes], *, times: int = 10) -> float:
        """
        Return the CPU ms of the gateway and the region server for one `get`, once they
        are warm.
        """
        for key in keys * 3:
            self.get(key)
        before_s = self._cpu_s()
        for key in keys * times:
            self.get(key)
        ms_per_get = (self._cpu_s() - before_s) / len(keys) / times * 1000
        figures.report(hbase_read=ms_per_get)
        return ms_per_get

    def _cpu_s(self) -> float:
        return sum(sum(process.cpu_times()[:2]) for process in self._processes)

    def get_many(self, keys: list[bytes]) -> list[object]:
        return self.table.rows(keys, self.columns)

    def row(self, key: bytes) -> dict[bytes, bytes]:
        return self.table.row(key)

    def put_many(self, rows: Sequence[tuple[bytes, dict[bytes, bytes]]]) -> None:
        with self.table.batch() as batch:
            for key, cells in rows:
                batch.put(key, cells)

    def put(self, key: bytes, cells: dict[bytes, bytes]) -> None:
        """Do the minimum for a put of fields: read what is there, then write."""
        self.get(key)
        self.table.put(key, cells)


@contextmanager
def hbase_engine(fields: list[str]) -> Iterator[tuple[HBaseTables, BareHBase]]:
    """Yield tables of a fresh HBase, and the bare engine on the same server."""
    folder = Path(tempfile.mkdtemp(prefix="aragog-bench-"))
    server = HBaseServer(folder)
    try:
        server.start()
        tables = hbase_tables(StoreSettings(hbase_gateways=server.gateways))
        tables.create()
        yield tables, BareHBase(server, fields)
        tables.close()
    finally:
        server.kill()
        shutil.rmtree(folder, ignore_errors=True)
