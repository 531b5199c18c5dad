"""All egress routes of one process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from aragog.crawl.egress.health import EgressHealth, RouteFailure
from aragog.crawl.egress.routes import EgressRoute, ProxyServer
from aragog.crawl.egress.rules import (
    ANY_CONTEXT,
    DIRECT,
    PROXY,
    EgressContext,
    EgressRules,
    RouteList,
)
from aragog.runtime.clock import Clock
from aragog.settings import EgressSettings, FetchSettings


class SelectedRoute(NamedTuple):
    """The egress route of one request."""

    route: EgressRoute
    key: str
    """Only requests with equal keys share a connection."""
    url: str
    crawl: str
    at_ms: int
    """The time for filling in the proxy's placeholders; 0 without placeholders."""

    def server(self) -> ProxyServer | None:
        """
        Return the proxy with its credentials, or None for a direct route. Raises ConfigError if the
        credentials are missing.
        """
        return self.route.server(self.url, self.crawl, self.at_ms)


class Egress:
    """
    One process's egress routes. Thread-safe.

    Args:
        fetch: `fetch.proxy` is the route for URLs that match no rule.
        clock: used to end proxy sessions and retry failing routes.
        on_change: see `EgressHealth`.

    Raises:
        ConfigError: `fetch.proxy` is not a proxy URL, or credentials are missing.
    """

    def __init__(
        self,
        settings: EgressSettings,
        fetch: FetchSettings,
        clock: Clock,
        *,
        on_change: Callable[[str, RouteFailure | None], None] | None = None,
    ) -> None:
        self._clock = clock
        self.rules: EgressRules = EgressRules(settings, has_proxy=bool(fetch.proxy))
        self.health: EgressHealth = (
            EgressHealth(clock, on_change) if on_change else EgressHealth(clock)
        )
        self._routes = {DIRECT: EgressRoute(DIRECT)}
        if fetch.proxy:
            self._routes[PROXY] = EgressRoute.from_fetch_proxy(fetch.proxy)
        self._routes |= {
            name: EgressRoute.from_settings(name, route_settings)
            for name, route_settings in settings.ways.items()
        }

    @property
    def depends_on_crawl(self) -> bool:
        return self.rules.depends_on_crawl or any(
            "crawl" in route.placeholders for route in self._routes.values()
        )

    def route(self, url: str, context: EgressContext = ANY_CONTEXT) -> RouteList:
        return self.rules.route(url, context)

    def usable_routes(
        self, routes: RouteList, url: str, crawl: str = ""
    ) -> Iterator[SelectedRoute]:
        """Yield the routes that work or are due for a trial. If one fails, try the next."""
        for name in self.health.usable_routes(routes.names):
            if (route := self._routes.get(name)) is None:
                continue
            at_ms = self._clock.now_ms() if route.placeholders else 0
            yield SelectedRoute(route, route.key(url, crawl, at_ms), url, crawl, at_ms)

    def explain_failures(self, routes: RouteList) -> str:
        unknown = [name for name in routes.names if name not in self._routes]
        if unknown:
            return f"there is no egress route named {', '.join(unknown)} in egress.ways"
        text = f"all egress routes fail: {', '.join(routes.names)} ({routes.reason})"
        return f"{text}: {self.health.reason(routes.names)}"

    def retry_at_ms(self, routes: RouteList) -> int:
        """
        Return when the first of these routes can be retried, in ms since the epoch by this
        machine's clock.
        """
        return self._clock.now_ms() + self.health.retry_in_ms(routes.names)
