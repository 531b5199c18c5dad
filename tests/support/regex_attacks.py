"""
Strings that make a regular expression slow, derived from its parse tree, and their cost.

For each repeat of a pattern: its prefix, its body many times, and an end that does not match. For a
pattern used in searches: its openings many times, without their ends.
"""

from __future__ import annotations

import math
import re
import signal
import time
from collections.abc import Callable, Iterator
from functools import cache
from re import _constants as op
from re import _parser as parser
from typing import Any

CHARS = 6_000
"""With this many, a quadratic pattern takes at least 20 ms, and a linear one about 1 ms."""
HARMLESS_S = 0.01
GROWTH = 8
"""Time for four times the characters: 4 is linear, 16 quadratic. The shortest measurements count."""
_QUICK_SHARE = 4
_HARMLESS_QUARTER_S = HARMLESS_S / _QUICK_SHARE**2
"""If a quarter of an attack takes less, a quadratic pattern takes less than HARMLESS_S for all."""
_GIVE_UP_S = 0.6
"""Four times the time of the slowest linear pattern for the longest attack on a busy machine."""
_MAX_ROUNDS = 10
_MAX_STOPS = 2
"""A match that was stopped this many times is too slow. A linear one is never stopped."""
_ENDS = ("", "\x00", "!", "<", "\n")
_ALPHABET = "a0 <>-.,:;/\"'&=%\n\t()[]{}*"
_CATEGORIES = {
    op.CATEGORY_DIGIT: "0", op.CATEGORY_NOT_DIGIT: "a", op.CATEGORY_SPACE: " ",
    op.CATEGORY_NOT_SPACE: "a", op.CATEGORY_WORD: "a", op.CATEGORY_NOT_WORD: "-",
}  # fmt: skip
_LONG = 100
"""Repeats of at most this number are sufficiently bounded."""


class TooSlowError(Exception):
    """A match was still running after the maximum CPU time."""


