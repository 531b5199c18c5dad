"""
URL filters, which decide which links and sitemap entries are followed.

A pattern is matched against the whole normalized URL; `*` matches any characters. The time to match
grows at most with the product of the two lengths.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from aragog.errors import BadInput

MAX_PATTERNS = 50
MAX_PATTERN_CHARS = 500


@dataclass(frozen=True, slots=True)
class UrlFilter:
    """
    Accepts URLs that match a pattern of `include` (or any URL if `include` is empty) and no pattern
    of `exclude`.

    Raises:
        BadInput: a pattern is empty, is too long or contains an unprintable character, or there are
            too many patterns.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        patterns = self.include + self.exclude
        if len(patterns) > MAX_PATTERNS:
            raise BadInput(f"at most {MAX_PATTERNS} URL patterns, got {len(patterns)}")
        for pattern in patterns:
            if not 0 < len(pattern) <= MAX_PATTERN_CHARS or not pattern.isprintable():
                raise BadInput(
                    f"include, exclude: a URL pattern has 1 to {MAX_PATTERN_CHARS} printable "
                    f"characters, got {pattern[:50]!r}"
                )

    def accepts(self, url: str) -> bool:
        if any(matches(pattern, url) for pattern in self.exclude):
            return False
        return not self.include or any(matches(pattern, url) for pattern in self.include)

    def wire(self) -> str:
        """
        Return the filter as a string with one pattern per line, after `+` or `-`; empty if there is
        no filter.
        """
        return "\n".join([*(f"+{p}" for p in self.include), *(f"-{p}" for p in self.exclude)])

    @classmethod
    def read(cls, text: str) -> Self:
        """
        Parse a filter from the string that `wire` returns.

        Raises:
            BadInput: a line starts with neither `+` nor `-`, or a pattern is invalid.
        """
        lines = text.split("\n") if text else []
        if not all(line.startswith(("+", "-")) for line in lines):
            raise BadInput(f"not a URL filter: {text[:100]!r}")
        return cls(
            tuple(line[1:] for line in lines if line[0] == "+"),
            tuple(line[1:] for line in lines if line[0] == "-"),
        )


def matches(pattern: str, url: str) -> bool:
    """Return True if the pattern matches the whole URL."""
    first, *others = pattern.split("*")
    if not others:
        return pattern == url
    *middle, last = others
    if len(first) + len(last) > len(url) or not (url.startswith(first) and url.endswith(last)):
        return False
    start, end = len(first), len(url) - len(last)
    for part in middle:
        position = url.find(part, start, end)
        if position < 0:
            return False
        start = position + len(part)
    return True
