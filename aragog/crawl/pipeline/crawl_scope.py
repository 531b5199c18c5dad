"""
Scopes of crawls. A scope is a list of rules that decide which URLs belong to the crawl.

A rule is a line of readable text:

    domain:example.org          URLs of a domain and its subdomains
    host:docs.example.org       URLs of one host
    prefix:https://a.example/b/ URLs that start with this string
    pattern:*/archive/*         whole URLs, where `*` matches any characters
    type:text/html              pages with a content type; `type:image/*` includes all subtypes
    language:en                 pages that declare a language: `en`, `en-US`
    -pattern:*?print=*          with `-` in front: exclude such URLs or pages

A URL that matches a rule with `-` is excluded. If there are rules for domains, hosts or prefixes, a
URL must match one of them; otherwise, a link must stay within the registered domain of its page. If
there are patterns, a URL must also match one of them.

Rules for content types and languages apply to the response (`decide_page`). A page that does not
declare its content type or language is not excluded by rules for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Self

from aragog.crawl.pipeline.url_filter import matches
from aragog.errors import BadInput, InvalidUrl
from aragog.urlstore.tombstones import site_name
from urlspelling import normalize
from urlspelling.domain import host, registered_domain
from urlspelling.hosts import and_parents

MAX_RULES = 200
MAX_RULE_CHARS = 500
SAME_DOMAIN = "the registered domain of its page"
NO_RULE = "no rule"
NO_SITE_RULE = "no rule for domains, hosts or prefixes matches"
NO_PATTERN = "no rule for patterns matches"


class ScopeVerdict(NamedTuple):
    """Whether a URL belongs to a crawl, and the rule that decided."""

    accepted: bool
    rule: str
    """The deciding rule. If none of the scope's rules decided, a description such as `NO_RULE`."""


class _Rule(NamedTuple):
    text: str
    kind: str
    value: str

    def matches(self, url: str) -> bool:
        return _URL_MATCHERS[self.kind](self.value, url)

    @property
    def is_exclusion(self) -> bool:
        return self.text.startswith("-")


def _matches_domain(value: str, url: str) -> bool:
    return value in and_parents(host(url))


_URL_MATCHERS: dict[str, Callable[[str, str], bool]] = {
    "host": lambda value, url: host(url) == value,
    "domain": _matches_domain,
    "prefix": lambda value, url: url.startswith(value),
    "pattern": matches,
}
_SITE_KINDS = ("host", "domain", "prefix")


def _matches_type(value: str, name: str) -> bool:
    return name == value or (value.endswith("/*") and name.startswith(value[:-1]))


def _matches_language(value: str, tag: str) -> bool:
    return tag == value or tag.startswith(f"{value}-")


