"""Cell tables on SQLite: files, row layouts, detection of damaged files, and salvage."""

from zengraph.tables.sqlite.checkpoints import CheckpointTimes
from zengraph.tables.sqlite.health import files_in_use, old_files
from zengraph.tables.sqlite.tables import SqliteTables

__all__ = ["CheckpointTimes", "SqliteTables", "files_in_use", "old_files"]
