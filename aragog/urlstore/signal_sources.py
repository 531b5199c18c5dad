"""
Decides when a sitemap or feed is read again, based on earlier reads. No I/O.

A signal is a date that reports a change (`signal_trust`). A file with R true signals per second is
read every S seconds. This takes 1/S requests per second, and each change waits S/2 seconds for its
signal on average. If other fetches must gain `m` seconds of freshness (`change_rate`), the sum m/S
+ R·S/2 is smallest at S = sqrt(2m/R). Reading a file T seconds after the last read gains R·T²/2
seconds of freshness. When the file is due, this equals `m`, so the request is worth as much as
fetching a page.

R is a Gamma belief about a Poisson rate: each read adds its signals to the shape, and the elapsed
time to the rate parameter.
"""

from __future__ import annotations

import math

from aragog.settings import RefreshSettings
from aragog.urlstore.change_rate import PRIOR_SHAPE, kind_of
from aragog.urlstore.usual_intervals import FEED, SITEMAP, usual_s

SOURCES = frozenset({SITEMAP, FEED})
"""The page types of sitemaps and feeds in the refresh schedule."""
# Each read reduces the weight of earlier reads, but not below the prior's, because a file may
# become active.
_DECAY = 0.95


def min_gain_s(settings: RefreshSettings) -> float:
    """Return the seconds of freshness that a request must gain, as for a page without a type."""
    return kind_of(usual_s("page", settings), settings.effort).marginal_freshness_s


def first_belief(kind: str, settings: RefreshSettings) -> tuple[float, float]:
    """
    Return the belief before the first read.

    Its best interval is the usual interval of the kind.
    """
    interval_s = usual_s(kind, settings)
    rate = 2 * min_gain_s(settings) / interval_s**2
    return PRIOR_SHAPE, PRIOR_SHAPE / rate


def read_belief(a: float, b_s: float, elapsed_s: float, signal_count: float) -> tuple[float, float]:
    """Return the belief after a read with that many signals, `elapsed_s` after the last read."""
    decay = max(_DECAY, PRIOR_SHAPE / a) if a > PRIOR_SHAPE else 1.0
    return a * decay + signal_count, b_s * decay + max(elapsed_s, 0.0)


def reading_interval_s(rate_per_s: float, settings: RefreshSettings) -> float:
    """Return the best interval for a file, given its signals per second."""
    if rate_per_s <= 0:
        return settings.max_interval_s
    return math.sqrt(2 * min_gain_s(settings) / rate_per_s)


def reading_gain_s(rate_per_s: float, age_s: float) -> float:
    """Return the freshness (s) gained by reading a file again `age_s` s after the last read."""
    return rate_per_s * age_s**2 / 2
