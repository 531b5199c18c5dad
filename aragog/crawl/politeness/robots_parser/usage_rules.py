"""The rules in a robots.txt about how pages may be used."""

from __future__ import annotations

from collections.abc import Sequence

from aragog.crawl.politeness.robots_parser.match import Matcher, TooCostly
from aragog.crawl.politeness.robots_parser.parse import Rule, UsageRule
from aragog.crawl.politeness.robots_parser.spelling import comparable_pattern


class UsageRules:
    """One agent's preferences in one syntax, by path."""

    __slots__ = ("_by_pattern", "_matcher", "_rules", "_rules_for_all_paths")

    def __init__(self, rules: Sequence[UsageRule]) -> None:
        self._rules = rules
        self._rules_for_all_paths = [rule for rule in rules if not rule.pattern]
        self._by_pattern: dict[tuple[str, bool], list[UsageRule]] = {}
        for rule in rules:
            if rule.pattern:
                self._by_pattern.setdefault(_comparable(rule.pattern), []).append(rule)
        paths = [Rule(False, rule.pattern, rule.line) for rule in rules if rule.pattern]
        self._matcher = Matcher(paths) if paths else None

    def find_matching(self, path: str) -> Sequence[UsageRule]:
        """
        Return the rules with the longest matching path, or all rules if matching costs
        too much.
        """
        if self._matcher is None:
            return self._rules_for_all_paths
        try:
            best = self._matcher.best_rule(path)
        except TooCostly:
            return self._rules
        return (
            self._rules_for_all_paths
            if best is None
            else self._by_pattern[_comparable(best.pattern)]
        )


def _comparable(pattern: str) -> tuple[str, bool]:
    return comparable_pattern(pattern, allow=False)
