"""
`celery -A aragog.workers inspect waiting`: show the URLs that wait for a slot of their domain.

`celery inspect scheduled` shows jobs that a worker has claimed and holds until they are due. URLs
that wait for a slot (their domain's turn) are on the server instead, so for this command, a worker
reads them from Redis.
"""

from __future__ import annotations

import threading
from typing import Any

from celery.worker.control import inspect_command

from aragog.bootstrap.redis_services import connect_overrides, limiter
from aragog.crawl.politeness.limiter import Limiter
from aragog.crawl.politeness.slots import DomainReport
from aragog.errors import TRANSIENT
from aragog.observability.formatting import format_time
from aragog.settings.in_use import process_settings

MAX_DOMAINS = 1_000
_connected: list[Limiter] = []
_lock = threading.Lock()


@inspect_command(
    name="waiting",
    args=[("domains", int)],
    signature="[domains=10]",
)  # type: ignore[untyped-decorator]
def waiting(state: Any, domains: int = 10) -> dict[str, Any]:  # noqa: ARG001 - Celery passes it
    """
    Return the URLs that wait for a slot of their domain or for its robots.txt.

    Args:
        state: the worker's state.
        domains: how many domains to list, from 1 to 1,000. Those with the most URLs come first.

    Returns:
        `urls`: how many URLs are waiting; `for_robots_txt`: how many of them wait for a robots.txt;
        `domains`: for each `domain`, how many `urls` are waiting, and when the `next` of them is
        requested.
    """
    try:
        return _report(_limiter(), max(1, min(domains, MAX_DOMAINS)))
    except TRANSIENT as error:
        return {"error": str(error)}


def _report(limits: Limiter, count: int) -> dict[str, Any]:
    lines = limits.lines
    return {
        "urls": lines.total() if lines else 0,
        "for_robots_txt": lines.waiting_for_rules() if lines else 0,
        "domains": [
            {
                "domain": report.key,
                "urls": report.waiting,
                "next": _next_slot(report),
            }
            for report in limits.busiest_domains(count)
            if report.waiting
        ],
    }


def _next_slot(report: DomainReport) -> str:
    if report.stopped:
        return "stopped"
    return "now" if report.next_slot_at_ms is None else format_time(report.next_slot_at_ms)


def _limiter() -> Limiter:
    with _lock:
        if not _connected:
            settings = process_settings().resolved()
            _connected.append(limiter(settings, connect_overrides(settings)))
        return _connected[0]
