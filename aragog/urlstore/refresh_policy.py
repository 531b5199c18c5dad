"""
The refresh policy: when a page is fetched again. Pure: it depends only on its arguments.

A page's state holds a belief about its rate of change, which each fetch updates, and recent
failures. The belief begins with the usual interval of the page's type and fields.

The belief about the rate λ is a Gamma distribution of two numbers (shape `a`, rate `b_s` in
seconds), so that checks at irregular intervals need no history. No change within T seconds makes it
Gamma(a, b+T), which is exact; a change within T (at least one, the number is unknown) has the
likelihood 1 - exp(-λT), and the Gamma of the same mean and variance replaces that mixture. With
equal intervals and no prior its mean behaves like the bias-reduced estimator of Cho and
Garcia-Molina (Estimating Frequency of Change, 2003), which needs equal intervals.

The interval follows the same authors' best allocation (Effective Page Refresh Policies for Web
Crawlers, 2003): fetches go where one more gains most freshness. A page of rate λ fetched every
T = r/λ seconds gains (1 - (1+r)exp(-r))/λ seconds of freshness by one more fetch; at the optimum
that gain is the same for all pages of a kind: `marginal_freshness_s`. So pages that change often
are fetched more often, by the square root of their rate and down to the kind's shortest interval;
pages that change faster than any fetch can follow get four times the usual interval.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from aragog.fetch_record.outcome import WITHHELD, OutcomeKind
from aragog.settings import RefreshSettings, duration_s

FLOOR_SHARE = 1 / 8
"""The shortest interval of a page, as a share of its usual one."""

# Prior of λ for a kind of pages: a Gamma of this shape is wide (deviation 1.4 times its mean).
PRIOR_SHAPE = 0.5
# Each change reduces the weight of older evidence: about seven changes are remembered.
_FORGET = 0.85
# Each check without a change reduces it too, down to the prior's weight: pages may slow down.
_FADE = 0.97
# Where the interval of the best allocation is shortest: r = 1.793, T = 3.350 marginal_freshness_s.
_SHORTEST_GAIN = 0.5351
_SHORTEST_INTERVAL = 3.350
_HOPELESS_GAIN = 0.99
_HOPELESS_USUALS = 4


@dataclass(frozen=True, slots=True)
class Kind:
    """How pages of one kind are refreshed until more is known about them."""

    usual_s: float
    floor_s: float
    marginal_freshness_s: float
    """Seconds of freshness that a fetch must gain."""
    prior_rate: float
    """Changes a second for which `usual_s` is the best interval."""
    hopeless_s: float
    """The interval of pages that no fetch could keep fresh; they are still refreshed."""


def updated_belief(a: float, b_s: float, passed_s: float, weight: float) -> tuple[float, float]:
    """
    The belief (`a`, `b_s`) after a check `passed_s` after the last one.

    Args:
        a: shape of the belief.
        b_s: its other parameter, in seconds.
        passed_s: time between the two checks.
        weight: of the change that was observed, 0 to 1; 0: none.
    """
    if passed_s <= 0:
        return a, b_s
    if not weight:
        fade = max(_FADE, PRIOR_SHAPE / a) if a > PRIOR_SHAPE else 1.0
        return a * fade, b_s * fade + passed_s
    old_a, old_b = a * _FORGET, b_s * _FORGET
    none = (old_b / (old_b + passed_s)) ** old_a
    mean = (old_a / old_b - none * old_a / (old_b + passed_s)) / (1 - none)
    square = old_a * (old_a + 1) * (1 / old_b**2 - none / (old_b + passed_s) ** 2) / (1 - none)
    variance = max(square - mean**2, mean**2 * 1e-6)
    seen_b = mean / variance
    seen_a = mean * seen_b
    return weight * seen_a + (1 - weight) * a, weight * seen_b + (1 - weight) * (b_s + passed_s)


def interval_s(rate_per_s: float, kind: Kind) -> float:
    """The best interval of a page with this rate of change."""
    gain = rate_per_s * kind.marginal_freshness_s
    if gain <= 0:
        return math.inf
    if gain >= _SHORTEST_GAIN:
        # Too fast to follow: the faster the page changes, the less freshness a fetch gains.
        best_s = math.inf if gain >= _HOPELESS_GAIN else ratio(gain) / rate_per_s
        return min(max(best_s, kind.floor_s), kind.hopeless_s)
    return max(ratio(gain) / rate_per_s, kind.floor_s)


@lru_cache(maxsize=256)
def kind_of(usual_s: float, effort: float = 1.0) -> Kind:
    """The kind of pages with a usual interval; more effort makes all intervals shorter."""
    floor_s = usual_s * FLOOR_SHARE / effort
    marginal_freshness_s = floor_s / _SHORTEST_INTERVAL
    # r of the usual interval solves 1 - (1+r)exp(-r) = r·m/usual, with m = marginal_freshness_s;
    # for a small r it is about 2·m/usual.
    k = marginal_freshness_s * effort / usual_s
    r = 2 * k
    for _ in range(50):
        r = ratio(k * r)
    hopeless_s = _HOPELESS_USUALS * usual_s / math.sqrt(effort)
    return Kind(usual_s, floor_s, marginal_freshness_s, r / usual_s, hopeless_s)


def ratio(gain: float) -> float:
    """Solve 1 - (1+r)exp(-r) = gain for r, where gain is 0 to 0.99; Newton's method, 2 µs."""
    r = math.sqrt(2 * gain) * (1 + gain)
    for _ in range(8):
        e = math.exp(-r)
        step = (1 - (1 + r) * e - gain) / (r * e)
        r = max(r - step, r / 4)
        if abs(step) < 1e-6 * r:
            break
    return r


