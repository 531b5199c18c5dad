"""What must be true of a fleet after all that was done to it, judged from outside."""

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

IN_FLIGHT_MS = 2000.0
"""How long after a 503 a busy worker may take to report it; other senders have permits until then."""
READ_AT_ONCE = 200
SHOWN = 5


def gaps(arrivals: Sequence[Arrival]) -> Iterator[str]:
    """Requests that came sooner than the interval of their domain allows, or in its pause."""
    by_host: dict[str, list[Arrival]] = defaultdict(list)
    for arrival in arrivals:
        by_host[arrival.host].append(arrival)
    for host, requests in by_host.items():
        shortest = {"crawl-delay": 1000.0 * CRAWL_DELAY_S}.get(kind(host), BASE_INTERVAL_MS)
        for before, after in itertools.pairwise(requests):
            # The rules are not known before they have been read.
            allowed = BASE_INTERVAL_MS if before.path == "/robots.txt" else shortest
            if (gap_ms := after.at_ms - before.at_ms) < allowed - NOISE_MS:
                yield f"{host}{after.path} came {gap_ms:.1f} ms after {before.path}"
        yield from _pauses(host, requests)


def _pauses(host: str, requests: Sequence[Arrival]) -> Iterator[str]:
    # A date in the header has whole seconds, so it may be up to one shorter.
    lasts_ms = (RETRY_AFTER_S - 1) * 1000 - NOISE_MS
    began_ms = float("-inf")
    for request in requests:
        if IN_FLIGHT_MS < (passed_ms := request.at_ms - began_ms) < lasts_ms:
            early_ms = lasts_ms - passed_ms
            yield f"{host}{request.path} came {early_ms:.0f} ms before the end of a Retry-After"
        if request.status == 503:
            began_ms = request.at_ms


def stored(store: UrlStore, versions: dict[str, int]) -> tuple[Counter[str], list[str]]:
    """
    Outcomes of all URLs by name, and what is stored otherwise than the origin served it.

    Args:
        store: where the pages are.
        versions: of each accepted URL the version that the origin served last.
    """
    outcomes: Counter[str] = Counter()
    wrong: list[str] = []
    urls = sorted(versions)
    for start in range(0, len(urls), READ_AT_ONCE):
        batch = urls[start : start + READ_AT_ONCE]
        for url, record in zip(batch, store.get_many(batch), strict=True):
            found = str(record.facts.get("outcome", "")) if record else "lost"
            outcomes[found] += 1
            if found != outcome(url):
                wrong.append(f"{url} is {found}, not {outcome(url)}")
            elif found == "Fetched":
                wrong += _wrong_content(store, url, versions[url])
    return outcomes, wrong


def _wrong_content(store: UrlStore, url: str, version: int) -> Iterator[str]:
    content = store.content(url)
    expected = page(*parts(url), version)
    if content is None:
        yield f"{url} has no content"
    elif hashlib.sha256(content.body).digest() != hashlib.sha256(expected).digest():
        older = any(content.body == page(*parts(url), n) for n in range(1, version))
        yield f"{url} has the content of {'an older version' if older else 'another page'}"


def links(store: UrlStore, versions: dict[str, int]) -> Iterator[str]:
    """Whether all links have been compacted, and each was counted once."""
    linking = sum(outcome(url) == "Fetched" for url in versions)
    if (counted := store.links.count_inlinks(HUB)) != linking:
        yield f"{HUB} has {counted} inlinks; {linking} pages link to it"
    if (lag_ms := store.maintenance.compaction_lag_ms()) > 0:
        yield f"a link waits for compaction since {lag_ms} ms"


def shortened(problems: Sequence[str]) -> list[str]:
    """The first few problems, and how many more there are."""
    more = len(problems) - SHOWN
    return [*problems[:SHOWN], *([f"… and {more} more"] if more > 0 else [])]
