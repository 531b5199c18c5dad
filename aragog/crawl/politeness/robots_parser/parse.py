"""
The robots.txt parser: turns bytes into groups of rules. No input raises an error.

It follows RFC 9309 and tolerates what Google's parser tolerates: prefixes of field names, frequent
typos, a missing colon, every kind of line ending, and a byte order mark.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeVar

from aragog.crawl.politeness.robots_parser.timed_rules import TimedRule

# RFC 9309 section 2.5 requires at least 500 KiB. Google uses the same limit.
MAX_BYTES = 500 * 1024

# Google's parser ignores the rest of longer lines. Eight times the 2,083 characters that browsers
# once allowed in a URL, minus one.
MAX_LINE_BYTES = 8 * 2083 - 1

# Maximum number of distinct rules per agent. Only a file with very short rules has more in 500 KiB.
MAX_RULES = 30_000

ALL_AGENTS = "*"

Field = Literal[
    "user-agent", "allow", "disallow", "sitemap", "crawl-delay", "content-usage", "content-signal",
    "license", "request-rate", "visit-time", "",
]  # fmt: skip

# Prefixes of field names, checked in this order, ignoring case.
_FIELD_PREFIXES: tuple[tuple[Field, tuple[bytes, ...]], ...] = (
    ("user-agent", (b"user-agent", b"useragent", b"user agent")),
    ("allow", (b"allow",)),
    ("disallow", (b"disallow", b"dissallow", b"dissalow", b"disalow", b"diasllow", b"disallaw")),
    ("sitemap", (b"sitemap", b"site-map")),
    ("crawl-delay", (b"crawl-delay", b"crawldelay", b"crawl delay")),
)
# These field names must be complete and followed by a colon, or their values would be ambiguous.
_WHOLE_NAMES: dict[bytes, Field] = {
    b"content-usage": "content-usage",
    b"content-signal": "content-signal",
    b"license": "license",
    b"request-rate": "request-rate",
    b"visit-time": "visit-time",
}
MAX_LICENSES = 20
MAX_TIMED_RULES = 50
_BOM = b"\xef\xbb\xbf"
_NEEDS_ESCAPE = re.compile(rb"%[0-9A-Fa-f]{2}|[\x80-\xff]")
_TOKEN = re.compile(rb"[A-Za-z_-]*")
_NAME_END = re.compile(rb"[/\s]")
_RATE = re.compile(
    rb"(?P<documents>[0-9]{1,6})\s*/\s*(?P<time>[0-9]{1,6})(?P<unit>[smh]?)"
    rb"(?:\s+(?P<begin>[0-9]{4})\s*-\s*(?P<end>[0-9]{4}))?"
)
_VISIT = re.compile(rb"(?P<begin>[0-9]{4})\s*-\s*(?P<end>[0-9]{4})")
_UNITS = {b"": 1, b"s": 1, b"m": 60, b"h": 3600}
_SECONDS = re.compile(rb"[0-9]{1,12}(?:[.,][0-9]{0,12})?|[.,][0-9]{1,12}")
_THOUSANDS = re.compile(rb"[1-9][0-9]{0,2}(?:,[0-9]{3}){1,3}(?![0-9])")

T = TypeVar("T")


class Rule(NamedTuple):
    """One Allow or Disallow line."""

    allow: bool
    pattern: str
    """The pattern in ASCII, with other octets as upper-case `%XX`. Never empty."""
    line: int

    def __str__(self) -> str:
        return f"line {self.line}, {'Allow' if self.allow else 'Disallow'}: {self.pattern}"


class UsageRule(NamedTuple):
    """A Content-Usage or Content-Signal line: how pages at some paths may be used."""

    syntax: Literal["content-usage", "content-signal"]
    pattern: str
    """The path pattern, as in `Rule`; empty for all paths."""
    value: str
    """The preferences as written."""
    line: int

    def __str__(self) -> str:
        name = "Content-Usage" if self.syntax == "content-usage" else "Content-Signal"
        return f"robots.txt line {self.line}, {name}: {f'{self.pattern} {self.value}'.strip()}"


@dataclass(slots=True)
class RobotsLines:
    """
    A file's parsed lines by agent. Names are in lower case; `*` stands for all agents.

    Agents in a group share one list, so memory use is proportional to the file.
    """

    groups: dict[str, list[list[Rule]]] = field(default_factory=dict)
    """Each named agent's rules by group, in the order of the file."""
    delays_s: dict[str, list[list[float]]] = field(default_factory=dict)
    """For each agent, lists of at most one delay."""
    sitemaps: list[str] = field(default_factory=list)
    usage: dict[str, list[list[UsageRule]]] = field(default_factory=dict)
    """Each named agent's preferences by group. Agents without preferences are left out."""
    signals: list[UsageRule] = field(default_factory=list)
    """Content-Signal lines before the first group, for all agents."""
    licenses: list[tuple[str, int]] = field(default_factory=list)
    """License lines' values and line numbers. These lines belong to no group."""
    timed: dict[str, list[list[TimedRule]]] = field(default_factory=dict)
    """Each named agent's Request-rate and Visit-time lines by group."""

    def timed_rules(self, agent: str) -> list[TimedRule]:
        return [rule for group in self.timed.get(agent, ()) for rule in group]

    def usage_rules(self, agent: str) -> list[UsageRule]:
        """Return the preferences for an agent, in the order of the file."""
        return self.signals + [rule for group in self.usage.get(agent, ()) for rule in group]

    def rules(self, agent: str) -> list[Rule]:
        """Return all rules of an agent, in the order of the file."""
        groups = self.groups.get(agent, [])
        return groups[0] if len(groups) == 1 else [rule for group in groups for rule in group]

    def delay_s(self, agent: str) -> float | None:
        """Return an agent's longest Crawl-delay in seconds, or None."""
        return max((s for delay in self.delays_s.get(agent, ()) for s in delay), default=None)


