"""
Scopes of crawls: rules that say which URLs belong to a crawl, and which of them decided. Pure.

A rule is a line of text that people can read:

    domain:example.org          the URLs of a domain and the hosts below it
    host:docs.example.org       the URLs of one host
    prefix:https://a.example/b/ URLs that begin with this text
    pattern:*/archive/*         whole URLs, in which `*` matches any characters
    -pattern:*?print=*          with `-` in front: leave such URLs out

A URL that matches a rule with `-` is out. With rules for domains, hosts or prefixes it must match
one of these; without them, a link stays within the registered domain of its page. With patterns it
must match one of these as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Self

from aragog.crawl.pipeline.url_filter import matches
from aragog.errors import BadInput, InvalidUrl
from urlspelling import normalize
from urlspelling.domain import host, registered_domain
from urlspelling.hosts import and_parents

MOST_RULES = 200
LONGEST_RULE = 500
SAME_DOMAIN = "the registered domain of its page"
NO_RULE = "no rule"


class ScopeVerdict(NamedTuple):
    """Whether a URL belongs to a crawl, and the rule that decided."""

    accepted: bool
    rule: str
    """The text of the rule; `SAME_DOMAIN` or `NO_RULE` where none of the scope's rules decided."""


class _Rule(NamedTuple):
    text: str
    kind: str
    value: str

    def matches(self, url: str) -> bool:
        return _MATCHES[self.kind](self.value, url)


def _of_domain(value: str, url: str) -> bool:
    return value in and_parents(host(url))


_MATCHES: dict[str, Callable[[str, str], bool]] = {
    "host": lambda value, url: host(url) == value,
    "domain": _of_domain,
    "prefix": lambda value, url: url.startswith(value),
    "pattern": matches,
}
_PLACES = ("host", "domain", "prefix")


@dataclass(frozen=True, slots=True)
class Scope:
    """
    The rules of a crawl, in their order.

    Raises:
        BadInput: a text is no rule, or there are more than `MOST_RULES`.
    """

    rules: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.rules) > MOST_RULES:
            raise BadInput(f"scope: at most {MOST_RULES} rules, got {len(self.rules)}")
        _read(self.rules)

    @classmethod
    def of(cls, rules: Sequence[str]) -> Self:
        """The scope of rules as people write them: hosts and prefixes in any spelling."""
        return cls(tuple(_spelled(rule) for rule in rules))

    def decide(self, url: str, *, page_url: str | None = None) -> ScopeVerdict:
        """
        Decide about a normalized URL.

        Args:
            url: the URL.
            page_url: the page that links to it, normalized; None: it is a seed.
        """
        out, places, patterns = _read(self.rules)
        for rule in out:
            if rule.matches(url):
                return ScopeVerdict(False, rule.text)
        place = next((rule.text for rule in places if rule.matches(url)), None)
        if places and place is None:
            return ScopeVerdict(False, NO_RULE)
        if not places and page_url is not None:
            if registered_domain(url) != registered_domain(page_url):
                return ScopeVerdict(False, SAME_DOMAIN)
            place = SAME_DOMAIN
        pattern = next((rule.text for rule in patterns if rule.matches(url)), None)
        if patterns and pattern is None:
            return ScopeVerdict(False, NO_RULE)
        return ScopeVerdict(True, pattern or place or NO_RULE)


@lru_cache(maxsize=256)
def _read(rules: tuple[str, ...]) -> tuple[tuple[_Rule, ...], tuple[_Rule, ...], tuple[_Rule, ...]]:
    """The rules that leave URLs out, those for places, and those for patterns."""
    out: list[_Rule] = []
    places: list[_Rule] = []
    patterns: list[_Rule] = []
    for text in rules:
        rule = _rule(text)
        if text.startswith("-"):
            out.append(rule)
        else:
            (places if rule.kind in _PLACES else patterns).append(rule)
    return tuple(out), tuple(places), tuple(patterns)


def _rule(text: str) -> _Rule:
    kind, colon, value = text.removeprefix("-").partition(":")
    if kind not in _MATCHES or not colon or not value:
        raise BadInput(
            f"scope: {text[:100]!r} is no rule; write host:, domain:, prefix: or pattern: and a "
            "value, with - in front to leave such URLs out"
        )
    if len(text) > LONGEST_RULE or not text.isprintable():
        raise BadInput(
            f"scope: a rule has at most {LONGEST_RULE} printable characters, got {text[:50]!r}"
        )
    return _Rule(text, kind, value)


def _spelled(text: str) -> str:
    """The rule with its host or prefix as normalized URLs have it."""
    sign = "-" if text.startswith("-") else ""
    _, kind, value = _rule(text.strip())
    try:
        if kind in ("host", "domain"):
            value = host(normalize(f"http://{value}/"))
        elif kind == "prefix":
            spelled = normalize(value)
            value = spelled if value.endswith("/") else spelled.removesuffix("/") or spelled
    except InvalidUrl as error:
        raise BadInput(f"scope: {text[:100]!r}: {error}") from error
    return f"{sign}{kind}:{value}"
