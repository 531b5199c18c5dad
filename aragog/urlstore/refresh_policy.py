"""
The refresh policy: decides when a page is fetched again. No I/O.

A page's state has its recent failures and a belief about its rate of change (`change_rate`). Each
fetch updates both. The first belief comes from the usual interval for the page's type and fields
(`usual_intervals`).
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from aragog.fetch_record.outcome import WITHHELD, OutcomeKind
from aragog.settings import RefreshSettings, duration_s
from aragog.urlstore.change_rate import PRIOR_SHAPE, interval_s, kind_of, updated_belief
from aragog.urlstore.signal_sources import (
    SOURCES,
    first_belief,
    read_belief,
    reading_interval_s,
)
from aragog.urlstore.usual_intervals import DAY_S, change_weight, usual_page_interval_s, usual_s

GONE_DELAYS_S = (DAY_S, 3 * DAY_S, 7 * DAY_S)
"""
The waits after the first, second, … consecutive 404 or 410. The store gives up on the page after
`refresh.gone_confirmations` of them.
"""
GONE_SPACING_S = 0.5 * DAY_S
"""404 and 410 responses within this time, or half of `refresh.max_interval_s` if that is shorter,
count as one."""
FAILED_DELAY_S = DAY_S
"""The wait after a failed fetch. It doubles with each failure, up to `MAX_FAILED_DELAY_S`."""
MAX_FAILED_DELAY_S = 30 * DAY_S

WITHHELD_DELAYS = {"401": "30d", "402": "30d", "403": "7d", "451": "30d"}
"""How long to wait after a status that refuses a page which exists; `refresh.withheld_intervals`
overrides these.

The reasons for a 401, 402 or 451 (credentials, prices, legal demands) change rarely. A 403 often
comes from a rule about crawlers.
"""
_STATUS_BY_OUTCOME = {kind.value: str(status) for status, kind in WITHHELD.items()}
"""The HTTP status of each outcome that refuses a page which exists."""


def _withheld_wait_s(outcome: str, settings: RefreshSettings) -> float:
    """Return the first wait after an outcome that refuses a page which exists."""
    status = _STATUS_BY_OUTCOME[outcome]
    return duration_s(settings.withheld_intervals.get(status, WITHHELD_DELAYS[status]))


JITTER = 0.1
"""Intervals vary by ±10%, so that pages fetched together spread out over time."""

# A page that was modified less than this long ago probably has the response's time as
# Last-Modified.
_MIN_UNCHANGED_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a fetch found out about a page."""

    outcome: str
    """The class name of the outcome: Fetched, NotModified, Gone, …"""
    fetched_at_ms: int
    page_type: str | None = None
    """The Rich Pin's type. None if no page was read."""
    body_hash: str | None = None
    """The hash of the body before compression."""
    fresh_s: float | None = None
    """Remaining freshness from Cache-Control or Expires; None if the response has neither."""
    modified_at_ms: int | None = None
    source: str | None = None
    """`sitemap` or `feed` for a file that reports changes to pages; None for a page."""
    signal_count: float = 0.0
    """Number of changes that the file reports, each weighted by the trust in its host."""
    not_before_ms: int | None = None
    """Do not request the page before this time, because of Retry-After or because robots rules
    expire then."""


class RefreshState(NamedTuple):
    """A page's state between fetches. A tuple, because it is copied at every fetch."""

    a: float = 0.0
    """Shape of the belief about the page's rate of change; 0 if there is no belief yet."""
    b_s: float = 0.0
    """Rate parameter of the belief; a / b_s is the expected rate, in changes per second."""
    usual_s: float = 0.0
    """The usual interval of pages with the same type and fields."""
    interval_s: float = 0.0
    """The last planned interval, limited by the settings. Jitter and the response's freshness are
    not included."""
    checks: int = 0
    """Number of fetches that could be compared with an earlier one."""
    changes: float = 0.0
    """How many of these fetches found a change. A change to a slow field counts as less than 1."""
    checked_at_ms: int = 0
    """When the page was last fetched, with any outcome."""
    compared_at_ms: int = 0
    """When a fetch last returned the page, or confirmed it as unchanged."""
    changed_at_ms: int = 0
    """When such a fetch last found a change; 0 if none did."""
    gone: int = 0
    """Number of consecutive 404 and 410 responses; responses close together count once."""
    gone_at_ms: int = 0
    failures: int = 0
    """Number of consecutive failures of other kinds. If the site refuses a page that exists, it is
    negative: minus the number of consecutive refusals."""
    due_at_ms: int | None = None
    """When to fetch next, as planned at the last fetch; None if the store gave up on the page."""
    body_hash: str = ""
    """The first 16 hex digits of the body's hash."""
    page_type: str = "page"

    @property
    def rate_per_s(self) -> float:
        return self.a / self.b_s if self.b_s else 0.0


