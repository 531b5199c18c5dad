"""
Crawl budgets: which of a domain's due pages to fetch now. No I/O.

Fetching an overloaded domain's due pages in order would waste fetches on pages that change too fast
to be kept fresh. A fetch therefore has a shadow price: the seconds of freshness that it must gain.
Fetching a page with change rate λ that was last checked T seconds ago gains (1 - (1+λT)exp(-λT))/λ,
at most 1/λ. The price is set so that as many pages qualify as the domain's rate allows. This gives
the optimal allocation of Cho and Garcia-Molina (see `change_rate`), for any distribution of rates.

The price rises while too many pages qualify, or while postponed pages wait too long. It falls while
too few qualify. The price changes by a factor of e in about a quarter of the domain's usual
interval, so a peak of an hour hardly changes it. If too few qualify, the best of the others are
fetched too.

Every page is fetched eventually. A page that gains less than the price is considered again when its
gain reaches the price or its age has doubled, or after `MAX_WAIT_S`. When its age reaches
`HOPELESS_AGES` times the domain's usual interval, the page is fetched whatever its gain.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from aragog.urlstore.change_rate import ratio
from aragog.urlstore.records import Due
from aragog.urlstore.refresh_policy import RefreshState
from aragog.urlstore.signal_sources import SOURCES, reading_gain_s
from aragog.urlstore.usual_intervals import DAY_S

MIN_PRICE_S = 60.0
"""A lower price counts as 0: all due pages are fetched."""
MAX_PRICE_S = 30 * DAY_S
HOPELESS_AGES = 6
_HOPELESS_PRICES = 200
MAX_WAIT_S = 30 * DAY_S

# Postponed pages may wait for this fraction of the domain's usual interval before the price rises.
_QUEUE_SHARE = 0.02
# Pages are postponed by at most this fraction of the domain's usual interval, because the price
# rises in the meantime.
_BOOKED_SHARE = 0.1
# The price changes by at most a factor of e in this fraction of the domain's usual interval.
_RESPONSE_SHARE = 0.25
_MAX_STEP = 0.5
# The weight of each fetched page in the moving average of the usual interval.
_AGE_WEIGHT = 0.01
# A page that changed at each of this many checks is assumed to change before every check.
_MIN_CHECKS = 5


class Budget(NamedTuple):
    """A domain's refresh state, kept between ticks (rounds of starting due refreshes)."""

    booked_ms: int = 0
    """The due time of the last postponed refresh; the next one comes after it."""
    free_ms: int = 0
    """When the next refresh may start; mainly matters if the rate is below one fetch per tick."""
    price_s: float = 0.0
    """Seconds of freshness that a fetch must gain; 0: all due pages are fetched."""
    age_s: float = 0.0
    """
    Moving average of the time between a page's last check and its fetch; 0 before the first fetch.
    """
    at_ms: int = 0

    @property
    def hopeless_s(self) -> float:
        """The age at which a page is fetched, whatever its gain."""
        return min(_HOPELESS_PRICES * self.price_s, HOPELESS_AGES * self.age_s or math.inf)


@dataclass(frozen=True, slots=True)
class Rationed:
    """Which of a domain's due URLs to fetch now, and which to postpone."""

    go: list[Due]
    """The pages to fetch now, the most valuable first."""
    later: list[tuple[Due, int]]
    """Postponed pages, each with its new due time."""
    budget: Budget
    """The new budget; the same object as before if nothing changed."""


def ration(
    due: Sequence[Due], budget: Budget, *, rate_per_s: float, now_ms: int, tick_s: float
) -> Rationed:
    """
    Divide a domain's refresh rate among its due URLs until the next tick.

    Args:
        due: the domain's due URLs; a URL may have no refresh state.
        budget: the budget after the last tick.
        rate_per_s: refreshes per second, above 0.
        now_ms: the current time, in ms since the epoch.
        tick_s: seconds until the next tick.
    """
    step_ms = 1000 / rate_per_s
    free_ms = max(float(budget.free_ms), float(now_ms))
    limit = max(math.ceil((now_ms + tick_s * 1000 - free_ms) / step_ms), 0)
    if len(due) <= limit and not budget.price_s:
        # In the usual case all pages are fetched, and the budget is stored only if the rate is
        # below one fetch per tick.
        is_slow = bool(due) and step_ms > tick_s * 1000
        charged = budget._replace(free_ms=int(free_ms + len(due) * step_ms), at_ms=now_ms)
        return Rationed(list(due), [], charged if is_slow else budget)
    ranked = sorted(
        ((marginal_freshness_s(page.state, budget, now_ms, page.belief), page) for page in due),
        key=lambda ranked_page: -ranked_page[0],
    )
    to_fetch, to_postpone = ranked[:limit], ranked[limit:]
    postponed: list[tuple[Due, int]] = []
    start_ms = _first_due_ms(budget, now_ms, tick_s)
    booked_count = 0
    for gain_s, page in to_postpone:
        if gain_s >= budget.price_s:
            postponed.append((page, int(start_ms + booked_count * step_ms)))
            booked_count += 1
        else:
            wait_s = max(_postpone_s(page.state, budget, now_ms), tick_s)
            postponed.append((page, now_ms + int(wait_s * 1000)))
    new_budget = budget._replace(
        booked_ms=int(start_ms + booked_count * step_ms) if booked_count else budget.booked_ms,
        free_ms=int(free_ms + len(to_fetch) * step_ms),
        age_s=_mean_age_s(budget.age_s, [page for _, page in to_fetch], now_ms),
        at_ms=now_ms,
    )
    qualifying_count = sum(1 for gain_s, _ in ranked if gain_s >= budget.price_s)
    allowed_count = max(rate_per_s * tick_s, 1.0)
    price_s = _price_s(
        budget, new_budget, (qualifying_count - allowed_count) / allowed_count, tick_s
    )
    return Rationed([page for _, page in to_fetch], postponed, new_budget._replace(price_s=price_s))


