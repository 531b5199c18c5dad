"""
A fetch report as a cell of the node of the URL that was requested. Pure.

Compressed it has usually 0.5 to 1 KB. Reads of fields do not decode it.
"""

from __future__ import annotations

import orjson

from aragog.errors import CorruptRow
from aragog.fetcher.outcome import FetchRecord
from aragog.zen.zstd import ZstdError, compress, decompress

LEVEL = 3


def to_cell(report: FetchRecord) -> bytes:
    """The report as stored."""
    return compress(orjson.dumps(report), LEVEL)


def from_cell(cell: bytes, row: str) -> FetchRecord:
    """
    The report again; `row` names its node in errors.

    Raises:
        CorruptRow: it was not written by `to_cell`.
    """
    try:
        return FetchRecord.read(orjson.loads(decompress(cell)))
    except (ZstdError, orjson.JSONDecodeError, KeyError, TypeError, ValueError) as error:
        raise CorruptRow("n", row, f"fetch report: {error}") from error
