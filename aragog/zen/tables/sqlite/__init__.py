"""Cell tables on SQLite: files, the layouts of their rows, their health and salvage."""

from aragog.zen.tables.sqlite.tables import SqliteTables

__all__ = ["SqliteTables"]
