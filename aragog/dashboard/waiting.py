"""
Estimate which domains have queued URLs, and what these URLs are waiting for.

The numbers come from samples of the queues, and are only reliable for domains with many URLs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from aragog.crawl.pipeline.waiting_urls import RETRY, ROBOTS, SLOT, TURN, WaitingUrl, sample
from aragog.crawl.politeness.lines import is_rules_line
from aragog.dashboard.components import Components
from urlspelling.domain import origin

MAX_SITES = 5
"""Maximum number of sites listed in a note."""
MAX_LINES = 1000
"""How many of the longest domain queues are checked for sites whose robots.txt is unreachable."""


def waiting_counts(components: Components) -> dict[str, int]:
    """
    Estimate how many URLs are waiting for a slot (the time at which their domain may be requested),
    a retry, robots.txt or a worker.

    The result is empty without pinlater.

    Raises:
        BrokerUnavailable: Redis or the broker does not respond.
    """
    if components.admin is None:
        return {}
    lines, counts = components.limiter().lines, defaultdict[str, float](float)
    counts[ROBOTS] = lines.waiting_for_rules() if lines else 0
    counts[SLOT] = lines.total() - counts[ROBOTS] if lines else 0
    for waiting in _with_robots_causes(sample(components.admin), components):
        counts[waiting.cause] += waiting.weight
    return {cause: round(counts[cause]) for cause in (SLOT, RETRY, ROBOTS, TURN)}


def queued_by_domain(components: Components) -> dict[str, int]:
    """
    Estimate how many of each domain's URLs are in the job queues or waiting for robots.txt, with
    the largest number first. URLs waiting for a slot are not included. The result is empty without
    pinlater.

    Raises:
        BrokerUnavailable: the broker does not respond.
    """
    if components.admin is None:
        return {}
    limiter, counts = components.limiter(), defaultdict[str, float](float)
    for waiting in sample(components.admin):
        if waiting.url:
            counts[limiter.key_for(waiting.url)] += waiting.weight
    for key, count in (limiter.lines.longest(MAX_LINES) if limiter.lines else {}).items():
        if is_rules_line(key):
            counts[limiter.key_for(f"{key}/")] += count
    by_count = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return {key: round(count) for key, count in by_count}


def queue_notes(components: Components) -> list[str]:
    """
    Return sentences about what the URLs in the queues are waiting for.

    The result is empty if no URLs are waiting, or without pinlater. The queues alone do not show
    the cause: if robots.txt is unreachable, a site's URLs become due again and again, as if no
    worker took them.

    Raises:
        BrokerUnavailable: Redis or the broker does not respond.
    """
    waiting = {cause: count for cause, count in waiting_counts(components).items() if count}
    if not waiting:
        return []
    counts_text = ", ".join(f"{count:,} for {cause}" for cause, count in waiting.items())
    notes = [f"About {sum(waiting.values()):,} URLs are waiting: {counts_text}."]
    if hosts := _waiting_for_robots_by_site(components):
        sites = ", ".join(f"{name} ({count:,})" for name, count in hosts[:MAX_SITES])
        more_text = f" and {len(hosts) - MAX_SITES:,} more" if len(hosts) > MAX_SITES else ""
        notes.append(
            f"URLs on these sites are waiting for robots.txt: {sites}{more_text}. These files have "
            "not been fetched yet or could not be reached, and will be requested again; "
            "`aragog explain URL` shows when. The workers are not the problem."
        )
    return notes


def _waiting_for_robots_by_site(components: Components) -> list[tuple[str, int]]:
    """Estimate how many URLs on each site are waiting for robots.txt, largest number first."""
    if components.admin is None:
        return []
    counts = defaultdict[str, float](float)
    for waiting in _with_robots_causes(sample(components.admin), components):
        if waiting.cause == ROBOTS and waiting.url:
            counts[origin(waiting.url)] += waiting.weight
    lines = components.limiter().lines
    for key, count in (lines.longest(MAX_LINES) if lines else {}).items():
        if is_rules_line(key):
            counts[key] += count
    by_count = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [(key.partition("://")[2], round(count)) for key, count in by_count]


def _with_robots_causes(urls: Iterable[WaitingUrl], components: Components) -> list[WaitingUrl]:
    """
    Return the URLs. If a site's robots.txt is unreachable, its URLs get the cause `ROBOTS`, except
    those that are waiting for a slot.
    """
    sampled_urls = list(urls)
    origins = {origin(waiting.url) for waiting in sampled_urls if waiting.url}
    rules = components.robots.peek(list(origins))
    return [
        waiting._replace(cause=ROBOTS)
        if waiting.url and waiting.cause != SLOT and rules[origin(waiting.url)].unreachable
        else waiting
        for waiting in sampled_urls
    ]
