"""
A fetch report as a cell of the node of the URL that was requested. Pure.

Compressed it has usually 0.5 to 1 KB. Reads of fields do not decode it.
"""

from __future__ import annotations

import orjson

from aragog.errors import CorruptRow
from aragog.urlstore.fetch_report import FetchReport, from_json
from aragog.zen.zstd import ZstdError, compress, decompress

LEVEL = 3


def to_cell(report: FetchReport) -> bytes:
    """The report as stored."""
    return compress(orjson.dumps(report), LEVEL)


def from_cell(cell: bytes, row: str) -> FetchReport:
    """
    The report again; `row` names its node in errors.

    Raises:
        CorruptRow: it was not written by `to_cell`.
    """
    try:
        return from_json(orjson.loads(decompress(cell)))
    except (ZstdError, orjson.JSONDecodeError, KeyError, TypeError, ValueError) as error:
        raise CorruptRow("n", row, f"fetch report: {error}") from error
