"""Changes a fetch's time in everything written for it. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from aragog.urlstore.records import PageWrite


def fetched_at(write: PageWrite, at_ms: int) -> PageWrite:
    """Return a copy of the write, with `at_ms` as the time of the fetch."""
    return replace(
        write,
        fetched_at_ms=at_ms,
        facts={
            name: at_ms if name == "fetched_at_ms" else value for name, value in write.facts.items()
        },
        report=write.report and replace(write.report, fetched_at_ms=at_ms),
        confirmation=write.confirmation and replace(write.confirmation, fetched_at_ms=at_ms),
        seen=write.seen and replace(write.seen, fetched_at_ms=at_ms),
        content=write.content and replace(write.content, meta=_at(write.content.meta, at_ms)),
    )


def _at(meta: Mapping[str, str], at_ms: int) -> dict[str, str]:
    return {n: str(at_ms) if n == "fetched_at_ms" else value for n, value in meta.items()}
