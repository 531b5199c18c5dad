"""Open the application graphs that the settings declare (`store.graphs`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from aragog.api.operations.graphs import ApplicationGraphs
from aragog.bootstrap.stores import sqlite_tables, tables
from aragog.bootstrap.timed_stores import TimedTables
from aragog.settings import Settings, StoreSettings
from aragog.urlstore.nodes import CANONICAL, CANONICAL_URL
from aragog.urlstore.zen_remedies import REMEDIES
from zengraph import Limits, Schema
from zengraph.tables import Tables

_FILES_PER_GRAPH = 4
"""How many SQLite files a graph has. This is part of the stored format."""


def application_graphs(settings: Settings) -> ApplicationGraphs:
    """Return the graphs. With an embedded engine, each creates its tables when it is opened."""

    def open_tables(name: str) -> Tables:
        engine = TimedTables(graph_tables(settings, name))
        if settings.store.is_embedded:
            engine.create()
        return engine

    return ApplicationGraphs(schemas(settings.store), open_tables)


def graph_tables(settings: Settings, name: str) -> Tables:
    """
    Return a graph's tables on the store's engine.

    They are in the folder `graphs/<name>` on SQLite, in the schema `<postgres_schema>_g_<name>` on
    PostgreSQL, and have the prefix `<hbase_prefix>g_<name>_` on HBase.
    """
    store = settings.store
    if store.engine == "sqlite":
        return sqlite_tables(settings.data_dir / "graphs" / name, _FILES_PER_GRAPH)
    return tables(graph_settings(settings, name))


def graph_settings(settings: Settings, name: str) -> Settings:
    """Return the settings with a graph's table names for PostgreSQL and HBase."""
    store = settings.store
    graph_store = replace(
        store,
        postgres_schema=f"{store.postgres_schema}_g_{name}",
        hbase_prefix=f"{store.hbase_prefix}g_{name}_",
    )
    return replace(settings, store=graph_store)


def schemas(store: StoreSettings) -> dict[str, Schema]:
    """Return the schema of each graph."""
    return {
        name: Schema(
            unique=tuple(_entries_for_graph(name, store.graph_unique)),
            indexed=tuple(_entries_for_graph(name, store.graph_indexed)),
            counted=tuple(map(int, _entries_for_graph(name, store.graph_counted))),
            ordered=tuple(map(int, _entries_for_graph(name, store.graph_ordered))),
            packed=tuple(map(int, _entries_for_graph(name, store.graph_packed))),
            sorted=tuple(_entries_for_graph(name, store.graph_sorted)),
            columns={CANONICAL_URL: CANONICAL},
            limits=Limits(store.max_record_bytes, store.max_record_fields),
            remedies=REMEDIES,
        )
        for name in store.graphs
    }


def _entries_for_graph(name: str, entries: tuple[str, ...]) -> Iterator[str]:
    for entry in entries:
        graph, _, value = entry.partition(":")
        if graph == name:
            yield value