def read_lines(body: bytes, agents: Iterable[str] | None = None) -> RobotsLines:
    """
    Parse a robots.txt file, in time linear in its size.

    A group consists of consecutive User-agent lines and the rules after them. Sitemap and unknown
    lines neither start nor end a group (RFC 9309 section 2.2.4).

    Args:
        body: only the first 500 KiB are read.
        agents: keep only these agents' groups (names in lower case); all groups if None.
    """
    reader = _Reader(None if agents is None else frozenset(agents))
    for number, line in enumerate(_split_lines(body), 1):
        name, value = _parse_directive(line)
        if name:
            reader.read(name, value, number)
    return reader.lines


class _Reader:
    """The parser's state: the current group and the result so far."""

    def __init__(self, agents: frozenset[str] | None) -> None:
        self.lines = RobotsLines()
        self._agents = agents
        self._in_groups = False
        self._start_group()
        self._start_delay()

    def _start_group(self) -> None:
        self._group: list[Rule] = []
        self._known_rules: set[tuple[bool, str]] = set()
        self._usage: list[UsageRule] = []
        self._timed: list[TimedRule] = []
        self._group_agents: list[str] = []
        self._is_group_wanted = self._is_agent_list_done = False

    def _start_delay(self) -> None:
        self._delay: list[float] = []
        self._is_delay_wanted = self._is_delay_agent_list_done = False

    def read(self, name: Field, value: bytes, number: int) -> None:
        if name == "user-agent":
            self._add_agents(value)
        elif name in ("allow", "disallow"):
            self._is_agent_list_done = self._is_delay_agent_list_done = True
            if value and self._is_group_wanted:
                self._add_rule(name == "allow", escape_octets(value), number)
        elif name == "crawl-delay":
            # Some files list agents with delays but without rules in between. So a delay ends the
            # list of agents for delays, but not for rules.
            self._is_delay_agent_list_done = True
            seconds = _parse_seconds(value) if self._is_delay_wanted else None
            if seconds is not None:
                self._delay[:] = [max(seconds, *self._delay)] if self._delay else [seconds]
        elif name in ("request-rate", "visit-time"):
            self._is_delay_agent_list_done = True
            self._add_timed_rule(parse_timed_rule(name == "visit-time", value, number))
        elif name in ("content-usage", "content-signal"):
            self._is_agent_list_done = self._is_delay_agent_list_done = True
            self._add_preference(name, value, number)
        elif name == "license":
            if value and len(self.lines.licenses) < MAX_LICENSES:
                self.lines.licenses.append((value.decode("utf-8", "replace"), number))
        elif value:
            self.lines.sitemaps.append(value.decode("utf-8", "replace"))

    def _add_preference(
        self, name: Literal["content-usage", "content-signal"], value: bytes, number: int
    ) -> None:
        """Add a preference. Like any rule of a group, it ends the group's list of agents."""
        path = b""
        if value[:1] == b"/":
            path, _, value = value.replace(b"\t", b" ").partition(b" ")
        text = value.strip().decode("latin-1")
        rule = UsageRule(name, escape_octets(path), text, number)
        if not self._in_groups:
            if name == "content-signal":
                self.lines.signals.append(rule)
        elif text and self._is_group_wanted and len(self._usage) < MAX_RULES:
            if not self._usage:
                for agent in self._group_agents:
                    _add_group(self.lines.usage, agent, self._usage)
            self._usage.append(rule)

    def _add_timed_rule(self, rule: TimedRule | None) -> None:
        if rule is None or not self._is_group_wanted or len(self._timed) >= MAX_TIMED_RULES:
            return
        if not self._timed:
            for agent in self._group_agents:
                _add_group(self.lines.timed, agent, self._timed)
        self._timed.append(rule)

    def _add_agents(self, value: bytes) -> None:
        self._in_groups = True
        if self._is_agent_list_done:
            self._start_group()
        if self._is_delay_agent_list_done:
            self._start_delay()
        for agent in agent_names(value):
            if self._agents is None or agent in self._agents:
                self._is_group_wanted = self._is_delay_wanted = True
                self._group_agents.append(agent)
                _add_group(self.lines.groups, agent, self._group)
                _add_group(self.lines.delays_s, agent, self._delay)

    def _add_rule(self, allow: bool, pattern: str, number: int) -> None:
        # Keep one rule above the limit, so that the matcher can detect the excess.
        if (allow, pattern) not in self._known_rules and len(self._group) <= MAX_RULES:
            self._known_rules.add((allow, pattern))
            self._group.append(Rule(allow, pattern, number))


