"""Cell tables on SQLite: files, the layouts of their rows, their health and salvage."""

from zengraph.tables.sqlite.tables import SqliteTables

__all__ = ["SqliteTables"]
