"""
Which domains have URLs that wait, and what they wait for, in lines and in the queues.

The queues are sampled, so the numbers are about right for domains with many URLs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from aragog.crawl.pipeline.waiting_urls import RETRY, ROBOTS, SLOT, TURN, WaitingUrl, sample
from aragog.crawl.politeness.lines import is_of_rules
from aragog.dashboard.components import Components
from urlspelling.domain import origin

MOST_NAMED = 5
"""Sites that a note names."""
MOST_LINES = 1000
"""The longest lines that are checked for origins whose robots.txt does not answer."""


def waits(components: Components) -> dict[str, int]:
    """
    About how many URLs wait for a slot, a retry, robots.txt and a worker; empty without pinlater.

    Raises:
        BrokerUnavailable: Redis or the broker does not answer.
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
    About how many URLs of each domain wait for robots.txt or in the queues, the most first.

    Those that wait for a slot are not among them. Empty without pinlater.

    Raises:
        BrokerUnavailable: the broker does not answer.
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
    What the URLs in the queues wait for, a sentence each; empty if none wait or without pinlater.

    The queues alone cannot show it: a URL whose site's robots.txt does not answer becomes due again
    and again, and looks as if no worker took it.

    Raises:
        BrokerUnavailable: Redis or the broker does not answer.
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
    """About how many URLs of each origin wait for robots.txt, the most first."""
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
    """The sample, in which a retry of a site whose robots.txt does not answer waits for that."""
    found = list(sampled)
    origins = {origin(waiting.url) for waiting in found if waiting.url}
    rules = components.robots.peek(list(origins))
    return [
        waiting._replace(cause=ROBOTS)
        if waiting.url and waiting.cause != SLOT and rules[origin(waiting.url)].unreachable
        else waiting
        for waiting in found
    ]