def _add_group(lists: dict[str, list[list[T]]], agent: str, group: list[T]) -> None:
    """Add `group` to the groups of `agent`, once."""
    groups = lists.setdefault(agent, [])
    if not groups or groups[-1] is not group:
        groups.append(group)


def _split_lines(body: bytes) -> list[bytes]:
    if len(body) > MAX_BYTES:
        body = body[: MAX_BYTES + 1]
        end = max(body.rfind(b"\n"), body.rfind(b"\r"))
        body = body[:end] if end > 0 else body[:MAX_BYTES]
    # A partial byte order mark is skipped as well.
    skip = 0
    while skip < len(_BOM) and body[skip : skip + 1] == _BOM[skip : skip + 1]:
        skip += 1
    # For bytes, splitlines splits only at CR, LF and CR LF.
    return body[skip:].splitlines()


def _parse_directive(line: bytes) -> tuple[Field, bytes]:
    """Return a line's field and value. An unknown field is empty."""
    if len(line) > MAX_LINE_BYTES:
        line = line[:MAX_LINE_BYTES]
    line = line.partition(b"\0")[0].partition(b"#")[0]
    name, colon, value = line.partition(b":")
    if colon:
        name = name.strip()
        return _WHOLE_NAMES.get(name.lower()) or get_field(name), value.strip()
    words = line.strip().replace(b"\t", b" ").split(b" ")
    words = [word for word in words if word]
    # A missing colon is a frequent error. Two words are unambiguous.
    return (get_field(words[0]), words[1].strip()) if len(words) == 2 else ("", b"")


def get_field(name: bytes) -> Field:
    """Return the field with this name; empty for unknown names."""
    lower_name = name.lower()
    for field_name, prefixes in _FIELD_PREFIXES:
        if lower_name.startswith(prefixes):
            return field_name
    return ""


def agent_names(value: bytes) -> list[str]:
    """
    Return the agent names in a User-agent line, in lower case.

    The product token ends at the first character that RFC 9309 does not allow, so `FooBot/1.2` and
    `FooBot (all)` yield `foobot`. Some crawlers' names contain digits and dots, so the part before
    `/` or a blank is a name, too.
    """
    if value[:1] == b"*" and (len(value) == 1 or value[1:2].isspace()):
        return [ALL_AGENTS]
    token = _TOKEN.match(value)
    name = _NAME_END.split(value, maxsplit=1)[0]
    names = (token.group() if token else b"", b"" if name == b"*" else name)
    return list(dict.fromkeys(n.lower().decode("utf-8", "replace") for n in names))


def escape_octets(value: bytes) -> str:
    """Return the value in ASCII, with octets above 127 as `%XX` and escapes in upper case."""
    if value.isascii() and b"%" not in value:
        return value.decode("ascii")
    return _NEEDS_ESCAPE.sub(_escape, value).decode("ascii")


def _escape(match: re.Match[bytes]) -> bytes:
    text = match.group()
    return text.upper() if len(text) == 3 else b"%%%02X" % text[0]


def parse_timed_rule(is_visit: bool, value: bytes, line: int) -> TimedRule | None:
    """
    Return the rule of a Request-rate or Visit-time line, or None if it is invalid.

    "An Extended Standard for Robot Exclusion" (Sean Conner, 1996) defines both. `Request-rate:
    1/10m 1300-1659` allows one document per ten minutes (unit s, m or h; s by default) between
    these times. `Visit-time: 0600-0845` defines when robots may come. Times are in UTC. The last
    minute is included.
    """
    match = (_VISIT if is_visit else _RATE).fullmatch(value.lower())
    if match is None:
        return None
    begin, end = match["begin"], match["end"]
    span = (0, 1440) if begin is None else (_parse_minute(begin), _parse_minute(end))
    if span[0] is None or span[1] is None:
        return None
    end_min = span[1] if begin is None else min(1440, span[1] + 1)
    if is_visit:
        return TimedRule(0.0, span[0], end_min, line)
    documents, seconds = int(match["documents"]), int(match["time"]) * _UNITS[match["unit"]]
    return TimedRule(seconds / documents, span[0], end_min, line) if documents and seconds else None


def _parse_minute(text: bytes) -> int | None:
    hours, minutes = int(text[:2]), int(text[2:])
    return hours * 60 + minutes if hours < 24 and minutes < 60 else None


def _parse_seconds(value: bytes) -> float | None:
    """
    Return the number of seconds that `value` starts with, or None.

    Many countries write `0,5` for half a second. `1,500` may mean 1.5 or 1500, so the longer delay
    is used.
    """
    if match := _THOUSANDS.match(value):
        return float(match.group().replace(b",", b""))
    match = _SECONDS.match(value)
    delay_s = float(match.group().replace(b",", b".")) if match else math.inf
    return delay_s if math.isfinite(delay_s) else None
