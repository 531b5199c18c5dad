"""
Which rule decides about a path: the longest that matches, and of two equally long the one that
allows (RFC 9309 section 2.2.2).

`*` stands for any characters and a final `$` for the end. Nothing backtracks: a pattern is its
literal parts, each looked for once after the one before, so a match costs at most the length of
the path times that of the pattern, as in Google's parser. Plain prefixes, which most rules are,
are found in a dictionary by length, whatever their number.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple

from aragog.politeness.robots_lines import Rule

_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


class _Wild(NamedTuple):
    """A rule that is more than a prefix."""

    priority: int
    allow: bool
    needle: str
    """Its longest literal part: without it in the path there is no match."""
    parts: tuple[str, ...]
    anchored: bool
    rule: Rule


class Matcher:
    """
    The rules of one agent, ready to be asked.

    Args:
        rules: in the order of the file; of two that say the same the first is named.
    """

    __slots__ = ("_lengths", "_prefixes", "_wild")

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._prefixes: dict[str, Rule] = {}
        wild: list[_Wild] = []
        for rule in rules:
            if "*" in rule.pattern or rule.pattern.endswith("$"):
                wild.append(_wild(rule, rule.pattern))
            else:
                known = self._prefixes.setdefault(rule.pattern, rule)
                if rule.allow and not known.allow:
                    self._prefixes[rule.pattern] = rule
            if rule.allow:
                wild += _directory_of_index(rule)
            elif (plain := decoded(rule.pattern)) != rule.pattern:
                wild.append(_wild(rule, plain))
        self._lengths = sorted({len(prefix) for prefix in self._prefixes})
        self._wild = sorted(wild, key=lambda w: (-w.priority, not w.allow))

    def best(self, path: str) -> Rule | None:
        """
        The rule that decides about `path` (path and query, in escaped form); None when none does.

        A path is compared as it is written. Disallow rules are also compared with the unreserved
        escapes of both sides decoded, as RFC 9309 wants it: `/%7Ejoe` closes `/~joe`, too. Allow
        rules are not, as in Google's parser, so a spelling never opens what is closed.
        """
        literal = self._best(path, (True, False))
        if "%" not in path and path.isascii():
            return literal
        plain = decoded(_upper(path))
        if plain == path:
            return literal
        closing = self._best(plain, (False,))
        if closing is None or (literal and _priority(literal) >= _priority(closing)):
            return literal
        return closing

    def _best(self, path: str, kinds: tuple[bool, ...]) -> Rule | None:
        found = self._longest_prefix(path, kinds)
        priority = len(found.pattern) if found else 0
        allow = found.allow if found else False
        for wild in [w for w in self._wild if w.needle in path]:
            if wild.priority < priority or (
                wild.priority == priority and (allow or not wild.allow)
            ):
                break
            if wild.allow in kinds and _matches(path, wild):
                return wild.rule
        return found

    def _longest_prefix(self, path: str, kinds: tuple[bool, ...]) -> Rule | None:
        prefixes, lengths = self._prefixes, self._lengths
        for at in range(bisect_right(lengths, len(path)) - 1, -1, -1):
            rule = prefixes.get(path[: lengths[at]])
            if rule is not None and rule.allow in kinds:
                return rule
        return None


def _priority(rule: Rule) -> int:
    return len(rule.pattern)


def _wild(rule: Rule, pattern: str, priority: int = 0) -> _Wild:
    anchored = pattern.endswith("$")
    parts = tuple((pattern[:-1] if anchored else pattern).split("*"))
    # Parts in the middle that are empty say nothing; the first and last hold the ends.
    parts = (parts[0], *(p for p in parts[1:-1] if p), *parts[1:][-1:])
    needle = max(parts, key=len)
    return _Wild(priority or len(rule.pattern), rule.allow, needle, parts, anchored, rule)


def _directory_of_index(rule: Rule) -> list[_Wild]:
    """`Allow: /a/index.html` allows `/a/` as well, as in Google's parser."""
    slash = rule.pattern.rfind("/")
    if slash < 0 or not rule.pattern.startswith("/index.htm", slash):
        return []
    return [_wild(rule, rule.pattern[: slash + 1] + "$", slash + 2)]


def _matches(path: str, wild: _Wild) -> bool:
    parts = wild.parts
    if not path.startswith(parts[0]):
        return False
    at = len(parts[0])
    if len(parts) == 1:
        return not wild.anchored or at == len(path)
    for part in parts[1:-1]:
        found = path.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    if wild.anchored:
        return len(path) - at >= len(parts[-1]) and path.endswith(parts[-1])
    return path.find(parts[-1], at) >= 0


def decoded(text: str) -> str:
    """`text` with the escapes of unreserved characters (RFC 3986 section 2.3) decoded."""
    return _ESCAPE.sub(_decode, text) if "%" in text else text


def _decode(found: re.Match[str]) -> str:
    char = chr(int(found.group()[1:], 16))
    return char if char in _UNRESERVED else found.group().upper()


def _upper(path: str) -> str:
    """Characters outside ASCII as the escapes of their UTF-8."""
    if path.isascii():
        return path
    octets = path.encode("utf-8", "surrogatepass")
    return "".join(chr(octet) if octet < 128 else f"%{octet:02X}" for octet in octets)
