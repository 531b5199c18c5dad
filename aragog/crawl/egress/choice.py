"""Chooses the ways out for a URL by the rules of `egress.rules`. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from aragog.settings.egress import EgressRule, EgressSettings
from urlspelling.domain import host
from urlspelling.hosts import and_parents

DIRECT, PROXY = "direct", "proxy"
"""Ways that need no entry in `egress.ways`."""


@dataclass(frozen=True, slots=True)
class EgressChoice:
    """The properties of a request, besides its URL, that choose its way out."""

    crawl: str = ""
    """The name of its crawl; "" if it has none."""
    after: int = 0
    """The status of the previous attempt if rules may depend on it (403, 429), otherwise 0."""
    way: str = ""
    """A way that was requested explicitly, overriding the rules; "" if none was."""


ANY = EgressChoice()


@dataclass(frozen=True, slots=True)
class Route:
    """The ways that a request may take."""

    ways: tuple[str, ...]
    """The ways in order. Each is used only while all ways before it fail."""
    reason: str
    """The rule that chose the ways, as in the settings: `egress.rules[2]`."""


class EgressRules:
    """
    The rules of the settings.

    Args:
        settings: valid ways and rules.
        has_proxy: True if `fetch.proxy` is set. It is then the way of URLs that match no rule.
    """

    def __init__(self, settings: EgressSettings, *, has_proxy: bool) -> None:
        numbered = [
            (rule, Route(rule.ways, f"egress.rules[{number}]"))
            for number, rule in enumerate(settings.rules, 1)
        ]
        self._always = [(rule, route) for rule, route in numbered if not rule.after]
        self._after = [(rule, route) for rule, route in numbered if rule.after]
        usual = (PROXY, "fetch.proxy") if has_proxy else (DIRECT, "no rule matches")
        self.usual: Route = Route(usual[:1], usual[1])
        """The route of URLs that match no rule."""
        self.names: frozenset[str] = frozenset({*settings.ways, DIRECT, usual[0]})
        """The names of all ways."""
        # Cached, because the result depends only on these arguments and a batch's pages share few
        # hosts.
        self._found = lru_cache(maxsize=8192)(self._first)
        self.by_crawl: bool = any(rule.crawls for rule, _ in numbered)
        """True if a rule depends on a crawl's name."""

    def route(self, url: str, choice: EgressChoice = ANY) -> Route:
        """
        The ways of a normalized URL: those of the first rule that matches.

        After a status, the rules with `after` come first. A way that was requested explicitly is
        the only one; if it does not exist, the request has no way.
        """
        if choice.way:
            return Route((choice.way,), "named by the request")
        if not (self._always or self._after):
            return self.usual
        return self._found(host(url), choice)

    def _first(self, name: str, choice: EgressChoice) -> Route:
        """The route of the first rule that matches a host."""
        for rule, route in self._in_order(choice.after):
            if _matches(rule, name, choice):
                return route
        return self.usual

    def conditional(self, url: str) -> Iterator[tuple[str, Route]]:
        """Yield, for users, each condition besides the host that gives a URL another route."""
        name = host(url)
        for rule, route in (*self._after, *self._always):
            anyway = EgressChoice(rule.crawls[0] if rule.crawls else "")
            if (rule.after or rule.crawls) and _matches(rule, name, anyway):
                conditions = [f"after {status}" for status in rule.after]
                conditions += [f"for the crawl {crawl}" for crawl in rule.crawls]
                yield " or ".join(conditions), route

    def changes_after(self, url: str, choice: EgressChoice, status: int) -> bool:
        """True if the next attempt, after this status, takes other ways than `choice` did."""
        if not self._after or choice.way:
            return False
        following = EgressChoice(choice.crawl, status)
        return self.route(url, following).ways != self.route(url, choice).ways

    def _in_order(self, after: int) -> Iterator[tuple[EgressRule, Route]]:
        if after:
            yield from ((rule, route) for rule, route in self._after if after in rule.after)
        yield from self._always


def _matches(rule: EgressRule, name: str, choice: EgressChoice) -> bool:
    """True if a host satisfies all conditions of a rule."""
    plain = name.strip("[]")
    return (
        (not rule.hosts or plain in rule.hosts)
        and (not rule.domains or not set(and_parents(plain)).isdisjoint(rule.domains))
        and (not rule.suffixes or any(plain.endswith(f".{end}") for end in rule.suffixes))
        and (not rule.crawls or choice.crawl in rule.crawls)
    )
