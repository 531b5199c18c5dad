"""
The file that a run finds where it is told to write: how many records it has, and of which pages.

A run that reaches fewer pages than an earlier one must not delete the records of the others.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import orjson
import zstandard

from aragog.errors import ALL
from aragog.transfer.json_lines import open_to_read

MAX_LINE_BYTES = 1 << 26


class EarlierOutput(NamedTuple):
    """What a file holds."""

    records: int | None
    """How many records it has; None: it cannot be read to its end, so it is not known."""
    urls: frozenset[str] | None = None
    """The URLs of its records; None: some records have none, or it cannot be read."""


def read_earlier(file: Path) -> EarlierOutput:
    """What a file of `aragog run -O` holds; no records for a file that does not exist."""
    if not file.exists():
        return EarlierOutput(0, frozenset())
    try:
        urls = list(_parquet_urls(file) if file.suffix == ".parquet" else _json_urls(file))
    except (*ALL, OSError, EOFError, ValueError, zlib.error, zstandard.ZstdError):
        return EarlierOutput(None)
    named = frozenset(url for url in urls if url is not None)
    return EarlierOutput(len(urls), named if None not in urls else None)


def _json_urls(file: Path) -> Iterator[str | None]:
    with closing(open_to_read(file)) as stream:
        while line := stream.readline(MAX_LINE_BYTES):
            record = orjson.loads(line)
            url = record.get("url") if isinstance(record, dict) else None
            yield url if isinstance(url, str) else None


def _parquet_urls(file: Path) -> Iterator[str | None]:
    import pyarrow.parquet as pq  # noqa: PLC0415 - an extra, and 0.2 s

    with pq.ParquetFile(file) as table:
        if "url" not in table.schema_arrow.names:
            yield from [None] * table.metadata.num_rows
            return
        for batch in table.iter_batches(columns=["url"]):
            yield from batch.column(0).to_pylist()


def free_name(file: Path) -> Path:
    """The first name beside a file that nothing has: `pages-2.jsonl.gz` beside `pages.jsonl.gz`."""
    stem, ending = file.name.partition(".")[0], "".join(file.suffixes)
    number = 2
    while (other := file.with_name(f"{stem}-{number}{ending}")).exists():
        number += 1
    return other