HOUR_S = 3600.0
DAY_S = 86_400.0

USUAL_S = {
    "product": 3 * DAY_S,
    "article": DAY_S,
    "app": 3 * DAY_S,
    "place": 7 * DAY_S,
    "movie": 7 * DAY_S,
    "video": 7 * DAY_S,
    "recipe": 14 * DAY_S,
    "book": 14 * DAY_S,
    "page": 7 * DAY_S,
    "product.price": 6 * HOUR_S,
    "product.price_high": 6 * HOUR_S,
    "product.list_price": 6 * HOUR_S,
    "product.availability": 6 * HOUR_S,
    "product.offer_count": 2 * DAY_S,
    "product.rating": 7 * DAY_S,
    "app.price": DAY_S,
    "app.version": 3 * DAY_S,
    "app.rating": 14 * DAY_S,
    "place.opening_hours": 3 * DAY_S,
    "video.views": 30 * DAY_S,
    "body": 7 * DAY_S,
}
"""The usual intervals of types, and of fields with a pace of their own; see docs/refresh.md.

`body` is the page's bytes, which count only for a page without a type: on other pages changing
advertisements and tokens would be mistaken for news.
"""

_PACED = {
    page_type: tuple(name for name in USUAL_S if name.startswith(page_type + "."))
    for page_type in USUAL_S
}

IGNORED_FIELDS = frozenset(
    {"page.extractor_version", "page.text_version", "page.markdown", "page.fingerprint"}
)
"""They change with the crawler's code, or with any word of the page: no change of its facts."""


def usual_s(name: str, settings: RefreshSettings) -> float:
    """The usual interval of a type or a field, from the settings or the defaults above."""
    text = settings.intervals.get(name)
    if text is not None:
        return duration_s(text)
    if name in USUAL_S:
        return USUAL_S[name]
    of_type, _, field = name.partition(".")
    return usual_s(of_type, settings) if field else USUAL_S["page"]


def usual_of_page(present: Container[str], page_type: str, settings: RefreshSettings) -> float:
    """The usual interval of the page's fastest field."""
    own = page_type + "."
    paced = (*_PACED.get(page_type, ()), *settings.intervals)
    paces = [usual_s(f, settings) for f in paced if f in present and f.startswith(own)]
    return min([*paces, usual_s(page_type, settings)])


def withheld_s(outcome: str, settings: RefreshSettings) -> float:
    """The first wait after an outcome that withholds an existing page."""
    status = WITHHELD_NAMES[outcome]
    return duration_s(settings.withheld_intervals.get(status, WITHHELD_WAITS[status]))


def change_weight(
    page_type: str, changed: tuple[str, ...], page_s: float, settings: RefreshSettings
) -> float:
    """
    The weight of a change, 0 to 1: the most important field decides.

    A rating that changes with each visitor is not a reason to fetch prices every hour.
    """
    paces = [
        usual_s(page_type if name.startswith("page.") else name, settings)
        for name in changed
        if name not in IGNORED_FIELDS
    ]
    return max((min(1.0, page_s / pace) for pace in paces), default=0.0)