def decide(
    state: RefreshState | None,
    seen: Seen,
    changed: Iterable[str],
    present: Container[str],
    settings: RefreshSettings,
    *,
    spread: float = 0.5,
    is_reported: bool = False,
    stretch: float = 1.0,
) -> tuple[RefreshState, int | None]:
    """
    Return the state after a fetch, and when to fetch next (ms since the epoch; None if given up).

    A second call for the same fetch has the same result.

    Args:
        state: the page's state before the fetch; None for the first fetch.
        seen: the observations of the fetch.
        changed: fields whose values differ from the stored values; empty for a first fetch.
        present: all fields of the page.
        settings: bounds and effort.
        spread: 0 to 1, this page's position within the jitter.
        is_reported: a sitemap or feed had reported a change since the page was last checked.
        stretch: factor for the interval, above 1 if the host's files reliably report changes.
    """
    before = state or RefreshState()
    if before.checked_at_ms >= seen.fetched_at_ms:
        return before, before.due_at_ms
    before = _reset_if_kind_changed(before, seen)
    if seen.source and seen.outcome in _PAGE_OUTCOMES:
        after = _state_after_read(before, seen, settings)
        wait_s = after.interval_s
    elif seen.outcome in _PAGE_OUTCOMES:
        after = _state_after_comparison(
            before, seen, tuple(changed), present, settings, is_reported=is_reported
        )
        wait_s = max(_interval_with_freshness_s(after, seen), after.interval_s * stretch)
    elif seen.outcome == OutcomeKind.GONE:
        after = _state_after_gone(before, seen, settings)
        wait_s = GONE_DELAYS_S[min(after.gone, len(GONE_DELAYS_S)) - 1]
    elif seen.outcome in _STATUS_BY_OUTCOME:
        refusals = max(0, -before.failures)
        after = before._replace(failures=-refusals - 1, gone=0, gone_at_ms=0)
        wait_s = _withheld_wait_s(seen.outcome, settings) * 2.0 ** min(refusals, 10)
    else:
        failures = max(0, before.failures)
        after = before._replace(failures=failures + 1)
        retry_s = FAILED_DELAY_S * 2.0 ** min(failures, 10)
        wait_s = min(max(retry_s, after.interval_s), MAX_FAILED_DELAY_S)
    given_up = after.gone >= settings.gone_confirmations or (
        after.page_type in SOURCES and not settings.signals
    )
    due_at_ms = None if given_up else _due_ms(seen, wait_s, settings, spread)
    return after._replace(checked_at_ms=seen.fetched_at_ms, due_at_ms=due_at_ms), due_at_ms


_PAGE_OUTCOMES = (OutcomeKind.FETCHED, OutcomeKind.NOT_MODIFIED)


def _reset_if_kind_changed(before: RefreshState, seen: Seen) -> RefreshState:
    """Return an empty state if a page became a sitemap or feed, or the reverse; else `before`."""
    if seen.source and before.page_type not in SOURCES:
        return RefreshState(page_type=seen.source)
    if not seen.source and before.page_type in SOURCES and seen.outcome in _PAGE_OUTCOMES:
        return RefreshState()
    return before


