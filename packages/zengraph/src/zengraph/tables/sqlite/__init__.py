"""Cell tables on SQLite: files, the layouts of their rows, their health and salvage."""

from zengraph.tables.sqlite.checkpoints import CheckpointTimes
from zengraph.tables.sqlite.health import files_in_use, old_files
from zengraph.tables.sqlite.tables import SqliteTables

__all__ = ["CheckpointTimes", "SqliteTables", "files_in_use", "old_files"]
