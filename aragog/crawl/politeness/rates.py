"""Each domain's rate, from the settings and the operator's overrides."""

from __future__ import annotations

from collections.abc import Callable

from aragog.crawl.politeness.overrides import Overrides
from aragog.settings import PolitenessSettings
from urlspelling.domain import host, registered_domain


class Rates:
    """The rates by limiter key (see `key_for`)."""

    def __init__(self, settings: PolitenessSettings, overrides: Overrides) -> None:
        self._settings = settings
        self._overrides = overrides

    def key_for(self, url: str) -> str:
        """Return a normalized URL's limiter key: its registered domain, unless overridden."""
        name = host(url)
        override = self._overrides.find(name)
        if override is None:
            return registered_domain(name)
        return name if override.scope == "host" else override.name

    def interval_us(self, key: str, crawl_delay_s: float | None = None) -> float:
        """Return the interval from the rate of `key` or the Crawl-delay, whichever is longer."""
        override = self._overrides.find(key)
        qps, cap_s = self._settings.qps, self._settings.crawl_delay_cap_s
        if override is not None:
            qps = override.qps or qps
            cap_s = cap_s if override.crawl_delay_cap_s is None else override.crawl_delay_cap_s
        return max(1e6 / qps, min(crawl_delay_s or 0.0, cap_s) * 1e6)

    def max_concurrent(self, key: str) -> int | None:
        override = self._overrides.find(key)
        return override.max_concurrent if override else None

    def max_latency_slowdown(self, key: str) -> float:
        """Return the largest factor by which latency may lengthen the interval; 1 for none."""
        override = self._overrides.find(key)
        limit = override.max_latency_slowdown if override else None
        return self._settings.max_latency_slowdown if limit is None else limit

    def is_stopped(self, key: str) -> bool:
        return self._overrides.is_stopped(key)

    def quiet_s(self, key: str, now_us: Callable[[], float]) -> float:
        """
        Return how many more seconds the current quiet hours of `key` last, or 0.0.

        Args:
            key: the limiter key.
            now_us: returns the current time. Only called for keys with quiet hours.
        """
        override = self._overrides.find(key)
        hours = override.quiet_hours if override else None
        return hours.remaining_s(now_us() / 1e6) if hours else 0.0

    def is_closed(self, key: str, now_us: Callable[[], float]) -> bool:
        """Return True if `key` gets no requests now, because of a stop or quiet hours."""
        return self.is_stopped(key) or self.quiet_s(key, now_us) > 0
