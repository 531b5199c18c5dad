"""The commands and settings that the graph's error messages recommend."""

from __future__ import annotations

from dataclasses import replace

from zengraph import Remedies

REMEDIES = Remedies(
    program="aragog",
    create="run `aragog store create-tables`",
    check="see `aragog doctor`",
    upgrade="run `aragog store upgrade`",
    salvage="run `aragog store repair`",
    smaller_record="delete some of its fields, or put large values in the content store",
    fewer_properties="delete some of its fields",
    dsn="store.dsn",
    folder="data_dir",
    shards="store.sqlite_shards",
    pool_size="store.postgres_pool_size",
    timeout="store.postgres_timeout_ms",
    pooler="store.postgres_pooler",
    max_lag="serving.standby_max_lag_s",
    compression="store.hbase_compression",
    record_bytes="store.max_record_bytes",
    record_properties="store.max_record_fields",
    counted="store.graph_counted",
    ordered="store.graph_ordered",
    packed="store.graph_packed",
)
"""For SQLite and PostgreSQL; `HBASE_REMEDIES` is for HBase."""
HBASE_REMEDIES = replace(
    REMEDIES, pool_size="store.hbase_pool_size", timeout="store.hbase_timeout_ms"
)
