"""
Which domains have queued URLs, and what these are waiting for, in lines and in the queues.

The queues are sampled, so the numbers are approximate and only reliable for domains with many URLs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from aragog.crawl.pipeline.waiting_urls import RETRY, ROBOTS, SLOT, TURN, WaitingUrl, sample
from aragog.crawl.politeness.lines import is_of_rules
from aragog.dashboard.components import Components
from urlspelling.domain import origin

MOST_NAMED = 5
"""Maximum number of sites named in a note."""
MOST_LINES = 1000
"""Number of longest lines checked for origins whose robots.txt cannot be fetched."""


def waits(components: Components) -> dict[str, int]:
    """
    Approximate number of URLs waiting for a slot, a retry, robots.txt and a worker; empty without
    pinlater.

    Raises:
        BrokerUnavailable: Redis or the broker does not respond.
    """
    if components.admin is None:
        return {}
    lines, counts = components.limiter().lines, defaultdict[str, float](float)
    counts[ROBOTS] = lines.waiting_for_rules() if lines else 0
    counts[SLOT] = lines.total() - counts[ROBOTS] if lines else 0
    for waiting in _explained(sample(components.admin), components):
        counts[waiting.cause] += waiting.weight
    return {cause: round(counts[cause]) for cause in (SLOT, RETRY, ROBOTS, TURN)}


def queued_by_domain(components: Components) -> dict[str, int]:
    """
    Approximate number of each domain's URLs waiting for robots.txt or in the queues, largest first.

    URLs waiting for a slot are not included. Empty without pinlater.

    Raises:
        BrokerUnavailable: the broker does not respond.
    """
    if components.admin is None:
        return {}
    limiter, counts = components.limiter(), defaultdict[str, float](float)
    for waiting in sample(components.admin):
        if waiting.url:
            counts[limiter.key_for(waiting.url)] += waiting.weight
    for key, count in (limiter.lines.longest(MOST_LINES) if limiter.lines else {}).items():
        if is_of_rules(key):
            counts[limiter.key_for(f"{key}/")] += count
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return {key: round(count) for key, count in ordered}


def notes_of_queues(components: Components) -> list[str]:
    """
    What the URLs in the queues are waiting for, one sentence each; empty if none wait or without
    pinlater.

    The queues alone cannot show this: if a site's robots.txt cannot be fetched, its URLs become due
    again and again and look as if no worker took them.

    Raises:
        BrokerUnavailable: Redis or the broker does not respond.
    """
    waiting = {cause: count for cause, count in waits(components).items() if count}
    if not waiting:
        return []
    counted = ", ".join(f"{count:,} for {cause}" for cause, count in waiting.items())
    notes = [f"About {sum(waiting.values()):,} URLs wait: {counted}."]
    if hosts := _waiting_for_rules(components):
        named = ", ".join(f"{name} ({count:,})" for name, count in hosts[:MOST_NAMED])
        more = f" and {len(hosts) - MOST_NAMED:,} more" if len(hosts) > MOST_NAMED else ""
        notes.append(
            f"For robots.txt wait those of {named}{more}. No worker is missing: it is not known "
            "yet or does not answer, and is asked again later; `aragog explain URL` says when."
        )
    return notes


def _waiting_for_rules(components: Components) -> list[tuple[str, int]]:
    """Approximate number of each origin's URLs waiting for robots.txt, largest first."""
    if components.admin is None:
        return []
    counts = defaultdict[str, float](float)
    for waiting in _explained(sample(components.admin), components):
        if waiting.cause == ROBOTS and waiting.url:
            counts[origin(waiting.url)] += waiting.weight
    lines = components.limiter().lines
    for key, count in (lines.longest(MOST_LINES) if lines else {}).items():
        if is_of_rules(key):
            counts[key] += count
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [(key.partition("://")[2], round(count)) for key, count in ordered]


def _explained(sampled: Iterable[WaitingUrl], components: Components) -> list[WaitingUrl]:
    """
    The sample, with retries counted as waiting for robots.txt if the site's cannot be
    fetched.
    """
    found = list(sampled)
    origins = {origin(waiting.url) for waiting in found if waiting.url}
    rules = components.robots.peek(list(origins))
    return [
        waiting._replace(cause=ROBOTS)
        if waiting.url and waiting.cause != SLOT and rules[origin(waiting.url)].unreachable
        else waiting
        for waiting in found
    ]
