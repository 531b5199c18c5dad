"""Redirect hops in messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aragog.fetch_record.outcome import Hop


def hops_to_wire(hops: Sequence[Hop]) -> dict[str, Any]:
    """Return the field for these hops; without hops, no field."""
    if not hops:
        return {}
    return {
        "hops": [[hop.url, hop.status, hop.target, hop.headers, hop.latency_ms] for hop in hops]
    }


def pop_hops(fields: dict[str, Any]) -> tuple[Hop, ...]:
    """Remove the hops from a message's fields, and return them."""
    return tuple(
        Hop(url, status, target, latency_ms, tuple((k, v) for k, v in headers))
        for url, status, target, headers, latency_ms, *_ in fields.pop("hops", ())
    )
