"""
Parse a page's robots directives from its meta elements and X-Robots-Tag headers.

Directives from both sources are combined; the strictest applies, as Google documents
(developers.google.com/search/docs/crawling-indexing/robots-meta-tag, 2025). Directives for other
agents are ignored; directives for `*` or without an agent apply.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import reduce

_FLAG_DIRECTIVES = {
    "noindex",
    "nofollow",
    "noarchive",
    "nosnippet",
    "noimageindex",
    "notranslate",
    "indexifembedded",
    "noai",
    "noimageai",
}
_DIRECTIVE_ALIASES = {"none": ("noindex", "nofollow"), "nocache": ("noarchive",)}
_VALUE_DIRECTIVES = {"max-snippet", "max-image-preview", "max-video-preview", "unavailable_after"}
_WILDCARD_AGENT_NAMES = {"", "*", "robots"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRobots:
    """A page's directives. A True field forbids a use; only `indexifembedded` permits one."""

    noindex: bool = False
    nofollow: bool = False
    noarchive: bool = False
    nosnippet: bool = False
    noimageindex: bool = False
    notranslate: bool = False
    indexifembedded: bool = False
    noai: bool = False
    """True if the page must not be used to train models (an informal convention)."""
    noimageai: bool = False
    max_snippet: int | None = None
    """Characters of text that may be shown: -1 for any number, None if not specified."""
    max_image_preview: str | None = None
    """The largest preview that may be shown: `none`, `standard` or `large`."""
    max_video_preview: int | None = None
    """Seconds of video that may be shown: -1 for any number."""
    unavailable_after: str | None = None
    """The date, as written, after which the page should no longer be shown."""
    sources: tuple[str, ...] = ()
    """Which of `meta` and `x-robots-tag` had directives."""


_NO_DIRECTIVES = PageRobots()


def from_meta(metas: Iterable[tuple[str, str]], *, agent: str) -> PageRobots:
    """Parse meta elements given as (name, content); `agent` is the crawler's product token."""
    agent_names = _WILDCARD_AGENT_NAMES | {agent.lower()}
    contents = [content for name, content in metas if name and name.strip().lower() in agent_names]
    return reduce(
        combine, (_read_directives(content, "meta") for content in contents), _NO_DIRECTIVES
    )


def from_headers(headers: Iterable[tuple[str, str]], *, agent: str) -> PageRobots:
    """Parse X-Robots-Tag headers: `noindex`, or `googlebot: noindex` for one agent."""
    agent_names = _WILDCARD_AGENT_NAMES | {agent.lower()}
    robots = _NO_DIRECTIVES
    for name, value in headers:
        if name.lower() == "x-robots-tag":
            for agent_name, directives in _split_by_agent(value):
                if agent_name in agent_names:
                    robots = combine(robots, _read_directives(directives, "x-robots-tag"))
    return robots


def combine(first: PageRobots, other: PageRobots) -> PageRobots:
    """Combine two sets of directives: every prohibition applies, and the smaller of two limits."""
    if first is _NO_DIRECTIVES or other is _NO_DIRECTIVES:
        return other if first is _NO_DIRECTIVES else first
    return PageRobots(
        noindex=first.noindex or other.noindex,
        nofollow=first.nofollow or other.nofollow,
        noarchive=first.noarchive or other.noarchive,
        nosnippet=first.nosnippet or other.nosnippet,
        noimageindex=first.noimageindex or other.noimageindex,
        notranslate=first.notranslate or other.notranslate,
        indexifembedded=first.indexifembedded or other.indexifembedded,
        noai=first.noai or other.noai,
        noimageai=first.noimageai or other.noimageai,
        max_snippet=_smaller_limit(first.max_snippet, other.max_snippet),
        max_image_preview=_smaller_preview(first.max_image_preview, other.max_image_preview),
        max_video_preview=_smaller_limit(first.max_video_preview, other.max_video_preview),
        unavailable_after=_earlier_date(first.unavailable_after, other.unavailable_after),
        sources=tuple(dict.fromkeys(first.sources + other.sources)),
    )


