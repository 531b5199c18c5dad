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


# Up to so many rules with wildcards, trying each is faster than an index.
FEW = 24

# Characters of the path times characters of the patterns. Ordinary hostile files come to some 10^8
# and milliseconds; this bound is 2 to 4 seconds.
MAX_WORK = 50_000_000_000


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

    __slots__ = ("_by_gram", "_grams", "_lengths", "_others", "_prefixes", "_work")

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._prefixes: dict[str, Rule] = {}
        wild: dict[tuple[bool, str], _Wild] = {}
        for rule in rules:
            if "*" in rule.pattern or rule.pattern.endswith("$"):
                wild.setdefault((rule.allow, rule.pattern), _wild(rule, rule.pattern))
            else:
                known = self._prefixes.setdefault(rule.pattern, rule)
                if rule.allow and not known.allow:
                    self._prefixes[rule.pattern] = rule
            if also := _other_form(rule):
                wild.setdefault((rule.allow, rule.pattern + " too"), also)
        self._lengths = sorted({len(prefix) for prefix in self._prefixes})
        self._work = sum(len(pattern) for _, pattern in wild)
        self._index(sorted(wild.values(), key=_order))

    def _index(self, wild: list[_Wild]) -> None:
        """
        Files with hundreds of wildcards are asked by what the path has in it: a rule can only match
        a path that has one certain trigram of the rule's longest literal part.
        """
        self._by_gram: dict[str, list[_Wild]] = {}
        self._others: list[_Wild] = wild
        if len(wild) > FEW:
            self._others = [w for w in wild if len(w.needle) < 3]
            for w in wild:
                if len(w.needle) >= 3:
                    self._by_gram.setdefault(_rarest(w.needle, self._by_gram), []).append(w)
        self._grams = frozenset(self._by_gram)

    def too_costly(self, path: str) -> bool:
        """True for a path so long, against so many wildcards, that deciding could take minutes."""
        return len(path) * self._work > MAX_WORK

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
        for wild in self._candidates(path):
            if wild.priority < priority or (
                wild.priority == priority and (allow or not wild.allow)
            ):
                break
            if wild.allow in kinds and _matches(path, wild):
                return wild.rule
        return found

    def _candidates(self, path: str) -> list[_Wild]:
        """Rules with wildcards whose longest part is in the path, the one that wins first."""
        if not self._grams:
            return [w for w in self._others if w.needle in path]
        found = self._others.copy()
        for gram in self._grams & {path[at : at + 3] for at in range(len(path) - 2)}:
            found += self._by_gram[gram]
        return sorted([w for w in found if w.needle in path], key=_order)

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


def _order(wild: _Wild) -> tuple[int, bool, int]:
    return (-wild.priority, not wild.allow, wild.rule.line)


def _rarest(needle: str, by_gram: dict[str, list[_Wild]]) -> str:
    """A trigram of `needle`, from its end, that the fewest rules are filed under."""
    end = len(needle)
    grams = [needle[at : at + 3] for at in range(max(0, end - 10), end - 2)]
    return min(grams, key=lambda gram: len(by_gram.get(gram, ())))


def _other_form(rule: Rule) -> _Wild | None:
    """What else a rule closes or opens, if anything: see `best` and Google's parser."""
    if not rule.allow:
        plain = decoded(rule.pattern)
        return _wild(rule, plain) if plain != rule.pattern else None
    # `Allow: /a/index.html` opens `/a/` as well.
    slash = rule.pattern.rfind("/")
    if slash < 0 or not rule.pattern.startswith("/index.htm", slash):
        return None
    return _wild(rule, rule.pattern[: slash + 1] + "$", slash + 2)


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
