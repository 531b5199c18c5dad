"""Open the configured store, with every operation on it measured (`timed_stores`)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aragog.bootstrap.timed_stores import TimedContent, TimedPacks, TimedTables
from aragog.crawl.pipeline.site_rules import install_site_rules
from aragog.observability.instruments import READ_CACHE_READS
from aragog.runtime.clock import Clock, SystemClock
from aragog.runtime.extras import require
from aragog.settings import Settings, StoreSettings
from aragog.settings.extractor_names import field_prefix
from aragog.urlstore.content import open_content, open_packs
from aragog.urlstore.store import UrlStore
from aragog.urlstore.zen_remedies import HBASE_REMEDIES, REMEDIES
from zengraph.tables import Tables
from zengraph.tables.memory import MemoryTables
from zengraph.tables.read_cache import CachedTables, ReadCache

if TYPE_CHECKING:  # imports of optional dependencies
    from zengraph.tables.hbase import HBaseTables
    from zengraph.tables.postgres import PostgresTables


def tables(settings: Settings) -> Tables:
    """Return the cell tables (tables with rows of named cells) on the configured engine."""
    store = settings.store
    if store.engine == "memory":
        return MemoryTables()
    if store.engine == "hbase":
        require("hbase", 'store.engine = "hbase"')
        return hbase_tables(store)
    if store.engine == "postgres":
        require("postgres", 'store.engine = "postgres"')
        return postgres_tables(replace(store, dsn=settings.store_dsn))
    return sqlite_tables(settings.data_dir / "store", store.sqlite_shards)


def sqlite_tables(folder: Path, shards: int) -> Tables:
    """Return the cell tables in a folder of SQLite files."""
    from zengraph.tables.sqlite import SqliteTables  # noqa: PLC0415 - only where used

    return SqliteTables(folder, shards=shards, remedies=REMEDIES)


def hbase_tables(store: StoreSettings) -> HBaseTables:
    """Return the cell tables on HBase, which connect on first use."""
    from zengraph.tables.hbase import HBaseTables  # noqa: PLC0415 - takes 80 ms to import

    return HBaseTables(
        store.hbase_gateways,
        prefix=store.hbase_prefix,
        compression=store.hbase_compression,
        pool_size=store.hbase_pool_size,
        timeout_s=store.hbase_timeout_ms / 1000,
        remedies=HBASE_REMEDIES,
    )


def postgres_tables(store: StoreSettings, **options: Any) -> PostgresTables:
    """
    Return the cell tables on PostgreSQL, which connect on first use. `options` are arguments that
    only this engine takes.
    """
    from zengraph.tables.postgres import PostgresTables  # noqa: PLC0415 - optional package

    return PostgresTables(
        store.dsn,
        schema=store.postgres_schema,
        partitions=store.postgres_partitions,
        pool_size=store.postgres_pool_size,
        timeout_s=store.postgres_timeout_ms / 1000,
        pooler=store.postgres_pooler,
        remedies=REMEDIES,
        **options,
    )


def schema_commands(settings: Settings, *, regions: int) -> str:
    """
    Return HBase shell commands that create the tables with split regions.

    Raises:
        ConfigError: the extra `hbase` is not installed.
    """
    require("hbase", "this schema")
    from zengraph.tables.hbase import shell_commands  # noqa: PLC0415 - optional package

    store = settings.store
    return shell_commands(store.hbase_prefix, store.hbase_compression, regions=regions)


def upgrade_store(settings: Settings, report: Callable[[str], None]) -> str:
    """
    Upgrade the store's schema to this program's version, and return a description of what was done.

    Args:
        settings: the settings, including those of the store.
        report: called with a line of text before each slow step.

    Raises:
        ConfigError: a newer version of the program has already upgraded the schema.
    """
    engine = tables(settings)
    with closing(engine):
        if settings.store.engine != "postgres":
            return f"nothing to do: {settings.store.engine} stores have the version in each row"
        version = engine.schema.upgrade(report)  # type: ignore[attr-defined]  # of PostgresTables
    return f"the schema {settings.store.postgres_schema} has version {version}"


def current_files(settings: Settings) -> list[Path]:
    """Return the embedded store's files that are in use, or an empty list for other engines."""
    if settings.store.engine != "sqlite":
        return []
    from zengraph.tables.sqlite import files_in_use  # noqa: PLC0415 - only where used

    return files_in_use(settings.data_dir.absolute() / "store")


def replaced_files(settings: Settings) -> list[Path]:
    """Return the damaged files of the embedded store that a repair has replaced but kept."""
    if settings.store.engine != "sqlite":
        return []
    from zengraph.tables.sqlite import old_files  # noqa: PLC0415 - only where used

    return old_files(settings.data_dir / "store")


def url_store(settings: Settings, clock: Clock | None = None) -> UrlStore:
    """Open the UrlStore. This creates its tables if the engine is embedded."""
    engine = TimedTables(tables(settings))
    if settings.store.is_embedded:
        engine.create()
    return _open_store(engine, settings, clock)


def serving_store(settings: Settings) -> UrlStore:
    """Open the UrlStore for an API process. It caches plain reads for `serving.read_cache_s`."""
    serving, engine = settings.serving, TimedTables(tables(settings))
    if settings.store.is_embedded:
        engine.create()
    if serving.read_cache_s > 0:
        cache = ReadCache(serving.read_cache_s, serving.read_cache_bytes, on_read=_count_reads)
        return _open_store(CachedTables(engine, cache), settings, None)
    return _open_store(engine, settings, None)


def replica_store(settings: Settings) -> UrlStore:
    """Open the UrlStore for reads on the replica (`serving.standby_dsn`)."""
    return _open_store(TimedTables(replica_tables(settings)), settings, None)


def replica_tables(settings: Settings) -> Tables:
    """Return the cell tables on the replica (`serving.standby_dsn`)."""
    require("postgres", "serving.standby_dsn")
    store = replace(settings.store, dsn=settings.serving.standby_dsn)
    return postgres_tables(store, max_lag_s=settings.serving.standby_max_lag_s)


def _open_store(engine: Tables, settings: Settings, clock: Clock | None) -> UrlStore:
    install_site_rules(settings)
    content = TimedContent(open_content(settings.content, settings.data_dir))
    formats = {f"{field_prefix(name)}.*": "json" for name in settings.pipeline.extractors}
    store = replace(settings.store, field_formats={**formats, **settings.store.field_formats})
    return UrlStore(
        engine,
        content,
        store,
        clock or SystemClock(),
        settings.refresh,
        packs=TimedPacks(open_packs(settings.content, settings.data_dir)),
        content_settings=settings.content,
    )


_HITS, _MISSES = READ_CACHE_READS.labels("hit"), READ_CACHE_READS.labels("miss")


def _count_reads(hits: int, misses: int) -> None:
    _HITS.add(hits)
    if misses:
        _MISSES.add(misses)