GONE_WAITS_S = (DAY_S, 3 * DAY_S, 7 * DAY_S)
"""The waits after the first, the second and each further 404 or 410, until the page is given up."""
GONE_SPACING_S = 0.5 * DAY_S
"""Responses closer than this, or than half of `refresh.max_interval_s`, count once."""
FAILED_WAIT_S = DAY_S
"""The wait after a failed fetch; it doubles each further time, up to `LONGEST_FAILED_WAIT_S`."""
LONGEST_FAILED_WAIT_S = 30 * DAY_S

WITHHELD_WAITS = {"401": "30d", "402": "30d", "403": "7d", "451": "30d"}
"""
The wait after a status that withholds an existing page; `refresh.withheld_intervals` sets others.

Credentials, prices and legal demands change rarely; a 403 is often a rule about crawlers, which its
operators do change.
"""
WITHHELD_NAMES = {kind.value: str(status) for status, kind in WITHHELD.items()}
"""The statuses of the outcomes that withhold an existing page."""

JITTER = 0.1
"""Intervals are spread over ±10 %, so that pages fetched together do not stay together."""

# A Last-Modified as recent as this is the time of the response, not of the page.
_YOUNG_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The observation of one fetch."""

    outcome: str
    """The class name of the outcome: Fetched, NotModified, Gone, …"""
    fetched_at_ms: int
    page_type: str | None = None
    """The type of a Rich Pin; None: no page was read."""
    body_hash: str | None = None
    """The hash of the body before compression."""
    fresh_s: float | None = None
    """Remaining freshness by Cache-Control or Expires; None: not given."""
    modified_at_ms: int | None = None
    """Last-Modified, or a sitemap's lastmod."""
    not_before_ms: int | None = None
    """The earliest useful time to ask again: the robots rules' expiry, Retry-After."""


class RefreshState(NamedTuple):
    """The state of a page between its fetches. A tuple, because it is copied at every fetch."""

    a: float = 0.0
    """Shape of the belief about its rate of change; 0: none yet."""
    b_s: float = 0.0
    """Its other parameter; a / b_s is the expected rate, in changes a second."""
    usual_s: float = 0.0
    """The usual interval of a page with such fields, before anything is known of its own pace."""
    interval_s: float = 0.0
    """The last planned interval, within the settings' bounds, without jitter and hints."""
    checks: int = 0
    """Fetches that could be compared with an earlier one."""
    changes: float = 0.0
    """How many of them observed a change; a change of a slow field counts less than one."""
    checked_at_ms: int = 0
    """The last fetch of any outcome."""
    compared_at_ms: int = 0
    """The last one that brought the page, or confirmed it as unchanged."""
    changed_at_ms: int = 0
    """The last of them that observed a change; 0: none did."""
    gone: int = 0
    """Consecutive 404 and 410 responses, spaced ones only."""
    gone_at_ms: int = 0
    failures: int = 0
    """
    How many other failures came in a row; below 0: in how many fetches in a row the page was
    withheld. Each kind begins its waits anew after the other.
    """
    due_at_ms: int | None = None
    """The next fetch, as planned by the last one; None: given up."""
    body_hash: str = ""
    """The first 16 digits of the body's hash."""
    page_type: str = "page"

    @property
    def rate_per_s(self) -> float:
        """The expected number of changes a second."""
        return self.a / self.b_s if self.b_s else 0.0


