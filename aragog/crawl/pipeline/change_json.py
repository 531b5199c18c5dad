"""Changes as JSON, for clients of the feed and for webhooks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aragog.urlstore.feed import Change

Reader = Callable[[str, bytes], Any]
"""Parses a field's value: `FieldFormats.to_json` if `orjson.dumps` follows, otherwise
`FieldFormats.to_value`."""


def change_to_json(change: Change, read: Reader) -> dict[str, Any]:
    """Return a change as clients and webhooks receive it (docs/refresh.md)."""
    extra_members: dict[str, Any] = {}
    if change.content_hash:
        before, now = change.content_hash
        extra_members["content_hash"] = {"before": before, "now": now}
    if change.redirected_to:
        extra_members["redirected_to"] = change.redirected_to
    return {
        "cursor": change.cursor,
        "kind": change.kind,
        "url": change.url,
        "at_ms": change.at_ms,
        "owners": list(change.owners),
        "fields": {
            name: {"before": _read_value(read, name, before), "now": _read_value(read, name, now)}
            for name, (before, now) in change.fields.items()
        },
        **extra_members,
    }


def _read_value(read: Reader, name: str, text: str | None) -> Any:
    return None if text is None else read(name, text.encode())
