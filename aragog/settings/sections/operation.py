"""Logs, and the standalone system."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal


@dataclass(frozen=True, slots=True)
class CrawlLogSettings:
    """The crawl log: a row for each fetch, in Parquet files (docs/operations.md)."""

    engine: Literal["off", "folder", "s3"] = "off"
    """Where the files go. `s3` uses endpoint, region and limits of `[content]`."""
    folder: Path | None = None
    """Empty: `data_dir`/crawl-log. All workers of `upkeep` need the same folder."""
    s3_bucket: str = ""
    """An existing bucket; not that of `content.s3_bucket`."""
    s3_prefix: str = "crawl-log/"
    """Prefix of every key."""
    span_s: int = 300
    """Time that one file covers. Rows wait in Redis until then, about 500 bytes each."""


@dataclass(frozen=True, slots=True)
class LogSettings:
    """Logs of all processes."""

    level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "WARNING"
    """`INFO` has a line for each URL in each stage, with its request id."""
    format: Literal["console", "json"] = "console"
    """`json`: one object a line."""
    max_bytes: int = 52_428_800
    """A log of the standalone system that is larger is rotated."""
    kept: int = 3
    """Rotated logs to keep of each process: `fetch.log.1` is the newest."""


@dataclass(frozen=True, slots=True)
class StandaloneSettings:
    """The standalone system."""

    redis_max_memory_bytes: int | None = None
    """
    `maxmemory` of the private redis-server: from 80 % of it on enqueueing is refused.
    Empty: half of the machine's memory.
    """
