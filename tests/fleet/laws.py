"""The laws of a fleet, checked from outside after everything that was done to it."""

from __future__ import annotations

import hashlib
import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from aragog.urlstore.store import UrlStore
from tests.chaos.laws import NOISE_MS
from tests.chaos.origin import Arrival
from tests.fleet.sites import (
    BASE_INTERVAL_MS,
    CRAWL_DELAY_S,
    HUB,
    RETRY_AFTER_S,
    kind,
    outcome,
    page,
    parts,
)

MAX_REPORT_DELAY_MS = 2000.0
"""Time that a busy worker may take to report a 503; other senders have permits until then."""
READ_BATCH = 200
MAX_SHOWN = 5


def early_requests(arrivals: Sequence[Arrival]) -> Iterator[str]:
    """Yield requests that came earlier than their domain's interval allows, or in its pause."""
    by_host: dict[str, list[Arrival]] = defaultdict(list)
    for arrival in arrivals:
        by_host[arrival.host].append(arrival)
    for host, requests in by_host.items():
        min_gap_ms = {"crawl-delay": 1000.0 * CRAWL_DELAY_S}.get(kind(host), BASE_INTERVAL_MS)
        for previous, current in itertools.pairwise(requests):
            # The rules are unknown until they have been read.
            min_ms = BASE_INTERVAL_MS if previous.path == "/robots.txt" else min_gap_ms
            if (gap_ms := current.at_ms - previous.at_ms) < min_ms - NOISE_MS:
                yield f"{host}{current.path} came {gap_ms:.1f} ms after {previous.path}"
        yield from _pauses(host, requests)


def _pauses(host: str, requests: Sequence[Arrival]) -> Iterator[str]:
    # A date in the header has whole seconds, so the pause may be up to a second shorter.
    pause_ms = (RETRY_AFTER_S - 1) * 1000 - NOISE_MS
    pause_started_ms = float("-inf")
    for request in requests:
        if MAX_REPORT_DELAY_MS < (elapsed_ms := request.at_ms - pause_started_ms) < pause_ms:
            early_ms = pause_ms - elapsed_ms
            yield f"{host}{request.path} came {early_ms:.0f} ms before the end of a Retry-After"
        if request.status == 503:
            pause_started_ms = request.at_ms


def check_stored(store: UrlStore, versions: dict[str, int]) -> tuple[Counter[str], list[str]]:
    """
    Return outcomes of all URLs by name, and differences between stored and served pages.

    Args:
        store: the store of the pages.
        versions: the version of each accepted URL that the origin served last.
    """
    outcomes: Counter[str] = Counter()
    problems: list[str] = []
    urls = sorted(versions)
    for start in range(0, len(urls), READ_BATCH):
        batch = urls[start : start + READ_BATCH]
        for url, record in zip(batch, store.get_many(batch), strict=True):
            actual = str(record.facts.get("outcome", "")) if record else "lost"
            outcomes[actual] += 1
            if actual != outcome(url):
                problems.append(f"{url} is {actual}, not {outcome(url)}")
            elif actual == "Fetched":
                problems += _content_problems(store, url, versions[url])
    return outcomes, problems


def _content_problems(store: UrlStore, url: str, version: int) -> Iterator[str]:
    content = store.content(url)
    expected = page(*parts(url), version)
    if content is None:
        yield f"{url} has no content"
    elif hashlib.sha256(content.body).digest() != hashlib.sha256(expected).digest():
        is_older = any(content.body == page(*parts(url), n) for n in range(1, version))
        yield f"{url} has the content of {'an older version' if is_older else 'another page'}"


def check_links(store: UrlStore, versions: dict[str, int]) -> Iterator[str]:
    """Yield problems of the links: uncompacted ones, and wrong counts."""
    linking = sum(outcome(url) == "Fetched" for url in versions)
    if (inlinks := store.links.count_inlinks(HUB)) != linking:
        yield f"{HUB} has {inlinks} inlinks; {linking} pages link to it"
    if (lag_ms := store.maintenance.compaction_lag_ms()) > 0:
        yield f"a link has waited for compaction for {lag_ms} ms"


def shorten(problems: Sequence[str]) -> list[str]:
    """Return the first few problems, and the number of the others."""
    omitted = len(problems) - MAX_SHOWN
    return [*problems[:MAX_SHOWN], *([f"… and {omitted} more"] if omitted > 0 else [])]
