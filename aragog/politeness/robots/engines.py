"""
The engines that can answer for a robots.txt: the built-in one, and reppy as a second opinion.

The crawl uses `BuiltinEngine` alone (docs/adr/0004). `ReppyEngine` gets the same rules, without
those that reppy reads otherwise or that could make it backtrack without end, and says how many it
did not get.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from typing import Protocol

from aragog.politeness.robots.match import MAX_WORK
from aragog.politeness.robots.parse import Rule
from aragog.politeness.robots.rules import RobotsRules, path_of
from aragog.politeness.robots.spelling import comparable_path, comparable_pattern

_STARS = re.compile(r"\*+")
# Escaped wildcards act as wildcards in reppy, and a `$` within a pattern ends it.
_READ_OTHERWISE = re.compile(r"%2[Aa4]|\$(?!\Z)")


@dataclass(frozen=True, slots=True)
class Opinion:
    """What one engine answers."""

    allowed: bool | None
    """None: the engine cannot be asked this question safely."""
    reason: str


class RobotsEngine(Protocol):
    """Answers for rules that were read already. Never raises for what a file or URL holds."""

    name: str

    def opinion(self, rules: RobotsRules, user_agent: str, url: str) -> Opinion:
        """Whether `user_agent` may ask for `url`."""


class BuiltinEngine:
    """The engine of the crawl."""

    name = "builtin"

    def opinion(self, rules: RobotsRules, user_agent: str, url: str) -> Opinion:
        return Opinion(rules.allows(user_agent, url), rules.explain(user_agent, url))


class ReppyEngine:
    """reppy 0.4.14, fed with patterns of one wildcard at most: two cost it seconds, six minutes."""

    name = "reppy"

    def opinion(self, rules: RobotsRules, user_agent: str, url: str) -> Opinion:
        its = rules.rules_for(user_agent)
        lines = [line for rule in its if (line := _line(rule))]
        left_out = len(its) - len(lines)
        path = comparable_path(path_of(url))
        if not path.isprintable():
            return Opinion(None, "the path has a literal * or $, which reppy reads as wildcards")
        if len(path) * sum(map(len, lines)) > MAX_WORK:
            return Opinion(None, "the path is too long for that many rules")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from reppy.robots import Robots  # noqa: PLC0415 - a second to import, rarely wanted
        body = "\n".join(("User-agent: *", *lines, "Disallow:"))
        robots = Robots.parse("https://a.invalid/robots.txt", body.encode())
        allowed = bool(robots.allowed(f"https://a.invalid{path}", "*"))
        of = f"{len(lines)} rules" + (f", {left_out} left out" if left_out else "")
        return Opinion(allowed, of)


def _line(rule: Rule) -> str | None:
    """A rule as reppy gets it; None for one that it must not get."""
    pattern = _STARS.sub("*", rule.pattern)
    if pattern.count("*") > 1 or _READ_OTHERWISE.search(pattern):
        return None
    body, anchored = comparable_pattern(pattern, allow=rule.allow)
    return f"{'Allow' if rule.allow else 'Disallow'}: {body}{'$' * anchored}"


ENGINES: tuple[RobotsEngine, ...] = (BuiltinEngine(), ReppyEngine())
