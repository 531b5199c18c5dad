"""
Structured Field Values for HTTP: dictionaries and strings (RFC 9651, 3.2, 3.3.3 and 4).

The parser is strict, because a field with any error must be ignored completely. Values that aragog
does not use are validated and kept as text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NoReturn

MAX_CHARS = 65_536
_KEY = re.compile(r"[a-z*][a-z0-9_\-.*]*")
_TOKEN = re.compile(r"[A-Za-z*][A-Za-z0-9!#$%&'*+\-.^_`|~:/]*")
_STRING = re.compile(r'"(?:[ !#-\[\]-~]|\\["\\]|)*+"')
_DECIMAL = re.compile(r"-?[0-9]{1,12}\.[0-9]{1,3}(?![0-9.])")
_INTEGER = re.compile(r"-?[0-9]{1,15}(?![0-9.])")
_DATE = re.compile(r"@-?[0-9]{1,15}(?![0-9.])")
_BINARY = re.compile(r":[A-Za-z0-9+/]*={0,2}:")
_BOOLEAN = re.compile(r"\?[01]")
_DISPLAY_STRING = re.compile(r'%"(?:[ !#$&-~]|%[0-9a-f]{2})*"')
_SPACES, _SPACES_AND_TABS = re.compile(r" *"), re.compile(r"[ \t]*")


class FieldToken(str):
    """A token, as opposed to a string with the same characters."""

    __slots__ = ()


BareItem = FieldToken | str | int | float | bool


@dataclass(frozen=True, slots=True)
class Member:
    """A value in a dictionary: an item or an inner list, with its parameters."""

    value: BareItem | tuple[Member, ...]
    parameters: Mapping[str, BareItem] = field(default_factory=dict)
    text: str = ""
    """The value with its parameters, as written."""


def parse_dictionary(text: str) -> dict[str, Member]:
    """
    Return the members of a dictionary by key. If a key is repeated, the last member is used.

    Raises:
        ValueError: not a structured field.
    """
    members: dict[str, Member] = {}
    for key, read_member in dictionary_members(text):
        members.pop(key, None)
        members[key] = read_member
    return members


def dictionary_members(text: str) -> list[tuple[str, Member]]:
    """
    Return all members of a dictionary in order, including repeated keys.

    Raises:
        ValueError: not a structured field.
    """
    reader = _DictionaryReader(text[:MAX_CHARS])
    reader.skip(_SPACES)
    members: list[tuple[str, Member]] = []
    while not reader.is_at_end():
        key = reader.take_match(_KEY.match, "a key")
        members.append((key, reader.read_member() if reader.take_if("=") else reader.read_flag()))
        reader.skip(_SPACES_AND_TABS)
        if reader.is_at_end():
            break
        if not reader.take_if(","):
            reader.fail("a comma")
        reader.skip(_SPACES_AND_TABS)
        if reader.is_at_end():
            reader.fail("a member after the comma")
    return members


def string_text(text: str) -> str:
    """
    Return `text` serialized as a quoted string (section 4.1.6).

    Raises:
        ValueError: it contains characters other than printable ASCII.
    """
    if not (text.isascii() and text.isprintable()):
        raise ValueError(f"not printable ASCII: {text[:100]!r}")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


class _DictionaryReader:
    """Reads the parts of a dictionary, one after the other. Ignores trailing spaces."""

    def __init__(self, text: str) -> None:
        self._text = text.rstrip(" ")
        self._position = 0

    def is_at_end(self) -> bool:
        return self._position >= len(self._text)

    def fail(self, expected: str) -> NoReturn:
        raise ValueError(f"character {self._position + 1}: expected {expected}")

    def skip(self, pattern: re.Pattern[str]) -> None:
        match = pattern.match(self._text, self._position)
        self._position = match.end() if match else self._position

    def take_match(self, match_at: Callable[[str, int], re.Match[str] | None], name: str) -> str:
        match = match_at(self._text, self._position)
        if match is None:
            self.fail(name)
        self._position = match.end()
        return match.group()

    def take_if(self, character: str) -> bool:
        if self._text[self._position : self._position + 1] != character:
            return False
        self._position += 1
        return True

    def read_flag(self) -> Member:
        """Return the member for a key without a value, which is True."""
        start = self._position
        return Member(True, self._parameters(), self._text[start : self._position])

    def read_member(self) -> Member:
        start = self._position
        value: BareItem | tuple[Member, ...] = (
            self._inner_list() if self.take_if("(") else self._bare_item()
        )
        parameters = self._parameters()
        return Member(value, parameters, self._text[start : self._position])

    def _inner_list(self) -> tuple[Member, ...]:
        items: list[Member] = []
        while True:
            self.skip(_SPACES)
            if self.take_if(")"):
                return tuple(items)
            if items and self._text[self._position - 1] != " ":
                self.fail("a space between items")
            start, value = self._position, self._bare_item()
            parameters = self._parameters()
            items.append(Member(value, parameters, self._text[start : self._position]))

    def _parameters(self) -> dict[str, BareItem]:
        parameters: dict[str, BareItem] = {}
        while self.take_if(";"):
            self.skip(_SPACES)
            key = self.take_match(_KEY.match, "the name of a parameter")
            parameters.pop(key, None)
            parameters[key] = self._bare_item() if self.take_if("=") else True
        return parameters

    def _bare_item(self) -> BareItem:
        first = self._text[self._position : self._position + 1]
        if first == '"':
            return re.sub(r"\\(.)", r"\1", self.take_match(_STRING.match, "a string")[1:-1])
        if first == "?":
            return self.take_match(_BOOLEAN.match, "?0 or ?1") == "?1"
        if first == ":":
            return self.take_match(_BINARY.match, "a byte sequence")
        if first == "@":
            return self.take_match(_DATE.match, "a date")
        if first == "%":
            return self.take_match(_DISPLAY_STRING.match, "a display string")
        if first == "-" or first.isdigit():
            if _DECIMAL.match(self._text, self._position):
                return float(self.take_match(_DECIMAL.match, "a number"))
            return int(self.take_match(_INTEGER.match, "a number"))
        return FieldToken(self.take_match(_TOKEN.match, "a value"))
