"""
What the lines of a robots.txt file say: bytes in, groups out. Never raises, whatever the bytes.

RFC 9309, read with the tolerance that Google's parser has for the files of real sites: names of
fields by their beginning, frequent typos, a missing colon, every line end, a byte order mark.
Nothing here knows how a path is matched.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeVar

# RFC 9309 section 2.5: at least the first 500 KiB count. Google reads as much.
MAX_BYTES = 500 * 1024

# Eight times the 2,083 characters that browsers once allowed a URL, less the end of the line;
# Google's parser ignores what follows on a line.
MAX_LINE_BYTES = 8 * 2083 - 1

# Distinct rules of one agent; a file of 500 KiB holds more only where they have six characters.
MAX_RULES = 30_000

EVERYBODY = "*"

Field = Literal["user-agent", "allow", "disallow", "sitemap", "crawl-delay", ""]

# In this order; a name counts by its beginning, without regard to case.
_FIELDS: tuple[tuple[Field, tuple[bytes, ...]], ...] = (
    ("user-agent", (b"user-agent", b"useragent", b"user agent")),
    ("allow", (b"allow",)),
    ("disallow", (b"disallow", b"dissallow", b"dissalow", b"disalow", b"diasllow", b"disallaw")),
    ("sitemap", (b"sitemap", b"site-map")),
    ("crawl-delay", (b"crawl-delay", b"crawldelay", b"crawl delay")),
)
_BOM = b"\xef\xbb\xbf"
_TO_ESCAPE = re.compile(rb"%[0-9A-Fa-f]{2}|[\x80-\xff]")
_TOKEN = re.compile(rb"[A-Za-z_-]*")
_NAME_END = re.compile(rb"[/\s]")
_SECONDS = re.compile(rb"[0-9]{1,12}(?:\.[0-9]{0,12})?|\.[0-9]{1,12}")

T = TypeVar("T")


class Rule(NamedTuple):
    """One Allow or Disallow line."""

    allow: bool
    pattern: str
    """ASCII: other octets and the hex digits of escapes are in `%XX` form. Never empty."""
    line: int
    """Counted from 1."""

    def __str__(self) -> str:
        return f"line {self.line}, {'Allow' if self.allow else 'Disallow'}: {self.pattern}"


@dataclass(slots=True)
class RobotsLines:
    """
    What a file says, by agent: lower-case names, `*` for everybody.

    Agents that a file names together share one list, so its size is that of the file.
    """

    groups: dict[str, list[list[Rule]]] = field(default_factory=dict)
    """Every agent that is named, with the rules of each of its groups in the order of the file."""
    delays_s: dict[str, list[list[float]]] = field(default_factory=dict)
    """Of each agent, lists of at most one delay."""
    sitemaps: list[str] = field(default_factory=list)

    def rules(self, agent: str) -> list[Rule]:
        """All rules of an agent, in the order of the file."""
        groups = self.groups.get(agent, [])
        return groups[0] if len(groups) == 1 else [rule for group in groups for rule in group]

    def delay_s(self, agent: str) -> float | None:
        """The longest Crawl-delay of an agent, in seconds."""
        return max((s for delay in self.delays_s.get(agent, ()) for s in delay), default=None)


def read_lines(body: bytes, agents: Iterable[str] | None = None) -> RobotsLines:
    """
    The groups of a robots.txt file. Linear in the body, of which the first 500 KiB count.

    A group is the User-agent lines that follow each other and the rules after them; Sitemap and
    unknown lines neither end nor begin one (RFC 9309 section 2.2.4).

    Args:
        body: the file.
        agents: whose groups are kept, in lower case; None: everybody's.
    """
    reader = _Reader(None if agents is None else frozenset(agents))
    for number, line in enumerate(_lines(body), 1):
        name, value = _directive(line)
        if name:
            reader.read(name, value, number)
    return reader.found


class _Reader:
    """The group that is being read, and what was found so far."""

    def __init__(self, wanted: frozenset[str] | None) -> None:
        self.found = RobotsLines()
        self._wanted = wanted
        self._begin_group()
        self._begin_delay()

    def _begin_group(self) -> None:
        self._group: list[Rule] = []
        self._known: set[tuple[bool, str]] = set()
        self._group_wanted = self._group_over = False

    def _begin_delay(self) -> None:
        self._delay: list[float] = []
        self._delay_wanted = self._delay_over = False

    def read(self, name: Field, value: bytes, number: int) -> None:
        """Take in one line."""
        if name == "user-agent":
            self._user_agent(value)
        elif name in ("allow", "disallow"):
            self._group_over = self._delay_over = True
            if value and self._group_wanted:
                self._rule(name == "allow", escaped(value), number)
        elif name == "crawl-delay":
            # Sites put one agent and its delay after the other without a rule between, so for
            # delays a delay ends the list of agents, which it must not do for rules.
            self._delay_over = True
            seconds = _seconds(value) if self._delay_wanted else None
            if seconds is not None:
                self._delay[:] = [max(seconds, *self._delay)] if self._delay else [seconds]
        elif value:
            self.found.sitemaps.append(value.decode("utf-8", "replace"))

    def _user_agent(self, value: bytes) -> None:
        if self._group_over:
            self._begin_group()
        if self._delay_over:
            self._begin_delay()
        for agent in agent_names(value):
            if self._wanted is None or agent in self._wanted:
                self._group_wanted = self._delay_wanted = True
                _share(self.found.groups, agent, self._group)
                _share(self.found.delays_s, agent, self._delay)

    def _rule(self, allow: bool, pattern: str, number: int) -> None:
        # One more than the limit is kept, so that a reader sees that there are too many.
        if (allow, pattern) not in self._known and len(self._group) <= MAX_RULES:
            self._known.add((allow, pattern))
            self._group.append(Rule(allow, pattern, number))


def _share(lists: dict[str, list[list[T]]], agent: str, group: list[T]) -> None:
    """Have `agent` share `group`, once."""
    its = lists.setdefault(agent, [])
    if not its or its[-1] is not group:
        its.append(group)


def _lines(body: bytes) -> list[bytes]:
    if len(body) > MAX_BYTES:
        body = body[: MAX_BYTES + 1]
        end = max(body.rfind(b"\n"), body.rfind(b"\r"))
        body = body[:end] if end > 0 else body[:MAX_BYTES]
    # Half a byte order mark is skipped as well; anything else at its place is part of the line.
    skip = 0
    while skip < len(_BOM) and body[skip : skip + 1] == _BOM[skip : skip + 1]:
        skip += 1
    # For bytes these are CR, LF and CR LF, no others.
    return body[skip:].splitlines()


def _directive(line: bytes) -> tuple[Field, bytes]:
    """A line's field and value; an empty field for anything that is no directive."""
    if len(line) > MAX_LINE_BYTES:
        line = line[:MAX_LINE_BYTES]
    line = line.partition(b"\0")[0].partition(b"#")[0]
    name, colon, value = line.partition(b":")
    if colon:
        return field_of(name.strip()), value.strip()
    words = line.strip().replace(b"\t", b" ").split(b" ")
    words = [word for word in words if word]
    # The colon is often forgotten; two words say clearly enough what was meant.
    return (field_of(words[0]), words[1].strip()) if len(words) == 2 else ("", b"")