def unavailable_at_ms(text: str | None) -> int | None:
    """
    Return an `unavailable_after` date in ms since the epoch, or None if it cannot be read.

    Google reads RFC 822, RFC 850 and ISO 8601. Without a zone, the date is in UTC; without a time,
    it means the end of that day.
    """
    if not text:
        return None
    text = text.strip().strip('"')
    try:
        moment = datetime.fromisoformat(text)
        if len(text) <= _ISO_DATE_CHARS:
            moment += timedelta(days=1)
    except ValueError:
        text = _RFC_850_DATE.sub(r"\1 \2 \3", text)
        try:
            moment = parsedate_to_datetime(text if ":" in text else f"{text} 23:59:59")
        except (ValueError, TypeError, IndexError, OverflowError):
            return None
    try:
        return int(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() * 1000)
    except (ValueError, OverflowError):
        return None


_ISO_DATE_CHARS = len("2026-01-31")
_WEEKDAY_WITH_COMMA = re.compile(
    r"(unavailable_after\s*:\s*)(?:mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6}\s*,", re.IGNORECASE
)
"""The weekday before a date. It is removed, because its comma would end the directive."""
_RFC_850_DATE = re.compile(r"\b(\d{1,2})-([A-Za-z]{3})-(\d{2,4})\b")
"""RFC 850 dates: `25-Jun-10`."""


def _earlier_date(first: str | None, other: str | None) -> str | None:
    """Return the earlier date. A readable date takes precedence over an unreadable one."""
    dates = [text for text in (first, other) if text]
    return min(dates, key=lambda text: unavailable_at_ms(text) or math.inf, default=None)


def _split_by_agent(value: str) -> list[tuple[str, str]]:
    """
    Split a header's value into (agent, directives) pairs.

    Colons also occur in `max-snippet: 5` and in times, so a word before a colon is an agent only if
    it is not a directive. An agent applies to the directives after it.
    """
    pairs: list[tuple[str, str]] = []
    agent_name = ""
    value = _WEEKDAY_WITH_COMMA.sub(r"\1", value)
    for part in value.split(","):
        word, colon, rest = part.partition(":")
        name = word.strip().lower()
        if colon and name not in _VALUE_DIRECTIVES and _is_token(name):
            agent_name, directive = name, rest
        else:
            directive = part
        pairs.append((agent_name, directive))
    return [(agent_name, directive) for agent_name, directive in pairs if directive.strip()]


def _is_token(name: str) -> bool:
    """Return True for `*` or a word that can name an agent, such as `examplebot-2`."""
    return name == "*" or (name[:1].isalpha() and name.replace("-", "").replace("_", "").isalnum())


def _read_directives(directives: str, source: str) -> PageRobots:
    robots = PageRobots(sources=(source,))
    for part in _WEEKDAY_WITH_COMMA.sub(r"\1", directives).split(","):
        name, _, value = part.partition(":")
        name, value = name.strip().lower(), value.strip()
        for flag in _DIRECTIVE_ALIASES.get(name, (name,)):
            if flag in _FLAG_DIRECTIVES:
                robots = replace(robots, **{flag: True})  # type: ignore[arg-type]
        if name in _VALUE_DIRECTIVES:
            robots = combine(robots, _parse_value(name, value))
    return robots


def _parse_value(name: str, value: str) -> PageRobots:
    if name == "unavailable_after":
        return PageRobots(unavailable_after=value or None)
    if name == "max-image-preview":
        is_valid = value.lower() in _PREVIEWS
        return PageRobots(max_image_preview=value.lower()) if is_valid else _NO_DIRECTIVES
    number = value.removeprefix("-")
    if not (number.isascii() and number.isdigit() and len(number) < 10):
        return _NO_DIRECTIVES
    limit = int(value)
    if name == "max-snippet":
        return PageRobots(max_snippet=limit)
    return PageRobots(max_video_preview=limit)


_PREVIEWS = ("none", "standard", "large")


def _smaller_preview(first: str | None, other: str | None) -> str | None:
    if first is None or other is None:
        return first or other
    return min(first, other, key=_PREVIEWS.index)


def _smaller_limit(first: int | None, other: int | None) -> int | None:
    """Return the smaller limit; -1 means no limit."""
    if first is None or other is None:
        return other if first is None else first
    return max(first, other) if min(first, other) < 0 else min(first, other)
