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
MAX_UNINDEXED = 24

# The maximum cost of one call, in character comparisons (about 20 ms). Ordinary files need less
# than a hundredth of it.
MAX_WORK = 40_000_000
# The fixed costs, in comparisons, of trying a rule and of a character of the path.
RULE_WORK, CHAR_WORK = 1_500, 100


class TooCostly(Exception):
    """A decision about this path would cost more than `MAX_WORK`."""


class _WildcardRule(NamedTuple):
    priority: int
    allow: bool
    needle: str
    """The pattern's longest literal part. Every matching path contains it."""
    parts: tuple[str, ...]
    anchored: bool
    size: int
    rule: Rule


class Matcher:
    """
    The indexed rules of one agent.

    Args:
        rules: in the order of the file. Of equal rules, the first is reported.
    """

    __slots__ = ("_by_gram", "_grams", "_lengths", "_others", "_prefixes")

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._prefixes: dict[str, Rule] = {}
        wild: dict[tuple[bool, str, bool], _WildcardRule] = {}
        for rule in rules:
            pattern, anchored = comparable_pattern(rule.pattern, allow=rule.allow)
            if anchored or "*" in pattern:
                key = (rule.allow, pattern, anchored)
                if key not in wild:
                    wild[key] = _wildcard_rule(rule, pattern, anchored, len(pattern) + anchored)
            else:
                previous = self._prefixes.setdefault(pattern, rule)
                if rule.allow and not previous.allow:
                    self._prefixes[pattern] = rule
            if rule.allow and (index_rule := _index_page_rule(rule, pattern)):
                wild.setdefault((True, index_rule.parts[0], True), index_rule)
        self._lengths = sorted({len(prefix) for prefix in self._prefixes})
        self._index(sorted(wild.values(), key=_sort_key))

    def _index(self, wild: list[_WildcardRule]) -> None:
        """
        Index wildcard rules by one trigram of their longest literal part.

        A rule can only match a path that contains this trigram.
        """
        self._by_gram: dict[str, list[_WildcardRule]] = {}
        self._others: list[_WildcardRule] = wild
        if len(wild) > MAX_UNINDEXED:
            self._others = [w for w in wild if len(w.needle) < 3]
            for w in wild:
                if len(w.needle) >= 3:
                    self._by_gram.setdefault(_rarest_trigram(w.needle, self._by_gram), []).append(w)
        self._grams = frozenset(self._by_gram)

    def best_rule(self, path: str) -> Rule | None:
        """
        Return the rule that applies to `path` (path and query, in any form), or None.

        Raises:
            TooCostly: the path is too long for the number of wildcards.
        """
        path = comparable_path(path)
        rule, priority = self._longest_prefix(path)
        allow = rule.allow if rule else False
        for wild in self._candidates(path):
            if wild.priority < priority or (
                wild.priority == priority and (allow or not wild.allow)
            ):
                break
            if _matches(path, wild):
                return wild.rule
        return rule

    def _candidates(self, path: str) -> list[_WildcardRule]:
        """Return possibly matching rules by priority."""
        if not self._others and not self._grams:
            return []
        if len(path) * CHAR_WORK > MAX_WORK:
            raise TooCostly
        if not self._grams:
            _check_work(path, self._others)
            return [w for w in self._others if w.needle in path]
        rules = self._others.copy()
        for gram in self._grams & {path[at : at + 3] for at in range(len(path) - 2)}:
            rules += self._by_gram[gram]
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


def _wildcard_rule(rule: Rule, pattern: str, anchored: bool, priority: int) -> _WildcardRule:
    parts = tuple(pattern.split("*"))
    # Empty parts in the middle are redundant. The first and last parts mark the ends, so they stay.
    parts = (parts[0], *(p for p in parts[1:-1] if p), *parts[1:][-1:])
    needle = max(parts, key=len)
    return _WildcardRule(priority, rule.allow, needle, parts, anchored, len(pattern), rule)


def _sort_key(wild: _WildcardRule) -> tuple[int, bool, int]:
    return (-wild.priority, not wild.allow, wild.rule.line)


def _rarest_trigram(needle: str, by_gram: dict[str, list[_WildcardRule]]) -> str:
    """Return the trigram near the end of `needle` that the fewest rules in the index have."""
    end = len(needle)
    grams = [needle[at : at + 3] for at in range(max(0, end - 10), end - 2)]
    return min(grams, key=lambda gram: len(by_gram.get(gram, ())))


def _index_page_rule(rule: Rule, pattern: str) -> _WildcardRule | None:
    """
    Return the additional rule for `Allow: /a/index.html`, which, as in Google's parser, also allows
    `/a/`.
    """
    slash = pattern.rfind("/")
    if slash < 0 or not pattern.startswith("/index.htm", slash):
        return None
    return _wildcard_rule(rule, pattern[: slash + 1], anchored=True, priority=slash + 2)


def _matches(path: str, wild: _WildcardRule) -> bool:
    parts = wild.parts
    if not path.startswith(parts[0]):
        return False
    at = len(parts[0])
    if len(parts) == 1:
        return not wild.anchored or at == len(path)
    for part in parts[1:-1]:
        position = path.find(part, at)
        if position < 0:
            return False
        at = position + len(part)
    if wild.anchored:
        return len(path) - at >= len(parts[-1]) and path.endswith(parts[-1])
    return path.find(parts[-1], at) >= 0