def _state_after_read(before: RefreshState, seen: Seen, settings: RefreshSettings) -> RefreshState:
    """Return the state of a sitemap or feed after it was read, or confirmed by a 304."""
    is_read = seen.outcome == OutcomeKind.FETCHED
    kind = seen.source if is_read and seen.source else before.page_type
    a, b_s = (before.a, before.b_s) if before.a else first_belief(kind, settings)
    if before.compared_at_ms:
        elapsed_s = (seen.fetched_at_ms - before.compared_at_ms) / 1000
        a, b_s = read_belief(a, b_s, elapsed_s, seen.signal_count)
    return before._replace(
        a=a,
        b_s=b_s,
        usual_s=usual_s(kind, settings),
        interval_s=_limit_interval_s(reading_interval_s(a / b_s, settings), settings),
        checks=before.checks + bool(before.compared_at_ms),
        changes=before.changes + seen.signal_count,
        compared_at_ms=seen.fetched_at_ms,
        changed_at_ms=seen.fetched_at_ms if seen.signal_count else before.changed_at_ms,
        gone=0,
        gone_at_ms=0,
        failures=0,
        body_hash=(seen.body_hash or "")[:16] or before.body_hash,
        page_type=kind,
    )


def _due_ms(seen: Seen, wait_s: float, settings: RefreshSettings, spread: float) -> int:
    wait_s = _limit_interval_s(wait_s * (1 - JITTER + 2 * JITTER * spread), settings)
    return max(seen.fetched_at_ms + int(wait_s * 1000), seen.not_before_ms or 0)


def _limit_interval_s(wait_s: float, settings: RefreshSettings) -> float:
    return min(max(wait_s, settings.min_interval_s), settings.max_interval_s)


def _state_after_gone(before: RefreshState, seen: Seen, settings: RefreshSettings) -> RefreshState:
    spacing_s = min(GONE_SPACING_S, settings.max_interval_s / 2)
    is_separate = seen.fetched_at_ms - before.gone_at_ms >= spacing_s * 1000
    if not is_separate and before.gone:
        return before
    gone = min(before.gone + 1, settings.gone_confirmations)
    return before._replace(gone=gone, gone_at_ms=seen.fetched_at_ms)


def _state_after_comparison(
    before: RefreshState,
    seen: Seen,
    changed: tuple[str, ...],
    present: Container[str],
    settings: RefreshSettings,
    *,
    is_reported: bool,
) -> RefreshState:
    page_type = seen.page_type or before.page_type
    is_read = seen.outcome == OutcomeKind.FETCHED or not before.usual_s
    usual_interval_s = (
        usual_page_interval_s(present, page_type, settings) if is_read else before.usual_s
    )
    kind = kind_of(usual_interval_s, settings.effort)
    body = (seen.body_hash or "")[:16] or before.body_hash
    state = before
    if not before.a:
        state = before._replace(a=PRIOR_SHAPE, b_s=PRIOR_SHAPE / kind.prior_rate)
    weight = 0.0
    if before.compared_at_ms:
        if page_type == "page" and body != before.body_hash:
            changed = (*changed, "body")
        weight = change_weight(page_type, changed, usual_interval_s, settings)
        elapsed_s = (seen.fetched_at_ms - before.compared_at_ms) / 1000
        a, b_s = updated_belief(state.a, state.b_s, elapsed_s, weight, is_reported=is_reported)
        state = state._replace(
            a=a, b_s=b_s, checks=state.checks + 1, changes=state.changes + weight
        )
    elif seen.modified_at_ms is not None:
        # The page has not changed since Last-Modified. Count at most ten usual intervals, so that
        # an old page can still turn out to change often.
        unchanged_s = (seen.fetched_at_ms - seen.modified_at_ms) / 1000
        if unchanged_s > _MIN_UNCHANGED_S:
            state = state._replace(b_s=state.b_s + min(unchanged_s, 10 * usual_interval_s))
    return state._replace(
        usual_s=usual_interval_s,
        interval_s=_limit_interval_s(interval_s(state.rate_per_s, kind), settings),
        compared_at_ms=seen.fetched_at_ms,
        changed_at_ms=seen.fetched_at_ms if weight else before.changed_at_ms,
        gone=0,
        gone_at_ms=0,
        failures=0,
        body_hash=body,
        page_type=page_type,
    )


def _interval_with_freshness_s(state: RefreshState, seen: Seen) -> float:
    """Return the interval, extended while the response is fresh, up to the usual interval."""
    if not seen.fresh_s:
        return state.interval_s
    return max(state.interval_s, min(seen.fresh_s, state.usual_s))
