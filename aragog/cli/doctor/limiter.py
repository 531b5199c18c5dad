"""The check of the limiter's ring: its nodes answer, no move is unfinished, the settings agree."""

from __future__ import annotations

from collections.abc import Iterator

from aragog.bootstrap.redis_services import limiter_ring
from aragog.cli.doctor.finding import CheckedSystem, Finding
from aragog.crawl.politeness.limiter_ring import RingReport
from aragog.errors import CONFIG, LimiterUnavailable


def check_limiter(system: CheckedSystem) -> Iterator[Finding]:
    """The ring that the servers have, and what in it needs an operator."""
    if system.is_down:
        return
    try:
        ring = limiter_ring(system.resolved)
    except CONFIG:
        return  # another check has reported it
    try:
        report, named = ring.report(), ring.in_settings()
    except LimiterUnavailable:
        return  # redis.url does not answer, which another check has reported
    finally:
        ring.close()
    yield from _nodes(report, named)
    if named != {node.node for node in report.nodes if node.state != "leaving"}:
        text = (
            "politeness.limiter_urls differs from the ring that is in use, which applies "
            "(`aragog limiter list`); set it to the same nodes"
        )
        yield Finding("limiter, settings", ok=True, text=text, warning=True)


def _nodes(report: RingReport, named: set[str]) -> Iterator[Finding]:
    active = [node for node in report.nodes if node.state == "active"]
    text = f"epoch {report.epoch}, {len(active)} of {len(report.nodes)} nodes active"
    yield Finding("limiter", ok=True, text=text)
    if report.moving:
        text = "domains move to other nodes; if no command does it now, run `aragog limiter finish`"
        yield Finding("limiter, move", ok=True, text=text, warning=True)
    for node in report.nodes:
        if not node.answers and node.node not in named:
            text = "does not answer: start it, or replace it (docs/operations.md)"
            yield Finding(f"limiter node {node.node}", ok=False, text=text)