_PAGE_MATCHERS: dict[str, Callable[[str, str], bool]] = {
    "type": _matches_type,
    "language": _matches_language,
}
_CONTENT_TYPE = re.compile(r"[a-z0-9!#$&^_.+-]+/(?:[a-z0-9!#$&^_.+-]+|\*)", re.ASCII)
_LANGUAGE = re.compile(r"[a-z]{2,8}(?:-[a-z0-9]{1,8})*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Scope:
    """
    A crawl's rules, in their order.

    Raises:
        BadInput: a string is not a rule, or there are more than `MAX_RULES`.
    """

    rules: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.rules) > MAX_RULES:
            raise BadInput(f"scope: at most {MAX_RULES} rules, got {len(self.rules)}")
        _parse_rules(self.rules)

    @classmethod
    def from_rules(cls, rules: Sequence[str]) -> Self:
        """Create a scope from users' rules. Their hosts and prefixes need not be normalized."""
        return cls(tuple(_normalize_rule(rule) for rule in rules))

    def decide(self, url: str, *, page_url: str | None = None) -> ScopeVerdict:
        """
        Decide whether a normalized URL is in scope.

        Args:
            url: the URL.
            page_url: the normalized URL of the page that links to it; None for a seed.
        """
        exclusions, site_rules, patterns, _ = _parse_rules(self.rules)
        for rule in exclusions:
            if rule.matches(url):
                return ScopeVerdict(False, rule.text)
        site_rule = next((rule.text for rule in site_rules if rule.matches(url)), None)
        if site_rules and site_rule is None:
            return ScopeVerdict(False, NO_SITE_RULE)
        if not site_rules and page_url is not None:
            if registered_domain(url) != registered_domain(page_url):
                return ScopeVerdict(False, SAME_DOMAIN)
            site_rule = SAME_DOMAIN
        pattern = next((rule.text for rule in patterns if rule.matches(url)), None)
        if patterns and pattern is None:
            return ScopeVerdict(False, NO_PATTERN)
        return ScopeVerdict(True, pattern or site_rule or NO_RULE)

    def excludes(self, url: str) -> bool:
        """Return True if a rule with `-` excludes a normalized URL."""
        return any(rule.matches(url) for rule in _parse_rules(self.rules).exclusions)

    @property
    def has_page_rules(self) -> bool:
        return bool(_parse_rules(self.rules).page_rules)

    def decide_page(self, content_type: str | None, language: str | None) -> ScopeVerdict:
        """
        Decide from a page's content type and language whether the page is in scope.

        Args:
            content_type: with or without parameters; None if the page has none.
            language: a BCP 47 tag; None if the page declares none.
        """
        values = {
            "type": (content_type or "").partition(";")[0].strip().lower(),
            "language": (language or "").strip().lower().replace("_", "-"),
        }
        rules, deciding_rule = _parse_rules(self.rules).page_rules, NO_RULE
        for kind, name in values.items():
            rules_of_kind = [rule for rule in rules if rule.kind == kind] if name else []
            for rule in rules_of_kind:
                if rule.is_exclusion and _PAGE_MATCHERS[kind](rule.value, name):
                    return ScopeVerdict(False, rule.text)
            inclusions = [rule for rule in rules_of_kind if not rule.is_exclusion]
            match = next((r.text for r in inclusions if _PAGE_MATCHERS[kind](r.value, name)), None)
            if inclusions and match is None:
                return ScopeVerdict(False, f"{kind} {name}")
            deciding_rule = match or deciding_rule
        return ScopeVerdict(True, deciding_rule)


class _Rules(NamedTuple):
    exclusions: tuple[_Rule, ...]
    """Rules that exclude URLs."""
    site_rules: tuple[_Rule, ...]
    patterns: tuple[_Rule, ...]
    page_rules: tuple[_Rule, ...]
    """Rules about the response."""


@lru_cache(maxsize=256)
def _parse_rules(texts: tuple[str, ...]) -> _Rules:
    rules = [_parse_rule(text) for text in texts]
    url_rules = [rule for rule in rules if rule.kind not in _PAGE_MATCHERS]
    return _Rules(
        tuple(rule for rule in url_rules if rule.is_exclusion),
        tuple(rule for rule in url_rules if not rule.is_exclusion and rule.kind in _SITE_KINDS),
        tuple(rule for rule in url_rules if not rule.is_exclusion and rule.kind not in _SITE_KINDS),
        tuple(rule for rule in rules if rule.kind in _PAGE_MATCHERS),
    )


def _parse_rule(text: str) -> _Rule:
    kind, colon, value = text.removeprefix("-").partition(":")
    if kind not in {*_URL_MATCHERS, *_PAGE_MATCHERS} or not colon or not value:
        raise BadInput(
            f"scope: {text[:100]!r} is not a rule; use host:, domain:, prefix:, pattern:, type: "
            "or language: and a value, with - in front to exclude such URLs or pages"
        )
    if len(text) > MAX_RULE_CHARS or not text.isprintable():
        raise BadInput(
            f"scope: a rule has at most {MAX_RULE_CHARS} printable characters, got {text[:50]!r}"
        )
    if kind == "type" and not _CONTENT_TYPE.fullmatch(value.lower()):
        raise BadInput(
            f"scope: {text[:100]!r} has no valid content type; use the form text/html or image/*"
        )
    if kind == "language" and not _LANGUAGE.fullmatch(value.lower()):
        raise BadInput(f"scope: {text[:100]!r} has no valid language; use the form en or pt-BR")
    return _Rule(text, kind, value)


def _normalize_rule(text: str) -> str:
    sign = "-" if text.startswith("-") else ""
    _, kind, value = _parse_rule(text.strip())
    try:
        if kind in ("host", "domain"):
            value = site_name(value)
        elif kind == "prefix":
            normalized = normalize(value)
            value = (
                normalized if value.endswith("/") else normalized.removesuffix("/") or normalized
            )
        elif kind in _PAGE_MATCHERS:
            value = value.lower()
    except (InvalidUrl, BadInput) as error:
        raise BadInput(f"scope: {text[:100]!r}: {error}") from error
    return f"{sign}{kind}:{value}"
