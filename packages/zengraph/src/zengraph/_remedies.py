"""The names of commands and settings used in error messages."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Remedies:
    """
    Names of commands and settings that error messages recommend.

    The defaults are for programmers. A program that embeds this library sets the names of its own
    commands and settings, because its operators do not call functions.
    """

    program: str = "zengraph"
    """The name of the program in messages about incompatible versions, and in PostgreSQL."""

    # Commands.
    create: str = "call `create()` of the tables"
    check: str = "call `check()` of the tables"
    upgrade: str = "call `schema.upgrade()` of the tables"
    salvage: str = "call `salvage()` of the tables"
    smaller_record: str = "remove some of its properties, or store large values elsewhere"
    fewer_properties: str = "remove some of its properties"

    # Settings.
    dsn: str = "dsn"
    folder: str = "folder"
    shards: str = "shards"
    pool_size: str = "pool_size"
    timeout: str = "timeout_s"
    pooler: str = "pooler"
    max_lag: str = "max_lag_s"
    compression: str = "compression"
    record_bytes: str = "Schema.limits.size_bytes"
    record_properties: str = "Schema.limits.properties"
    counted: str = "Schema.counted"
    ordered: str = "Schema.ordered"
    packed: str = "Schema.packed"


DEFAULT = Remedies()
