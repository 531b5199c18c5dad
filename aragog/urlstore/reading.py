"""From a node's cells to a record. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from aragog.urlstore import nodes
from aragog.urlstore.nodes import field_column, from_column, text
from aragog.urlstore.records import FieldInfo, Record
from aragog.zen.tables import Row

BASE = (
    nodes.SENTINEL,
    nodes.URL,
    nodes.CANONICAL,
    nodes.PROVISIONAL,
    nodes.FACTS,
    nodes.VERSION,
    nodes.CONTENT_KEY,
    nodes.CONTENT_HASH,
    nodes.CONTENT_LENGTH,
    nodes.DUE,
    nodes.REMOVED,
)
"""What every read asks for."""


def columns_of(fields: Sequence[str] | None, *, info: bool) -> list[bytes] | None:
    """The cells to read for a record; None means all."""
    if fields is None:
        return None
    columns = [*BASE, *[b"m:" + field.encode() for field in fields]]
    if info:
        columns += [nodes.PROVENANCE, *map(from_column, fields)]
    return columns


def record_of(
    asked: str,
    home: str,
    row: Row,
    fields: Sequence[str] | None,
    *,
    info: bool,
    alias: Row | None = None,
) -> Record | None:
    """The record in a node; None when the node has nothing to show."""
    if nodes.SENTINEL not in row:
        return None
    nodes.check_url(row, home)
    if fields is None:
        found = {
            column[2:].decode(): cell.value
            for column, cell in row.items()
            if column.startswith(b"m:") and column != nodes.SENTINEL
        }
    else:
        found = {f: cell.value for f in fields if (cell := row.get(field_column(f)))}
    facts = row.get(nodes.FACTS)
    length = text(row, nodes.CONTENT_LENGTH)
    due = text(row, nodes.DUE)
    return Record(
        url=asked,
        canonical_url=home,
        fields=found,
        facts=orjson.loads(facts.value) if facts else {},
        version=text(row, nodes.VERSION) or "",
        content_key=text(row, nodes.CONTENT_KEY),
        content_hash=text(row, nodes.CONTENT_HASH),
        content_bytes=int(length) if length else None,
        due_at_ms=int(due) if due else None,
        info=_info(row, found) if info else {},
        provisional=bool(alias and text(alias, nodes.PROVISIONAL)) and nodes.OWN not in row,
    )


def _info(row: Row, found: dict[str, bytes]) -> dict[str, FieldInfo]:
    told = nodes.facts_of(row, nodes.PROVENANCE)
    result = {}
    for name in found:
        cell, own = row[field_column(name)], row.get(from_column(name))
        if own is not None and own.at_ms == cell.at_ms:
            result[name] = FieldInfo(cell.at_ms, own.value.decode() or None)
        else:
            source = told.get(name)
            result[name] = FieldInfo(cell.at_ms, None if source is None else str(source))
    return result
