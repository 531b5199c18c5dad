"""Parts of replies that several services send. Pure."""

from __future__ import annotations

from typing import Any

import orjson

from aragog.urlstore.records import Record

MOST_REPLY_BYTES = 15_000_000
"""Of records in one reply, with room for LEFT_OUT in 1,000 others: clients accept 16,384,000."""


def facts_of(record: Record) -> dict[str, Any]:
    """The members of a Record that `facts` asks for."""
    return {
        "facts": {name: orjson.dumps(value).decode() for name, value in record.facts.items()},
        "content_bytes": record.content_bytes,
        "content_hash": record.content_hash,
        "due_at_ms": record.due_at_ms,
    }