def field_of(name: bytes) -> Field:
    """Which field a line's name means; empty for names that mean nothing here."""
    low = name.lower()
    for meant, beginnings in _FIELDS:
        if low.startswith(beginnings):
            return meant
    return ""


def agent_names(value: bytes) -> list[str]:
    """
    The names under which a User-agent value is found.

    The product token is what comes before the first character that RFC 9309 does not allow in it,
    so `FooBot/1.2` and `FooBot (all)` are `foobot`. Real crawlers have digits and dots in their
    names all the same, so the name up to `/` or a blank is one, too.
    """
    if value[:1] == b"*" and (len(value) == 1 or value[1:2].isspace()):
        return [EVERYBODY]
    token = _TOKEN.match(value)
    name = _NAME_END.split(value, maxsplit=1)[0]
    names = (token.group() if token else b"", b"" if name == b"*" else name)
    return list(dict.fromkeys(n.lower().decode("utf-8", "replace") for n in names))


def escaped(value: bytes) -> str:
    """The value in ASCII: octets over 127 as `%XX`, escapes in upper case, the rest as it is."""
    if value.isascii() and b"%" not in value:
        return value.decode("ascii")
    return _TO_ESCAPE.sub(_escape, value).decode("ascii")


def _escape(found: re.Match[bytes]) -> bytes:
    text = found.group()
    return text.upper() if len(text) == 3 else b"%%%02X" % text[0]


def _seconds(value: bytes) -> float | None:
    found = _SECONDS.match(value)
    delay_s = float(found.group()) if found else math.inf
    return delay_s if math.isfinite(delay_s) else None
