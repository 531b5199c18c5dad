"""Open the store that the settings name."""

from __future__ import annotations

from dataclasses import replace

from aragog.bootstrap.timed_store import timed_content, timed_tables
from aragog.clock import Clock, SystemClock
from aragog.extras import require
from aragog.pipeline.site_rules import take_up_site_rules
from aragog.settings import Settings
from aragog.urlstore.content import open_content
from aragog.urlstore.store import UrlStore
from aragog.zen.tables import Tables
from aragog.zen.tables.memory import MemoryTables


def tables(settings: Settings) -> Tables:
    """The cell tables of the engine that the settings name."""
    store = settings.store
    if store.engine == "memory":
        return MemoryTables()
    if store.engine == "hbase":
        require("hbase", 'store.engine = "hbase"')
        from aragog.zen.tables.hbase import HBaseTables  # noqa: PLC0415 - 80 ms, only where used

        return HBaseTables(store)
    from aragog.zen.tables.sqlite import SqliteTables  # noqa: PLC0415 - only where used

    return SqliteTables(settings.data_dir / "store", shards=store.sqlite_shards)


def url_store(settings: Settings, clock: Clock | None = None) -> UrlStore:
    """The UrlStore. Creates its tables if the storage engine is embedded."""
    take_up_site_rules(settings)
    engine = timed_tables(tables(settings))
    if settings.store.engine != "hbase":
        engine.create()
    content = timed_content(open_content(settings.content, settings.data_dir))
    formats = {f"{name}.*": "json" for name in settings.pipeline.extractors}
    store = replace(settings.store, field_formats={**formats, **settings.store.field_formats})
    return UrlStore(engine, content, store, clock or SystemClock(), settings.refresh)
