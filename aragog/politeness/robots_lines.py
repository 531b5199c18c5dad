"""
What the lines of a robots.txt file say: bytes in, groups out. Never raises, whatever the bytes.

RFC 9309, read with the tolerance that Google's parser has for the files of real sites: names of
fields by their beginning, frequent typos, a missing colon, every line end, a byte order mark.
Nothing here knows how a path is matched.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

# RFC 9309 section 2.5: at least the first 500 KiB count. Google reads as much.
MAX_BYTES = 500 * 1024

# Eight times the 2,083 characters that browsers once allowed a URL, less the end of the line;
# Google's parser ignores what follows on a line.
MAX_LINE_BYTES = 8 * 2083 - 1

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
class Lines:
    """What a file says, by agent: lower-case names, `*` for everybody."""

    rules: dict[str, list[Rule]] = field(default_factory=dict)
    """Every agent that is named, with the rules of all its groups in the order of the file."""
    delays_s: dict[str, float] = field(default_factory=dict)
    sitemaps: list[str] = field(default_factory=list)


def read_lines(body: bytes) -> Lines:
    """
    The groups of a robots.txt file. Linear in the body, of which the first 500 KiB count.

    A group is the User-agent lines that follow each other and the rules after them; Sitemap and
    unknown lines neither end nor begin one (RFC 9309 section 2.2.4).
    """
    found = Lines()
    agents: list[str] = []
    delayed: list[str] = []
    rules_seen = delay_seen = False
    for number, line in enumerate(_lines(body), 1):
        name, value = _directive(line)
        match name:
            case "user-agent":
                if rules_seen:
                    agents, rules_seen = [], False
                if delay_seen:
                    delayed, delay_seen = [], False
                names = agent_names(value)
                agents += names
                delayed += names
                for agent in names:
                    found.rules.setdefault(agent, [])
            case "allow" | "disallow":
                rules_seen = delay_seen = True
                if value:
                    rule = Rule(name == "allow", escaped(value), number)
                    for agent in dict.fromkeys(agents):
                        found.rules[agent].append(rule)
            case "crawl-delay":
                # Sites put one agent and its delay after the other without a rule between, so for
                # delays a delay ends the list of agents, which it must not do for rules.
                delay_seen = True
                _delay(found, delayed, value)
            case "sitemap" if value:
                found.sitemaps.append(value.decode("utf-8", "replace"))
    return found


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


def _delay(found: Lines, agents: list[str], value: bytes) -> None:
    seconds = _SECONDS.match(value)
    if seconds is None:
        return
    delay_s = float(seconds.group())
    if math.isfinite(delay_s):
        for agent in agents:
            found.delays_s[agent] = max(delay_s, found.delays_s.get(agent, 0.0))
