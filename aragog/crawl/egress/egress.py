"""`Egress`: the ways out of one process, chosen by the rules and by which of them work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from aragog.crawl.egress.choice import ANY, DIRECT, PROXY, EgressChoice, EgressRules, Route
from aragog.crawl.egress.health import Failing, WayHealth
from aragog.crawl.egress.ways import ProxyServer, Way
from aragog.runtime.clock import Clock
from aragog.settings import EgressSettings, FetchSettings


class Exit(NamedTuple):
    """A way out for one request."""

    way: Way
    key: str
    """Connections are reused only by requests with the same key."""
    url: str
    crawl: str
    at_ms: int
    """The time for the words in braces of its proxy; 0 if there are none."""

    def server(self) -> ProxyServer | None:
        """The proxy with its login, or None if direct; raises ConfigError without the login."""
        return self.way.server(self.url, self.crawl, self.at_ms)


class Egress:
    """
    The ways of one process. Thread-safe.

    Args:
        settings: ways and rules.
        fetch: its proxy is the way of URLs that match no rule.
        clock: dates sessions of proxies, and trials of failing ways.
        tell: see `WayHealth`.

    Raises:
        ConfigError: `fetch.proxy` is not a proxy, or a login is missing.
    """

    def __init__(
        self,
        settings: EgressSettings,
        fetch: FetchSettings,
        clock: Clock,
        *,
        tell: Callable[[str, Failing | None], None] | None = None,
    ) -> None:
        self._clock = clock
        self.rules: EgressRules = EgressRules(settings, has_proxy=bool(fetch.proxy))
        self.health: WayHealth = WayHealth(clock, tell) if tell else WayHealth(clock)
        self._ways = {DIRECT: Way(DIRECT)}
        if fetch.proxy:
            self._ways[PROXY] = Way.of_fetch_proxy(fetch.proxy)
        self._ways |= {name: Way.of(name, each) for name, each in settings.ways.items()}

    @property
    def by_crawl(self) -> bool:
        """True if a rule or a proxy's session depends on a crawl's name."""
        return self.rules.by_crawl or any("crawl" in way.words for way in self._ways.values())

    def route(self, url: str, choice: EgressChoice = ANY) -> Route:
        """The ways that a request for a normalized URL may take."""
        return self.rules.route(url, choice)

    def exits(self, route: Route, url: str, crawl: str = "") -> Iterator[Exit]:
        """The ways of a route that work now, in order. If one fails, the caller takes the next."""
        for name in self.health.usable(route.ways):
            if (way := self._ways.get(name)) is None:
                continue
            at_ms = self._clock.now_ms() if way.words else 0
            yield Exit(way, way.key(url, crawl, at_ms), url, crawl, at_ms)

    def why_none(self, route: Route) -> str:
        """Describe, for users, why no way of a route works."""
        unknown = [name for name in route.ways if name not in self._ways]
        if unknown:
            return f"there is no way out named {', '.join(unknown)} in egress.ways"
        names = ", ".join(route.ways)
        return f"no way out works of {names} ({route.reason}): {self.health.reason(route.ways)}"

    def retry_at_ms(self, route: Route) -> int:
        """When the first way of a route is tried again, in this process's time."""
        return self._clock.now_ms() + self.health.retry_in_ms(route.ways)
