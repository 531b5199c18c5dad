"""Chooses the egress routes for a URL according to `egress.rules`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from aragog.settings.egress import EgressRule, EgressSettings
from urlspelling.domain import host
from urlspelling.hosts import and_parents

DIRECT, PROXY = "direct", "proxy"
"""Routes that need no entry in `egress.ways`."""


@dataclass(frozen=True, slots=True)
class EgressContext:
    """What the rules depend on, besides the URL."""

    crawl: str = ""
    """The name of the URL's crawl; "" if it has none."""
    previous_status: int = 0
    """The previous attempt's status if it was 403 or 429; otherwise 0."""
    way: str = ""
    """A route chosen by the caller instead of the rules; "" if none."""


ANY_CONTEXT = EgressContext()


@dataclass(frozen=True, slots=True)
class RouteList:
    """The egress routes that a request may use."""

    names: tuple[str, ...]
    """Route names. Each route is used only if all earlier ones are failing."""
    reason: str
    """Why these routes were chosen, such as `egress.rules[2]`."""


class EgressRules:
    """
    The rules from the settings.

    Args:
        settings: validated routes and rules.
        has_proxy: True if `fetch.proxy` is set. URLs that match no rule then use it.
    """

    def __init__(self, settings: EgressSettings, *, has_proxy: bool) -> None:
        numbered = [
            (rule, RouteList(rule.ways, f"egress.rules[{number}]"))
            for number, rule in enumerate(settings.rules, 1)
        ]
        self._unconditional_rules = [(rule, route) for rule, route in numbered if not rule.after]
        self._rules_after_status = [(rule, route) for rule, route in numbered if rule.after]
        name, reason = (PROXY, "fetch.proxy") if has_proxy else (DIRECT, "no rule matches")
        self.default_routes: RouteList = RouteList((name,), reason)
        """The routes for URLs that match no rule."""
        self.names: frozenset[str] = frozenset({*settings.ways, DIRECT, name})
        # Worth caching: the result depends only on the arguments, and a batch has few hosts.
        self._cached_match = lru_cache(maxsize=8192)(self._first_match)
        self.depends_on_crawl: bool = any(rule.crawls for rule, _ in numbered)

    def route(self, url: str, context: EgressContext = ANY_CONTEXT) -> RouteList:
        """
        Return the routes for a normalized URL, from the first matching rule.

        If the context has a status, rules with `after` are tried first. A route chosen by the
        caller is returned alone, even if it does not exist.
        """
        if context.way:
            return RouteList((context.way,), "named by the request")
        if not (self._unconditional_rules or self._rules_after_status):
            return self.default_routes
        return self._cached_match(host(url), context)

    def _first_match(self, name: str, context: EgressContext) -> RouteList:
        for rule, route in self._rules_in_order(context.previous_status):
            if _matches(rule, name, context):
                return route
        return self.default_routes

    def conditional_routes(self, url: str) -> Iterator[tuple[str, RouteList]]:
        """Yield each condition under which other routes apply to this URL, and those routes."""
        name = host(url)
        for rule, route in (*self._rules_after_status, *self._unconditional_rules):
            context = EgressContext(rule.crawls[0] if rule.crawls else "")
            if (rule.after or rule.crawls) and _matches(rule, name, context):
                conditions = [f"after {status}" for status in rule.after]
                conditions += [f"for the crawl {crawl}" for crawl in rule.crawls]
                yield " or ".join(conditions), route

    def routes_differ(self, url: str, context: EgressContext, status: int) -> bool:
        """Return True if a retry after this status uses different routes than the attempt."""
        if not self._rules_after_status or context.way:
            return False
        retry_context = EgressContext(context.crawl, status)
        return self.route(url, retry_context).names != self.route(url, context).names

    def _rules_in_order(self, previous_status: int) -> Iterator[tuple[EgressRule, RouteList]]:
        if previous_status:
            for rule, route in self._rules_after_status:
                if previous_status in rule.after:
                    yield rule, route
        yield from self._unconditional_rules


def _matches(rule: EgressRule, name: str, context: EgressContext) -> bool:
    bare_name = name.strip("[]")
    return (
        (not rule.hosts or bare_name in rule.hosts)
        and (not rule.domains or not set(and_parents(bare_name)).isdisjoint(rule.domains))
        and (not rule.suffixes or any(bare_name.endswith(f".{end}") for end in rule.suffixes))
        and (not rule.crawls or context.crawl in rule.crawls)
    )
