"""
Estimates how often a page changes, and how often it should be fetched. No I/O.

The belief about the change rate λ is a Gamma distribution (shape `a`, rate `b_s` in seconds), so
irregular checks need no history. If a check finds no change within T seconds, the belief becomes
Gamma(a, b+T), which is exact. A check that finds at least one change has the likelihood 1 -
exp(-λT); the resulting mixture is approximated by the Gamma with the same mean and variance. With
equal intervals and no prior, the belief's mean behaves like the bias-reduced estimator of Cho and
Garcia-Molina (Estimating Frequency of Change, 2003).

The interval follows the same authors' optimal allocation (Effective Page Refresh Policies for Web
Crawlers, 2003): fetches go to the pages where an additional fetch gains the most freshness. A page
with rate λ fetched every T = r/λ seconds gains (1 - (1+r)exp(-r))/λ seconds of freshness from an
additional fetch; at the optimum this gain, `marginal_freshness_s`, is the same for all pages of a
kind. A page is therefore fetched in proportion to the square root of its rate, but not more often
than the kind's shortest interval allows. Pages that change too fast for any fetch rate get four
times the usual interval.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

FLOOR_SHARE = 1 / 8
"""A page's shortest interval, as a fraction of its usual interval."""

# Shape of the prior of λ: a wide Gamma, whose standard deviation is 1.4 times its mean.
PRIOR_SHAPE = 0.5
# Each change reduces the weight of older evidence: about seven changes are remembered.
_CHANGE_DECAY = 0.85
# Each check without a change reduces that weight too, but not below the prior's weight, because
# pages may slow down.
_NO_CHANGE_DECAY = 0.97
# The shortest interval in the optimal allocation: r = 1.793, T = 3.350 marginal_freshness_s.
_MIN_GAIN = 0.5351
_MIN_INTERVAL = 3.350
_HOPELESS_GAIN = 0.99
_HOPELESS_INTERVALS = 4


@dataclass(frozen=True, slots=True)
class Kind:
    """How pages of one kind are refreshed while their own change rates are unknown."""

    usual_s: float
    floor_s: float
    marginal_freshness_s: float
    """How many seconds of freshness a fetch must gain."""
    prior_rate: float
    """The rate, in changes per second, for which `usual_s` is the best interval."""
    hopeless_s: float
    """The interval for pages that change too fast for any fetch rate."""


def updated_belief(
    a: float, b_s: float, elapsed_s: float, weight: float, *, is_reported: bool = False
) -> tuple[float, float]:
    """
    Return the belief (`a`, `b_s`) after a check made `elapsed_s` seconds after the previous one.

    Args:
        a: shape of the belief.
        b_s: its rate parameter, in seconds.
        elapsed_s: time between the two checks.
        weight: weight of the observed change, 0 to 1; 0 for no change.
        is_reported: a sitemap or feed reported this change and so caused the check. It counts as
            exactly one change: Gamma(a+1, b+T).
    """
    if elapsed_s <= 0:
        return a, b_s
    if not weight:
        decay = max(_NO_CHANGE_DECAY, PRIOR_SHAPE / a) if a > PRIOR_SHAPE else 1.0
        return a * decay, b_s * decay + elapsed_s
    old_a, old_b = a * _CHANGE_DECAY, b_s * _CHANGE_DECAY
    if is_reported:
        return old_a + weight, old_b + elapsed_s
    no_change = (old_b / (old_b + elapsed_s)) ** old_a
    mean = (old_a / old_b - no_change * old_a / (old_b + elapsed_s)) / (1 - no_change)
    square = (
        old_a
        * (old_a + 1)
        * (1 / old_b**2 - no_change / (old_b + elapsed_s) ** 2)
        / (1 - no_change)
    )
    variance = max(square - mean**2, mean**2 * 1e-6)
    changed_b = mean / variance
    changed_a = mean * changed_b
    return weight * changed_a + (1 - weight) * a, weight * changed_b + (1 - weight) * (
        b_s + elapsed_s
    )


def interval_s(rate_per_s: float, kind: Kind) -> float:
    """Return the best interval for a page with this rate of change."""
    gain = rate_per_s * kind.marginal_freshness_s
    if gain <= 0:
        return math.inf
    if gain >= _MIN_GAIN:
        # The faster such a page changes, the less freshness a fetch gains.
        best_s = math.inf if gain >= _HOPELESS_GAIN else ratio(gain) / rate_per_s
        return min(max(best_s, kind.floor_s), kind.hopeless_s)
    return max(ratio(gain) / rate_per_s, kind.floor_s)


@lru_cache(maxsize=256)
def kind_of(usual_s: float, effort: float = 1.0) -> Kind:
    """Return the kind for pages with this usual interval; more effort shortens all intervals."""
    floor_s = usual_s * FLOOR_SHARE / effort
    marginal_freshness_s = floor_s / _MIN_INTERVAL
    # For the usual interval, r solves 1 - (1+r)exp(-r) = r·m/usual, with m = marginal_freshness_s;
    # for a small r it is about 2·m/usual.
    k = marginal_freshness_s * effort / usual_s
    r = 2 * k
    for _ in range(50):
        r = ratio(k * r)
    hopeless_s = _HOPELESS_INTERVALS * usual_s / math.sqrt(effort)
    return Kind(usual_s, floor_s, marginal_freshness_s, r / usual_s, hopeless_s)


def ratio(gain: float) -> float:
    """Solve 1 - (1+r)exp(-r) = gain (0 to 0.99) for r by Newton's method; takes 2 µs."""
    r = math.sqrt(2 * gain) * (1 + gain)
    for _ in range(8):
        e = math.exp(-r)
        step = (1 - (1 + r) * e - gain) / (r * e)
        r = max(r - step, r / 4)
        if abs(step) < 1e-6 * r:
            break
    return r
