"""Write and read rows in Parquet files, with pyarrow (the extra `parquet`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from aragog.runtime.extras import require
from aragog.transfer.rows.tables import Kinds, Rows, build_table, exact_json

BATCH_ROWS = 500


def write_parquet(rows: Rows, file: Path, names: Sequence[str]) -> int:
    """
    Write a zstd-compressed file. Columns have the narrowest type that fits, or else JSON as
    text.
    """
    require("parquet", "a Parquet file")
    import pyarrow as pa  # noqa: PLC0415 - an extra; takes 0.2 s
    import pyarrow.parquet  # noqa: PLC0415

    columns, rows = build_table(rows, names)
    schema = pa.schema([(name, _arrow_type(pa, kinds)) for name, kinds in columns.items()])
    count, remaining_rows = 0, rows()
    with pa.parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        while batch := list(islice(remaining_rows, BATCH_ROWS)):
            cells = {
                field.name: pa.array(
                    [_cell(row.get(field.name), field.type) for row in batch], field.type
                )
                for field in schema
            }
            writer.write_table(pa.table(cells, schema=schema))
            count += len(batch)
    return count


def _arrow_type(arrow: Any, kinds: Kinds) -> Any:
    types = {"bool": arrow.bool_(), "int": arrow.int64(), "strings": arrow.list_(arrow.string())}
    if kinds <= {"int", "float"} and "float" in kinds:
        return arrow.float64()
    return types.get(next(iter(kinds)), arrow.string()) if len(kinds) == 1 else arrow.string()


def _cell(value: Any, arrow_type: Any) -> Any:
    if value is None:
        return None
    if str(arrow_type) == "string" and not isinstance(value, str):
        return orjson.dumps(value, default=exact_json).decode()
    return float(value) if str(arrow_type) == "double" else value


def parquet_urls(file: Path, column: str) -> Iterator[str | None]:
    """Yield the URL of each row."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - an extra; takes 0.2 s

    with pq.ParquetFile(file) as table:
        if column not in table.schema_arrow.names:
            yield from [None] * table.metadata.num_rows
            return
        for batch in table.iter_batches(columns=[column]):
            yield from batch.column(0).to_pylist()
