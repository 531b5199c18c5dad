"""When a page is fetched again. Pure: what was seen, and the time, are arguments."""

from __future__ import annotations

from dataclasses import dataclass

from aragog.settings import RefreshSettings

# Prices move within hours, recipes hardly ever; see docs/refresh.md.
BASE_INTERVAL_S = {
    "product": 6 * 3600.0,
    "article": 24 * 3600.0,
    "app": 3 * 86_400.0,
    "place": 7 * 86_400.0,
    "movie": 7 * 86_400.0,
    "recipe": 14 * 86_400.0,
    "book": 14 * 86_400.0,
    "video": 7 * 86_400.0,
}
PAGE_INTERVAL_S = 7 * 86_400.0
FAILED_INTERVAL_S = 86_400.0
GONE_INTERVAL_S = 3 * 86_400.0


@dataclass(frozen=True, slots=True)
class Seen:
    """What a fetch saw."""

    outcome: str
    fetched_at_ms: int
    page_type: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    body_hash: str | None = None


def next_due_ms(seen: Seen, settings: RefreshSettings) -> int | None:
    """The next fetch, ms since the epoch; None: never."""
    if seen.outcome in ("Fetched", "NotModified"):
        interval_s = BASE_INTERVAL_S.get(seen.page_type or "", PAGE_INTERVAL_S)
    elif seen.outcome == "Gone":
        interval_s = GONE_INTERVAL_S
    else:
        interval_s = FAILED_INTERVAL_S
    interval_s = min(max(interval_s, settings.min_interval_s), settings.max_interval_s)
    return seen.fetched_at_ms + int(interval_s * 1000)
