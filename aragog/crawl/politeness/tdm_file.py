"""
The rules of /.well-known/tdmrep.json: which paths of a site are reserved from text and data mining.

They follow the TDM Reservation Protocol (W3C Community Group), section "TDM File on the Origin
Server": patterns are those of robots.txt, and the first rule that matches decides, with those that
have the same pattern: of statements that are given twice the strictest counts. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import NamedTuple

from aragog.crawl.politeness.robots_parser.match import Matcher, TooCostly
from aragog.crawl.politeness.robots_parser.parse import Rule
from aragog.pages.preferences import AI_INPUT, AI_TRAIN, UseStatement, of_tdm_rule

TDM_PATH = "/.well-known/tdmrep.json"
MAX_TDM_RULES = 1_000
_MAX_PATTERN_CHARS = 2_000
_MAX_POLICY_CHARS = 200
_VALUES = {0: "0", 1: "1", "0": "0", "1": "1"}


def is_about(purposes: Collection[str]) -> bool:
    """Whether the file is about one of these purposes: it reserves the uses by models."""
    return AI_INPUT in purposes or AI_TRAIN in purposes


class TdmRule(NamedTuple):
    """One rule of a file."""

    pattern: str
    """The paths, as in robots.txt."""
    reservation: str
    """0 or 1; empty: neither, which decides nothing."""
    policy: str
    """The URL of the conditions; empty: none."""
    number: int
    """Its place in the file, from 1; 0: stands for a file that could not be read."""

    @property
    def where(self) -> str:
        """Where the statement stands."""
        if not self.number:
            return f"{TDM_PATH} could not be read, so"
        return f"{TDM_PATH} rule {self.number} ({self.pattern[:100]})"


UNREADABLE = (TdmRule("/", "1", "", 0),)
"""The rules of a site whose file exists and cannot be read: everything is reserved."""


def read_tdm_file(body: bytes) -> tuple[TdmRule, ...]:
    """
    Read a file; no rules if it is not JSON in the form of the protocol, which then is not used.

    A file of more than `MAX_TDM_RULES` reserves everything, since the rest might.
    """
    try:
        rules = json.loads(body, object_pairs_hook=_members)
    except (ValueError, RecursionError):
        return ()
    if not isinstance(rules, list):
        return ()
    if len(rules) > MAX_TDM_RULES:
        return UNREADABLE
    read = (_rule(rule, number) for number, rule in enumerate(rules, 1))
    return tuple(rule for rule in read if rule is not None)


def _members(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """The members of an object; of a reservation that is given twice the stricter one."""
    members = dict(pairs)
    values = [value for name, value in pairs if name == "tdm-reservation"]
    if len(values) > 1:
        members["tdm-reservation"] = next((v for v in values if _value(v) == "1"), values[-1])
    return members


def _value(value: object) -> str:
    """0 or 1; empty: neither."""
    is_number_or_text = isinstance(value, int | str) and not isinstance(value, bool)
    return _VALUES.get(value, "") if is_number_or_text else ""


def _rule(rule: object, number: int) -> TdmRule | None:
    """One member of the array; None if it has no pattern."""
    if not isinstance(rule, dict):
        return None
    pattern, value = rule.get("location"), rule.get("tdm-reservation")
    if not isinstance(pattern, str) or not 0 < len(pattern) <= _MAX_PATTERN_CHARS:
        return None
    policy = rule.get("tdm-policy")
    url = policy[:_MAX_POLICY_CHARS] if isinstance(policy, str) else ""
    return TdmRule(pattern, _value(value), url, number)


class TdmRules:
    """A file's rules, with their matchers, which are built at the first use."""

    __slots__ = ("_matchers", "_rules")

    def __init__(self, rules: Sequence[TdmRule]) -> None:
        self._rules = rules
        self._matchers: list[tuple[TdmRule, Matcher]] | None = None

    def statements(self, path: str) -> list[UseStatement]:
        """
        What the first rule that matches a path says, with those of the same pattern.

        What all say if that costs too much.
        """
        if self._matchers is None:
            self._matchers = [(r, Matcher([Rule(False, r.pattern, r.number)])) for r in self._rules]
        try:
            first = next((rule for rule, matcher in self._matchers if matcher.best(path)), None)
        except TooCostly:
            return [said for rule in self._rules for said in _said(rule)]
        if first is None:
            return []
        same = (rule for rule in self._rules if rule.pattern == first.pattern)
        return [said for rule in same for said in _said(rule)]


def _said(rule: TdmRule) -> list[UseStatement]:
    return of_tdm_rule(rule.reservation, rule.policy, rule.where)
