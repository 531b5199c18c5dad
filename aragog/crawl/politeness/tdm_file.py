"""
Parses /.well-known/tdmrep.json, which excludes paths of a site from text and data mining.

Implements the TDM Reservation Protocol (W3C Community Group), section "TDM File on the Origin
Server". Patterns are as in robots.txt, and the first matching rule applies. Of rules with the same
pattern, the strictest applies.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import NamedTuple

from aragog.crawl.politeness.robots_parser.match import Matcher, TooCostly
from aragog.crawl.politeness.robots_parser.parse import Rule
from aragog.pages.preferences import AI_INPUT, AI_TRAIN, UseStatement, tdm_rule_statements

TDM_PATH = "/.well-known/tdmrep.json"
MAX_TDM_RULES = 1_000
_MAX_PATTERN_CHARS = 2_000
_MAX_POLICY_CHARS = 200
_RESERVATION_VALUES = {0: "0", 1: "1", "0": "0", "1": "1"}


def includes_ai_use(purposes: Collection[str]) -> bool:
    """Return True if one of these purposes is use by AI models. A tdmrep.json can forbid that."""
    return AI_INPUT in purposes or AI_TRAIN in purposes


class TdmRule(NamedTuple):
    """One rule of a file."""

    pattern: str
    """A path pattern, as in robots.txt."""
    reservation: str
    """`0`, `1`, or empty for any other value. Other values have no effect."""
    policy: str
    """URL of the conditions for use, or empty."""
    number: int
    """The rule's position in the file, from 1; 0 if the file could not be read."""

    @property
    def where(self) -> str:
        """The statement's location, for messages."""
        if not self.number:
            return f"{TDM_PATH} could not be read, so"
        return f"{TDM_PATH} rule {self.number} ({self.pattern[:100]})"


UNREADABLE = (TdmRule("/", "1", "", 0),)
"""The rules for an existing but unreadable file. They reserve everything."""


def read_tdm_file(body: bytes) -> tuple[TdmRule, ...]:
    """
    Parse a file. Returns no rules if the file is not a JSON array.

    With more than `MAX_TDM_RULES` rules, everything counts as reserved, because the rules above
    the limit might reserve anything.
    """
    try:
        rules = json.loads(body, object_pairs_hook=_read_members)
    except (ValueError, RecursionError):
        return ()
    if not isinstance(rules, list):
        return ()
    if len(rules) > MAX_TDM_RULES:
        return UNREADABLE
    parsed = (_parse_rule(rule, number) for number, rule in enumerate(rules, 1))
    return tuple(rule for rule in parsed if rule is not None)


def _read_members(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return a JSON object's members. Of two reservations, the stricter one is used."""
    members = dict(pairs)
    values = [value for name, value in pairs if name == "tdm-reservation"]
    if len(values) > 1:
        members["tdm-reservation"] = next(
            (v for v in values if _parse_reservation(v) == "1"), values[-1]
        )
    return members


def _parse_reservation(value: object) -> str:
    is_number_or_text = isinstance(value, int | str) and not isinstance(value, bool)
    return _RESERVATION_VALUES.get(value, "") if is_number_or_text else ""


def _parse_rule(rule: object, number: int) -> TdmRule | None:
    """Parse an element of the array. Returns None if it has no pattern."""
    if not isinstance(rule, dict):
        return None
    pattern, value = rule.get("location"), rule.get("tdm-reservation")
    if not isinstance(pattern, str) or not 0 < len(pattern) <= _MAX_PATTERN_CHARS:
        return None
    policy = rule.get("tdm-policy")
    url = policy[:_MAX_POLICY_CHARS] if isinstance(policy, str) else ""
    return TdmRule(pattern, _parse_reservation(value), url, number)


class TdmRules:
    """A file's rules. Their matchers are built on first use."""

    __slots__ = ("_matchers", "_rules")

    def __init__(self, rules: Sequence[TdmRule]) -> None:
        self._rules = rules
        self._matchers: list[tuple[TdmRule, Matcher]] | None = None

    def statements(self, path: str) -> list[UseStatement]:
        """
        Return the statements of the first matching rule, and of rules with the same pattern.

        If matching costs too much, returns the statements of all rules.
        """
        if self._matchers is None:
            self._matchers = [(r, Matcher([Rule(False, r.pattern, r.number)])) for r in self._rules]
        try:
            first_match = next(
                (rule for rule, matcher in self._matchers if matcher.best_rule(path)), None
            )
        except TooCostly:
            return [statement for rule in self._rules for statement in _statements(rule)]
        if first_match is None:
            return []
        with_same_pattern = (rule for rule in self._rules if rule.pattern == first_match.pattern)
        return [statement for rule in with_same_pattern for statement in _statements(rule)]


def _statements(rule: TdmRule) -> list[UseStatement]:
    return tdm_rule_statements(rule.reservation, rule.policy, rule.where)
