"""
Engines that decide whether a robots.txt allows a URL.

Crawls only use `BuiltinEngine` (docs/adr/0004). `ReppyEngine` gets the same rules, except those
that reppy interprets differently or that could make it backtrack excessively. It reports how many
it left out.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from typing import Protocol

from aragog.crawl.politeness.robots_parser.match import MAX_WORK
from aragog.crawl.politeness.robots_parser.parse import Rule
from aragog.crawl.politeness.robots_parser.spelling import comparable_pattern
from aragog.crawl.politeness.robots_rules import RobotsRules, comparable_url
from aragog.runtime.extras import has

_STARS = re.compile(r"\*+")
# reppy treats escaped wildcards as wildcards, and a `$` inside a pattern as the pattern's end.
_DIFFERS_IN_REPPY = re.compile(r"%2[Aa4]|\$(?!\Z)")


@dataclass(frozen=True, slots=True)
class Opinion:
    """The result of one engine."""

    allowed: bool | None
    """True if the URL is allowed. None if the engine cannot safely decide."""
    reason: str


class RobotsEngine(Protocol):
    """Decides from parsed rules. Never raises, whatever the file or URL."""

    name: str

    def opinion(self, rules: RobotsRules, user_agent: str, url: str) -> Opinion:
        """Decide whether `user_agent` may fetch `url`."""


class BuiltinEngine:
    """The engine that crawls use."""

    name = "builtin"

    def opinion(self, rules: RobotsRules, user_agent: str, url: str) -> Opinion:
        return Opinion(rules.allows(user_agent, url), rules.explain(user_agent, url))


class ReppyEngine:
    """reppy 0.4.14. Skips patterns with several wildcards, which can take minutes to match."""

    name = "reppy"

    def opinion(self, rules: RobotsRules, user_agent: str, url: str) -> Opinion:
        all_rules = rules.rules_for(user_agent)
        if not has("reppy"):
            return Opinion(None, "not installed; docs/deployment.md states how to build it")
        lines = [line for rule in all_rules if (line := _format_rule(rule))]
        skipped = len(all_rules) - len(lines)
        path = comparable_url(url)
        # `comparable_url` marks a literal * or $ with an unprintable character.
        if not path.isprintable():
            return Opinion(
                None, "the path has a literal * or $, which reppy interprets as a wildcard"
            )
        if len(path) * sum(map(len, lines)) > MAX_WORK:
            return Opinion(None, "the path is too long for that many rules")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from reppy.robots import Robots  # noqa: PLC0415 - takes a second to import, rarely used
        body = "\n".join(("User-agent: *", *lines, "Disallow:"))
        robots = Robots.parse("https://a.invalid/robots.txt", body.encode())
        allowed = bool(robots.allowed(f"https://a.invalid{path}", "*"))
        rule_count = f"{len(lines)} rule{'' if len(lines) == 1 else 's'}"
        reason = rule_count + (f", {skipped} left out" if skipped else "")
        return Opinion(allowed, reason)


def _format_rule(rule: Rule) -> str | None:
    pattern = _STARS.sub("*", rule.pattern)
    if pattern.count("*") > 1 or _DIFFERS_IN_REPPY.search(pattern):
        return None
    body, is_anchored = comparable_pattern(pattern, allow=rule.allow)
    return f"{'Allow' if rule.allow else 'Disallow'}: {body}{'$' * is_anchored}"


ENGINES: tuple[RobotsEngine, ...] = (BuiltinEngine(), ReppyEngine())
