"""
When a sitemap or feed is read again, based on the results of earlier reads. Pure.

A file that has R true signals per second and is read every S seconds costs 1/S requests per second,
and each change waits S/2 for its signal. With `m`, the seconds of freshness that every other fetch
must gain (`change_rate`), the sum m/S + R·S/2 is smallest at S = sqrt(2m/R). A file that names many
changes is therefore read often, and one that reports none less and less often. A request for a file
is worth as much as one for a page: it gains R·T²/2 after T seconds, which equals `m` when it is
due.

R is a Gamma belief about a Poisson rate: each read adds its number of signals to the shape, and the
time since the last read to the other parameter.
"""

from __future__ import annotations

import math

from aragog.settings import RefreshSettings
from aragog.urlstore.change_rate import PRIOR_SHAPE, kind_of
from aragog.urlstore.usual_intervals import FEED, SITEMAP, usual_s

SOURCES = frozenset({SITEMAP, FEED})
"""Their types in the refresh schedule."""
# Each read reduces the weight of earlier ones, down to the prior's: a file may become active.
_FADE = 0.95


def least_gain_s(settings: RefreshSettings) -> float:
    """The freshness that a request must gain: that of a page without a type."""
    return kind_of(usual_s("page", settings), settings.effort).marginal_freshness_s


def first_belief(kind: str, settings: RefreshSettings) -> tuple[float, float]:
    """The belief before the first read: the usual interval of its kind is the best one."""
    every_s = usual_s(kind, settings)
    rate = 2 * least_gain_s(settings) / every_s**2
    return PRIOR_SHAPE, PRIOR_SHAPE / rate


def read_belief(a: float, b_s: float, passed_s: float, brought: float) -> tuple[float, float]:
    """The belief after a read that found `brought` signals, `passed_s` after the last one."""
    fade = max(_FADE, PRIOR_SHAPE / a) if a > PRIOR_SHAPE else 1.0
    return a * fade + brought, b_s * fade + max(passed_s, 0.0)


def reading_interval_s(rate_per_s: float, settings: RefreshSettings) -> float:
    """The best interval for a file, given its signals per second."""
    if rate_per_s <= 0:
        return settings.max_interval_s
    return math.sqrt(2 * least_gain_s(settings) / rate_per_s)


def reading_gain_s(rate_per_s: float, age_s: float) -> float:
    """Seconds of freshness gained by reading a file again, given the time since the last read."""
    return rate_per_s * age_s**2 / 2
