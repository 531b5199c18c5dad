"""
Convert a record to JSON, whether it was read completely or in part.

A record's facts describe its last fetch. If a request selects fields, the facts are passed on
without being decoded, which halves the CPU time of a batch (docs/adr/0106).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from aragog.urlstore.field_formats import FieldFormats
from aragog.urlstore.records import FieldValues, Record

FROM_STANDBY = b',"from_standby":true}'
"""Replaces the last byte of a record's JSON if the standby store responded."""


def record_json(record: Record, formats: FieldFormats) -> dict[str, Any]:
    """Return a record with its facts as JSON. Field values follow their declared formats."""
    result = _members(
        record,
        record.version,
        {name: formats.to_json(name, data) for name, data in record.fields.items()},
        dict(record.facts),
        record.content_bytes,
        record.content_hash,
        record.due_at_ms,
    )
    if record.from_standby:
        result["from_standby"] = True
    return result


def values_json(values: FieldValues, names: Sequence[str], formats: FieldFormats) -> dict[str, Any]:
    """
    Return the same JSON as `record_json`, for a record of which only some fields were read.

    Args:
        values: the fields' values, read together with the facts.
        names: the fields' names, in the same order.
        formats: the declared formats.
    """
    to_json = formats.to_json
    return _members(
        values,
        values.version.decode(),
        {
            name: to_json(name, data)
            for name, data in zip(names, values.values, strict=True)
            if data is not None
        },
        orjson.Fragment(values.facts or b"{}"),
        int(values.content_bytes) if values.content_bytes else None,
        values.content_hash.decode() if values.content_hash else None,
        int(values.due_at_ms) if values.due_at_ms else None,
    )


def _members(
    record: Record | FieldValues,
    version: str,
    fields: dict[str, Any],
    facts: Any,
    content_bytes: int | None,
    content_hash: str | None,
    due_at_ms: int | None,
) -> dict[str, Any]:
    return {
        "url": record.url,
        "canonical_url": record.canonical_url,
        "version": version,
        "fields": fields,
        "facts": facts,
        "content_bytes": content_bytes,
        "content_hash": content_hash,
        "due_at_ms": due_at_ms,
    }
