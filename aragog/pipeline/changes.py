"""Changes as JSON, for the feed's readers and for webhooks."""

from __future__ import annotations

from typing import Any

import orjson

from aragog.urlstore.changes import Change


def plain(change: Change) -> dict[str, Any]:
    """A change as readers get it; see docs/changes.md."""
    return {
        "cursor": change.cursor,
        "kind": change.kind,
        "url": change.url,
        "at_ms": change.at_ms,
        "owners": list(change.owners),
        "fields": {
            name: {"before": _value(before), "now": _value(now)}
            for name, (before, now) in change.fields.items()
        },
    }


def _value(text: str | None) -> Any:
    """What the text is if it is JSON, else the text."""
    if text is None:
        return None
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
