"""Applications' graphs (`store.graphs`). Each has its own tables."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from aragog.errors import BadInput
from aragog.runtime.clock import Clock, SystemClock
from zengraph import Graph, Schema
from zengraph.tables import Tables


class ApplicationGraphs:
    """
    The graphs in the settings. Each is opened on first use.

    Args:
        schemas: the graphs' schemas, by name.
        open_tables: opens a graph's tables.
        clock: the graphs' clock; None means the system clock.
    """

    def __init__(
        self,
        schemas: Mapping[str, Schema],
        open_tables: Callable[[str], Tables],
        clock: Clock | None = None,
    ) -> None:
        self._schemas = schemas
        self._open_tables = open_tables
        self._clock = clock or SystemClock()
        self._opened: dict[str, Graph] = {}
        self._lock = threading.Lock()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._schemas)

    def __getitem__(self, name: str) -> Graph:
        """
        Return a graph by name.

        Raises:
            BadInput: there is no such graph.
        """
        graph = self._opened.get(name)
        if graph is not None:
            return graph
        schema = self._schemas.get(name)
        if schema is None:
            raise BadInput(f"graph: there is no graph {name[:100]!r}; add it to store.graphs")
        with self._lock:
            if name not in self._opened:
                tables = self._open_tables(name)
                self._opened[name] = Graph(tables, schema, self._clock)
            return self._opened[name]

    def close(self) -> None:
        with self._lock:
            for graph in self._opened.values():
                graph.close()
            self._opened.clear()


def no_graphs() -> ApplicationGraphs:
    """Return an empty `ApplicationGraphs`."""

    def open_tables(name: str) -> Tables:
        raise AssertionError(name)

    return ApplicationGraphs({}, open_tables)