def _first_due_ms(budget: Budget, now_ms: int, tick_s: float) -> float:
    """Return when to start the first postponed page: after the queue, or at the next tick."""
    first_ms = now_ms + tick_s * 1000
    if not budget.age_s:
        return max(first_ms, float(budget.booked_ms))
    last_ms = now_ms + max(_BOOKED_SHARE * budget.age_s, 4 * tick_s) * 1000
    return float(budget.booked_ms) if first_ms < budget.booked_ms < last_ms else first_ms


def marginal_freshness_s(
    state: RefreshState | None, budget: Budget, now_ms: int, belief: float = 0.0
) -> float:
    """
    Return the seconds of freshness that fetching a page now gains.

    A page that was never checked, or whose last fetch failed, always gets a value high enough for a
    fetch, because it has already waited. `belief` is the probability that the page has changed,
    according to a sitemap or feed.
    """
    if state is None or not state.compared_at_ms or state.gone or state.failures:
        return 2 * budget.price_s
    age_s = _age_s(state, now_ms)
    if state.page_type in SOURCES:
        return reading_gain_s(state.rate_per_s, age_s)
    rate = optimistic_rate(state)
    steps = rate * age_s
    # Use the series for a small product, because of rounding.
    gain_s = (1 - (1 + steps) * math.exp(-steps)) / rate if steps > 1e-4 else rate * age_s**2 / 2
    if belief:
        gain_s += belief * (1 / rate - gain_s)
    if budget.price_s and age_s >= budget.hopeless_s:
        return max(gain_s, budget.price_s * age_s / budget.hopeless_s)
    return gain_s


def optimistic_rate(state: RefreshState) -> float:
    """
    Return the changes per second. While there are few observations, the estimate is optimistic
    (low).

    A page that seems to change too fast is rarely checked, so an estimate that is too high would
    hardly ever be corrected. Once a page has changed at many consecutive checks, each further check
    raises the estimate.
    """
    rate = state.rate_per_s * math.exp(-1 / math.sqrt(state.a)) if state.a else 1.0
    changed_at_every_check = state.checks - state.changes < 0.5
    return rate * (1 + max(state.checks - _MIN_CHECKS, 0)) if changed_at_every_check else rate


def _age_s(state: RefreshState, now_ms: int) -> float:
    return max(now_ms - state.compared_at_ms, 0) / 1000


def _postpone_s(state: RefreshState | None, budget: Budget, now_ms: int) -> float:
    if state is None:
        return 0.0
    age_s, rate = _age_s(state, now_ms), optimistic_rate(state)
    if state.page_type in SOURCES:
        gains_at_s = math.sqrt(2 * budget.price_s / max(state.rate_per_s, 1e-12))
    else:
        gain = rate * budget.price_s
        gains_at_s = ratio(gain) / rate if gain < 0.99 else math.inf
    at_s = min(gains_at_s, budget.hopeless_s, 2 * age_s, age_s + MAX_WAIT_S)
    return at_s - age_s


def _mean_age_s(age_s: float, pages: Sequence[Due], now_ms: int) -> float:
    for page in pages:
        state = page.state
        if state is not None and state.compared_at_ms and state.page_type not in SOURCES:
            page_age_s = _age_s(state, now_ms)
            age_s += (page_age_s - age_s) * _AGE_WEIGHT if age_s else page_age_s
    return age_s


def _price_s(before: Budget, after: Budget, excess: float, tick_s: float) -> float:
    """
    Return the new price.
    `excess` is the number of qualifying pages above the limit, as a fraction of the limit; negative
    if fewer qualify.
    """
    if not after.age_s:
        return before.price_s
    waiting_s = (after.booked_ms - after.at_ms) / 1000 - tick_s
    if waiting_s > 0 and excess >= 0:
        allowed_s = max(_QUEUE_SHARE * after.age_s, 2 * tick_s)
        excess = (waiting_s - allowed_s) / allowed_s
    excess = min(max(excess, -1.0), 1.0)
    # If the price falls, count all the time since the budget last changed: no page was due in the
    # meantime, so the rate was not used.
    elapsed_s = tick_s
    if excess < 0 and before.at_ms:
        elapsed_s = max((after.at_ms - before.at_ms) / 1000, tick_s)
    step = excess * min(elapsed_s / (_RESPONSE_SHARE * after.age_s), _MAX_STEP)
    price_s = max(before.price_s, MIN_PRICE_S if excess > 0 else 0.0) * math.exp(step)
    return min(price_s, MAX_PRICE_S) if price_s >= MIN_PRICE_S else 0.0