def decide(
    state: RefreshState | None,
    seen: Seen,
    changed: Iterable[str],
    present: Container[str],
    settings: RefreshSettings,
    *,
    spread: float = 0.5,
) -> tuple[RefreshState, int | None]:
    """
    The state after a fetch, and when to fetch next (ms since the epoch; None: given up).

    Idempotent: a second call for the same fetch has the same result, so a batch may be repeated.

    Args:
        state: before the fetch; None: this is the first fetch.
        seen: the fetch.
        changed: fields whose values differ from the stored ones; empty for a first fetch.
        present: all fields of the page.
        settings: bounds and effort.
        spread: 0 to 1, this page's position within the jitter.
    """
    before = state or RefreshState()
    if before.checked_at_ms >= seen.fetched_at_ms:
        return before, before.due_at_ms
    if seen.outcome in (OutcomeKind.FETCHED, OutcomeKind.NOT_MODIFIED):
        after = _compared(before, seen, tuple(changed), present, settings)
        wait_s = _hinted_s(after, seen)
    elif seen.outcome == OutcomeKind.GONE:
        after = _gone(before, seen, settings)
        wait_s = GONE_WAITS_S[min(after.gone, len(GONE_WAITS_S)) - 1]
    elif seen.outcome in WITHHELD_NAMES:
        row = max(0, -before.failures)
        after = before._replace(failures=-row - 1, gone=0, gone_at_ms=0)
        wait_s = withheld_s(seen.outcome, settings) * 2.0 ** min(row, 10)
    else:
        row = max(0, before.failures)
        after = before._replace(failures=row + 1)
        doubled = FAILED_WAIT_S * 2.0 ** min(row, 10)
        wait_s = min(max(doubled, after.interval_s), LONGEST_FAILED_WAIT_S)
    given_up = after.gone >= settings.gone_confirmations
    due_at_ms = None if given_up else _due(seen, wait_s, settings, spread)
    return after._replace(checked_at_ms=seen.fetched_at_ms, due_at_ms=due_at_ms), due_at_ms


def _due(seen: Seen, wait_s: float, settings: RefreshSettings, spread: float) -> int:
    wait_s = _bounded_s(wait_s * (1 - JITTER + 2 * JITTER * spread), settings)
    return max(seen.fetched_at_ms + int(wait_s * 1000), seen.not_before_ms or 0)


def _bounded_s(wait_s: float, settings: RefreshSettings) -> float:
    return min(max(wait_s, settings.min_interval_s), settings.max_interval_s)


def _gone(before: RefreshState, seen: Seen, settings: RefreshSettings) -> RefreshState:
    spacing_s = min(GONE_SPACING_S, settings.max_interval_s / 2)
    spaced = seen.fetched_at_ms - before.gone_at_ms >= spacing_s * 1000
    if not spaced and before.gone:
        return before
    gone = min(before.gone + 1, settings.gone_confirmations)
    return before._replace(gone=gone, gone_at_ms=seen.fetched_at_ms)


def _compared(
    before: RefreshState,
    seen: Seen,
    changed: tuple[str, ...],
    present: Container[str],
    settings: RefreshSettings,
) -> RefreshState:
    page_type = seen.page_type or before.page_type
    read = seen.outcome == OutcomeKind.FETCHED or not before.usual_s
    usual = usual_of_page(present, page_type, settings) if read else before.usual_s
    kind = kind_of(usual, settings.effort)
    body = (seen.body_hash or "")[:16] or before.body_hash
    state = before
    if not before.a:
        state = before._replace(a=PRIOR_SHAPE, b_s=PRIOR_SHAPE / kind.prior_rate)
    weight = 0.0
    if before.compared_at_ms:
        if page_type == "page" and body != before.body_hash:
            changed = (*changed, "body")
        weight = change_weight(page_type, changed, usual, settings)
        passed_s = (seen.fetched_at_ms - before.compared_at_ms) / 1000
        a, b_s = updated_belief(state.a, state.b_s, passed_s, weight)
        state = state._replace(
            a=a, b_s=b_s, checks=state.checks + 1, changes=state.changes + weight
        )
    elif seen.modified_at_ms is not None:
        # Nothing changed since then; a page that is ten usual intervals old is merely slow.
        still_s = (seen.fetched_at_ms - seen.modified_at_ms) / 1000
        if still_s > _YOUNG_S:
            state = state._replace(b_s=state.b_s + min(still_s, 10 * usual))
    return state._replace(
        usual_s=usual,
        interval_s=_bounded_s(interval_s(state.rate_per_s, kind), settings),
        compared_at_ms=seen.fetched_at_ms,
        changed_at_ms=seen.fetched_at_ms if weight else before.changed_at_ms,
        gone=0,
        gone_at_ms=0,
        failures=0,
        body_hash=body,
        page_type=page_type,
    )


def _hinted_s(state: RefreshState, seen: Seen) -> float:
    """Wait for the response's own freshness to end, but at most for the usual interval."""
    if not seen.fresh_s:
        return state.interval_s
    return max(state.interval_s, min(seen.fresh_s, state.usual_s))