def attacks(pattern: re.Pattern[Any], chars: int = CHARS) -> Iterator[Any]:
    """Yield different attacks of about `chars` characters, str or bytes like the pattern."""
    tree = parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
    seen: set[tuple[str, str, str]] = set()
    for before, body in _sites(tree, ""):
        shapes = [(before, body), ("", before + body), ("", before), ("", body)]
        for front, unit in shapes:
            for end in _ENDS:
                if unit and (front, unit, end) not in seen:
                    seen.add((front, unit, end))
                    text = front + unit * (chars // len(unit)) + end
                    yield (
                        text
                        if isinstance(pattern.pattern, str)
                        else text.encode("latin-1", "replace")
                    )


def grows_too_fast(act: Callable[[Any], object], text: Any) -> bool:
    """
    Return True if `act` takes clearly more than four times as long for `text` as for a quarter of it.

    A quarter of the text, with its end, is measured first, which rules out nearly all attacks. Halves
    are too close: on a busy machine, the shortest of six measurements was 1.5 times too long.
    """
    part = text[: len(text) // _QUICK_SHARE] + text[-1:]
    # At least its CPU time, and much cheaper to read.
    if _seconds(act, part, time.perf_counter) < _HARMLESS_QUARTER_S:
        return False
    quarter = whole = math.inf
    # On a busy machine single measurements are ten times too long: the shortest ones count.
    for number in range(_MAX_ROUNDS):
        whole = min(whole, _seconds(act, text, time.thread_time))
        if whole < HARMLESS_S:
            return False
        if whole == math.inf:
            if number + 1 == _MAX_STOPS:
                return True
            continue
        quarter = min(quarter, _seconds(act, part, time.thread_time))
        if whole <= GROWTH * quarter < math.inf:
            return False
    return True


def _seconds(act: Callable[[Any], object], text: Any, clock: Callable[[], float]) -> float:
    """Return the seconds of one call, or infinity if it was stopped."""
    _catch_signal()
    start = clock()
    try:
        # The regex engine looks for signals while it matches, so CPU time can be limited.
        signal.setitimer(signal.ITIMER_PROF, _GIVE_UP_S)
        try:
            act(text)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    except TooSlowError:
        return math.inf
    return clock() - start


@cache
def _catch_signal() -> None:
    """Set the handler, once per process because it costs more than most matches."""

    def stop(*_: object) -> None:
        raise TooSlowError

    signal.signal(signal.SIGPROF, stop)


def _sites(tree: Any, before: str) -> Iterator[tuple[str, str]]:
    """Yield each long repeat in `tree` as its prefix and its body once."""
    for kind, value in tree:
        if kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            _, most, body = value
            if most > _LONG:
                for text in _bodies(body):
                    yield before, text
            yield from _sites(body, before)
        elif kind is op.SUBPATTERN:
            yield from _sites(value[-1], before)
        elif kind is op.ATOMIC_GROUP:
            yield from _sites(value, before)
        elif kind in (op.ASSERT, op.ASSERT_NOT):
            yield from _sites(value[1], before)
        elif kind is op.BRANCH:
            for branch in value[1]:
                yield from _sites(branch, before)
        before += _example([(kind, value)])
    yield before, ""


def _bodies(body: Any) -> list[str]:
    """Return texts of the body; for a single class several characters that it matches."""
    if len(body) == 1 and body[0][0] in (op.IN, op.NOT_LITERAL, op.ANY, op.LITERAL):
        return [c for c in _ALPHABET if _matches(body[0], c)] or [_example(body)]
    branches = [b for kind, value in body if kind is op.BRANCH for b in value[1]]
    subs = [_example(branch) for branch in branches]
    inner = [text for kind, value in body if kind is op.SUBPATTERN for text in _bodies(value[-1])]
    return list(dict.fromkeys(t for t in (_example(body), *subs, *inner) if t))


def _example(nodes: Any) -> str:
    """Return a text that `nodes` roughly match, as short as possible but with optional parts."""
    out = ""
    for kind, value in nodes:
        if kind is op.LITERAL:
            out += chr(value)
        elif kind is op.NOT_LITERAL:
            out += next(c for c in _ALPHABET if ord(c) != value)
        elif kind is op.ANY:
            out += "a"
        elif kind is op.IN:
            out += next((c for c in _ALPHABET if _matches((kind, value), c)), _first(value))
        elif kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            least, _, body = value
            out += _example(body) * min(max(least, 1), 20)
        elif kind is op.SUBPATTERN:
            out += _example(value[-1])
        elif kind is op.ATOMIC_GROUP:
            out += _example(value)
        elif kind is op.BRANCH:
            out += _example(value[1][0])
    return out


def _first(members: Any) -> str:
    for kind, value in members:
        if kind is op.LITERAL:
            return chr(value)
        if kind is op.RANGE:
            return chr(value[0])
        if kind is op.CATEGORY:
            return _CATEGORIES[value]
    return "\u2603"


def _matches(node: Any, char: str) -> bool:
    kind, value = node
    if kind is op.LITERAL:
        return ord(char) == value
    if kind is op.NOT_LITERAL:
        return ord(char) != value
    if kind is op.ANY:
        return char != "\n"
    negated = bool(value) and value[0][0] is op.NEGATE
    return negated != any(_member(each, char) for each in value)


def _member(node: Any, char: str) -> bool:
    kind, value = node
    if kind is op.LITERAL:
        return ord(char) == value
    if kind is op.RANGE:
        return value[0] <= ord(char) <= value[1]
    if kind is op.CATEGORY:
        spelled = {
            op.CATEGORY_DIGIT: r"\d", op.CATEGORY_NOT_DIGIT: r"\D", op.CATEGORY_SPACE: r"\s",
            op.CATEGORY_NOT_SPACE: r"\S", op.CATEGORY_WORD: r"\w", op.CATEGORY_NOT_WORD: r"\W",
        }[value]  # fmt: skip
        return re.match(spelled, char) is not None
    return False
