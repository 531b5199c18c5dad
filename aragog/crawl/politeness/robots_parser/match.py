"""
The matcher for robots.txt rules. The longest matching rule applies (RFC 9309 section 2.2.2).

If two rules are equally long, Allow wins. `*` matches any characters, and a final `$` matches the
end. The matcher does not backtrack: it searches for a pattern's literal parts in turn, so a match
costs at most the product of the lengths of path and pattern, as in Google's parser. Most rules are
plain prefixes, which are looked up by length.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple

from aragog.crawl.politeness.robots_parser.parse import Rule
from aragog.crawl.politeness.robots_parser.spelling import comparable_path, comparable_pattern

# Up to this number of rules with wildcards, trying each one is faster than an index.
MAX_UNINDEXED_RULES = 24

# The maximum cost of one call, in character comparisons (about 20 ms). Ordinary files need less
# than a hundredth of it.
MAX_WORK = 40_000_000
# What trying one rule costs, and what each character of the path adds, in character comparisons.
RULE_WORK, CHAR_WORK = 1_500, 100


class TooCostly(Exception):
    """A decision about this path would cost more than `MAX_WORK`."""


class _WildcardRule(NamedTuple):
    priority: int
    allow: bool
    needle: str
    """The pattern's longest literal part. Every matching path contains it."""
    parts: tuple[str, ...]
    is_anchored: bool
    size: int
    rule: Rule


class Matcher:
    """
    The indexed rules of one agent.

    Args:
        rules: in the order of the file. Of equal rules, the first is reported.
    """

    __slots__ = ("_lengths", "_prefixes", "_rules_by_trigram", "_trigrams", "_unindexed_rules")

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._prefixes: dict[str, Rule] = {}
        wildcard_rules: dict[tuple[bool, str, bool], _WildcardRule] = {}
        for rule in rules:
            pattern, is_anchored = comparable_pattern(rule.pattern, allow=rule.allow)
            if is_anchored or "*" in pattern:
                key = (rule.allow, pattern, is_anchored)
                if key not in wildcard_rules:
                    wildcard_rules[key] = _wildcard_rule(
                        rule, pattern, is_anchored, len(pattern) + is_anchored
                    )
            else:
                previous = self._prefixes.setdefault(pattern, rule)
                if rule.allow and not previous.allow:
                    self._prefixes[pattern] = rule
            if rule.allow and (index_rule := _directory_rule_for_index_html(rule, pattern)):
                wildcard_rules.setdefault((True, index_rule.parts[0], True), index_rule)
        self._lengths = sorted({len(prefix) for prefix in self._prefixes})
        self._index(sorted(wildcard_rules.values(), key=_sort_key))

    def _index(self, wildcard_rules: list[_WildcardRule]) -> None:
        """
        Index wildcard rules by one trigram of their longest literal part.

        A rule can only match a path that contains this trigram.
        """
        self._rules_by_trigram: dict[str, list[_WildcardRule]] = {}
        self._unindexed_rules: list[_WildcardRule] = wildcard_rules
        if len(wildcard_rules) > MAX_UNINDEXED_RULES:
            self._unindexed_rules = [w for w in wildcard_rules if len(w.needle) < 3]
            for w in wildcard_rules:
                if len(w.needle) >= 3:
                    self._rules_by_trigram.setdefault(
                        _rarest_trigram(w.needle, self._rules_by_trigram), []
                    ).append(w)
        self._trigrams = frozenset(self._rules_by_trigram)

    def best_rule(self, path: str) -> Rule | None:
        """
        Return the rule that applies to `path` (path and query, in any form), or None.

        Raises:
            TooCostly: the path is too long for the number of wildcards.
        """
        path = comparable_path(path)
        rule, priority = self._longest_prefix(path)
        allow = rule.allow if rule else False
        for wildcard_rule in self._candidates(path):
            if wildcard_rule.priority < priority or (
                wildcard_rule.priority == priority and (allow or not wildcard_rule.allow)
            ):
                break
            if _matches(path, wildcard_rule):
                return wildcard_rule.rule
        return rule

    def _candidates(self, path: str) -> list[_WildcardRule]:
        """Return possibly matching rules by priority."""
        if not self._unindexed_rules and not self._trigrams:
            return []
        if len(path) * CHAR_WORK > MAX_WORK:
            raise TooCostly
        if not self._trigrams:
            _check_work(path, self._unindexed_rules)
            return [w for w in self._unindexed_rules if w.needle in path]
        rules = self._unindexed_rules.copy()
        for trigram in self._trigrams & {path[at : at + 3] for at in range(len(path) - 2)}:
            rules += self._rules_by_trigram[trigram]
        _check_work(path, rules)
        return sorted([w for w in rules if w.needle in path], key=_sort_key)

    def _longest_prefix(self, path: str) -> tuple[Rule | None, int]:
        prefixes, lengths = self._prefixes, self._lengths
        for at in range(bisect_right(lengths, len(path)) - 1, -1, -1):
            rule = prefixes.get(path[: lengths[at]])
            if rule is not None:
                return rule, lengths[at]
        return None, 0


def _check_work(path: str, rules: list[_WildcardRule]) -> None:
    """Raise TooCostly if trying these rules could take too long."""
    if len(rules) * RULE_WORK + len(path) * sum([w.size for w in rules]) > MAX_WORK:
        raise TooCostly


def _wildcard_rule(rule: Rule, pattern: str, is_anchored: bool, priority: int) -> _WildcardRule:
    parts = tuple(pattern.split("*"))
    # Empty parts in the middle are redundant. The first and last parts mark the ends, so they stay.
    parts = (parts[0], *(p for p in parts[1:-1] if p), *parts[1:][-1:])
    needle = max(parts, key=len)
    return _WildcardRule(priority, rule.allow, needle, parts, is_anchored, len(pattern), rule)


def _sort_key(rule: _WildcardRule) -> tuple[int, bool, int]:
    return (-rule.priority, not rule.allow, rule.rule.line)


def _rarest_trigram(needle: str, by_gram: dict[str, list[_WildcardRule]]) -> str:
    """Return the trigram near the end of `needle` that the fewest rules in the index have."""
    end = len(needle)
    trigrams = [needle[at : at + 3] for at in range(max(0, end - 10), end - 2)]
    return min(trigrams, key=lambda trigram: len(by_gram.get(trigram, ())))


def _directory_rule_for_index_html(rule: Rule, pattern: str) -> _WildcardRule | None:
    """
    Return the additional rule for `Allow: /a/index.html`, which, as in Google's parser, also allows
    `/a/`.
    """
    slash = pattern.rfind("/")
    if slash < 0 or not pattern.startswith("/index.htm", slash):
        return None
    return _wildcard_rule(rule, pattern[: slash + 1], is_anchored=True, priority=slash + 2)


def _matches(path: str, rule: _WildcardRule) -> bool:
    parts = rule.parts
    if not path.startswith(parts[0]):
        return False
    at = len(parts[0])
    if len(parts) == 1:
        return not rule.is_anchored or at == len(path)
    for part in parts[1:-1]:
        position = path.find(part, at)
        if position < 0:
            return False
        at = position + len(part)
    if rule.is_anchored:
        return len(path) - at >= len(parts[-1]) and path.endswith(parts[-1])
    return path.find(parts[-1], at) >= 0
