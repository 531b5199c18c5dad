"""
Parse JSON in web pages: valid JSON with a fast parser, other text with a lenient one.

The lenient parser accepts control characters and line ends inside strings, HTML comments and CDATA
marks around the JSON, JavaScript comments, trailing and missing commas, unknown escapes, unescaped
quotes inside strings, single and typographic quotes around strings, and several consecutive values.
If the end is missing, it returns the values read so far. A block that is escaped as a whole
(`{&#34;name&#34;: …`) is unescaped first (`escaped_json`).
"""

from __future__ import annotations

import json
import re
from typing import Any

import orjson

from richpins.structured_data.escaped_json import unescaped

MAX_DEPTH = 64
MAX_STRICT_DEPTH = 1_000
"""
Maximum nesting for Python's own parser, close to orjson's limit (1,024). From Python 3.14 on, only
the stack limits that parser, and it returns values that other code cannot traverse.
"""
MAX_MALFORMED_CHARS = 1_000_000
"""
Maximum characters of a block that the fast parser rejects; lenient parsing takes up to 1.5 µs per
character.
"""

_WRAPPERS = re.compile(
    r"^\s*(?:<!--|-->|//\s*<!\[CDATA\[|/\*\s*<!\[CDATA\[\s*\*/|<!\[CDATA\[|<script[^>]*>"
    r"|//\s*<!--|//\s*\]\]>|/\*\s*\]\]>\s*\*/|\]\]>)+"
)
_SURROGATES = re.compile(
    r"(\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)
_MAX_END_CHARS = 200
_WRAPPERS_END = re.compile(r"(?:-->|//\s*-->|//\s*\]\]>|/\*\s*\]\]>\s*\*/|\]\]>|</script>|;|\s)+$")
_BLANKS = (
    r"[\s,;\ufeff\u200b]++|//[^\n]*+"
    r"|/\*(?:[^*]++|\*(?!/)|)*+(?:\*/)?|<!--(?:[^-]++|-(?!->)|)*+(?:-->)?"
)
_BLANK = re.compile(rf"(?:{_BLANKS})(?:{_BLANKS}|)*+")
_LITERAL = re.compile(r"[^\s,:\[\]{}\"]++")
_PLAIN_STRING = re.compile(r'"[^"\\]*"')
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "/": "/", '"': '"', "\\": "\\"}
_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]++|\\.|)*+"?|[\[\]{}]', re.DOTALL)
_ENDS_STRING = re.compile(r"\s{0,99}+(?:[,:}\]]|\Z)")


class UnreadableJson(ValueError):
    """Raised for text without the start of a JSON object or array."""


def loads(text: str) -> tuple[list[Any], str | None]:
    """
    Return the values in `text`, usually one, and a description of its errors (None for valid JSON).

    Raises:
        UnreadableJson: the text contains no object or array.
    """
    try:
        whole = orjson.loads(text)
    except orjson.JSONDecodeError:
        pass
    else:
        if not isinstance(whole, str):
            return [whole], None
    bare = _unwrapped(text[:MAX_MALFORMED_CHARS])
    plain = unescaped(bare)
    if plain is not None:
        bare = _unwrapped(plain)
    if _is_shallow(bare):
        try:
            values = json.loads(_whole_characters(bare), strict=False)
        except (ValueError, RecursionError):
            pass
        else:
            reason = "marks around it or raw control characters" if plain is None else "escaped"
            return [values], reason
    values, reason = _LenientReader(bare).everything()
    if len(text) > MAX_MALFORMED_CHARS:
        reason = f"{reason}; only the first {MAX_MALFORMED_CHARS} characters were read"
    if not any(isinstance(value, dict | list) for value in values):
        raise UnreadableJson("no JSON object or array in it")
    return values, reason


def _unwrapped(text: str) -> str:
    return _without_end(_WRAPPERS.sub("", text.lstrip("\ufeff")).rstrip()).strip()


def _is_shallow(text: str) -> bool:
    """Return True if no bracket outside of strings is nested deeper than MAX_STRICT_DEPTH."""
    depth = 0
    for match in _STRING_OR_BRACKET.finditer(text):
        if match[0] in {"[", "{"}:
            depth += 1
            if depth > MAX_STRICT_DEPTH:
                return False
        elif match[0] in {"]", "}"}:
            depth -= 1
    return True


def _whole_characters(text: str) -> str:
    """Replace escaped lone surrogates, which UTF-8 cannot represent, with U+FFFD; keep pairs."""
    return _SURROGATES.sub(lambda m: m[0] if m[1] else r"\ufffd", text) if "\\u" in text else text


def _without_end(text: str) -> str:
    """Remove marks after the end of a block, such as `-->`."""
    return text[:-_MAX_END_CHARS] + _WRAPPERS_END.sub("", text[-_MAX_END_CHARS:])


class _LenientReader:
    """A scanner that continues after errors. Its values are never nested deeper than MAX_DEPTH."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.faults: list[str] = []
        self._no_single_end = False

    def everything(self) -> tuple[list[Any], str]:
        values = []
        while True:
            self._skip()
            start = self._next_container()
            if start is None:
                break
            self.at = start
            values.append(self._value(0))
            if len(values) >= 1_000:
                break
        return values, self.faults[0] if self.faults else "malformed JSON"

    def _next_container(self) -> int | None:
        positions = [at for at in (self.text.find(c, self.at) for c in "{[") if at >= 0]
        return min(positions) if positions else None

    def _skip(self) -> None:
        match = _BLANK.match(self.text, self.at)
        if match:
            self.at = match.end()

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def _next(self) -> str:
        self._skip()
        return self._peek()

    def _ends(self, char: str, end: str, fault: str) -> bool:
        """Return True if the object or array ends here, at `end` or because of an error."""
        if char == end:
            self.at += 1
        elif not char:
            self._fault("missing end of an object" if end == "}" else "missing end of an array")
        elif char in "]}":
            self._fault(fault)
        else:
            return False
        return True

    def _fault(self, what: str) -> None:
        if not self.faults:
            self.faults.append(f"{what} at character {self.at}")

    def _value(self, depth: int) -> Any:
        self._skip()
        char = self._peek()
        if char in "{[" and char and depth >= MAX_DEPTH:
            self._fault("nested too deep")
            self.at = len(self.text)
            return None
        if char == "{":
            return self._object(depth)
        if char == "[":
            return self._array(depth)
        if char == '"':
            return self._string()
        if char == "'":
            return self._single_quoted()
        return self._typographic(char) if char in _OPENING_QUOTES else self._literal()

    def _typographic(self, opening: str) -> Any:
        """Read a string between typographic quotes, double or single."""
        for match in _CLOSING_QUOTES[opening].finditer(self.text, self.at + 1):
            if _ENDS_STRING.match(self.text, match.end()):
                self._fault("typographic quotes")
                inside = self.text[self.at + 1 : match.start()]
                self.at = match.end()
                return _BACKSLASHED.sub(lambda m: _ESCAPES.get(m[1], m[1]), inside)
        return self._literal()

    def _single_quoted(self) -> Any:
        """Read a string between single quotes, which may contain apostrophes."""
        if self._no_single_end:
            return self._literal()
        for match in _QUOTE.finditer(self.text, self.at + 1):
            if _ENDS_STRING.match(self.text, match.end()):
                self._fault("single quotes")
                inside = self.text[self.at + 1 : match.start()]
                self.at = match.end()
                return _BACKSLASHED.sub(lambda m: _ESCAPES.get(m[1], m[1]), inside)
        # The quotes that follow do not end a string either. Checking them again for each of 30,000
        # opening quotes took 100 s.
        self._no_single_end = True
        return self._literal()

    def _object(self, depth: int) -> dict[str, Any]:
        self.at += 1
        result: dict[str, Any] = {}
        while True:
            char = self._next()
            if self._ends(char, "}", "array ended inside an object"):
                return result
            key = self._value(depth) if char in _QUOTES else self._literal()
            self._skip()
            if self._peek() == ":":
                self.at += 1
                value = self._value(depth + 1)
                if isinstance(key, str):
                    result.setdefault(key, value)
            elif self._peek() in {"{", "["}:
                self._fault("a value without a name")
                self._value(depth + 1)

    def _array(self, depth: int) -> list[Any]:
        self.at += 1
        result: list[Any] = []
        while True:
            char = self._next()
            if self._ends(char, "]", "object ended inside an array"):
                return result
            if char == ":":
                self.at += 1
                continue
            result.append(self._value(depth + 1))

    def _string(self) -> str:
        plain = _PLAIN_STRING.match(self.text, self.at)
        if plain and _ENDS_STRING.match(self.text, plain.end()):
            self.at = plain.end()
            return plain[0][1:-1]
        return self._odd_string()

    def _odd_string(self) -> str:
        """Read a string with escapes or unescaped quotes."""
        text, at = self.text, self.at + 1
        parts = []
        while True:
            end = _next_mark(text, at)
            parts.append(text[at:end])
            if end >= len(text):
                self._fault("missing end of a string")
                self.at = end
                return "".join(parts)
            if text[end] == '"':
                if _ENDS_STRING.match(text, end + 1) or _starts_next(text, end + 1):
                    self.at = end + 1
                    return "".join(parts)
                parts.append('"')
                at = end + 1
                continue
            char, at = _escape(text, end + 1)
            parts.append(char)

    def _literal(self) -> Any:
        match = _LITERAL.match(self.text, self.at)
        if not match:
            self._fault("unexpected character")
            self.at += 1
            return None
        self.at = match.end()
        return _LITERALS[match[0]] if match[0] in _LITERALS else _number(match[0])


_LITERALS = {
    "true": True, "false": False, "null": None, "undefined": None, "NaN": None, "True": True,
    "False": False, "None": None,
}  # fmt: skip
_QUOTE = re.compile(r"(?<!\\)'")
_SINGLE_QUOTES = "\u2018\u2019\u201a\u2032"
_CLOSING_QUOTES = {
    **dict.fromkeys("“”„‟″＂", re.compile(r"[“”„‟″＂\"]")),
    **dict.fromkeys(_SINGLE_QUOTES, re.compile(f"[{_SINGLE_QUOTES}']")),
}
_OPENING_QUOTES = frozenset(_CLOSING_QUOTES)
_QUOTES = frozenset("\"'") | _OPENING_QUOTES
_BACKSLASHED = re.compile(r"\\(.)", re.DOTALL)
_MARKS = re.compile(r'["\\]')
_MISSING_COMMA = re.compile(r'\s{1,99}+"[\w@:.\-]{1,64}"\s{0,99}+:')


def _next_mark(text: str, at: int) -> int:
    match = _MARKS.search(text, at)
    return match.start() if match else len(text)


def _starts_next(text: str, at: int) -> bool:
    """Return True if another pair follows and only the comma is missing."""
    return bool(_MISSING_COMMA.match(text, at))


def _escape(text: str, at: int) -> tuple[str, int]:
    char = text[at : at + 1]
    if char == "u":
        try:
            return _code_unit(text, at)
        except ValueError:
            return "\\u", at + 1
    return _ESCAPES.get(char, char), at + 1


def _code_unit(text: str, at: int) -> tuple[str, int]:
    code = int(text[at + 1 : at + 5], 16)
    end = at + 5
    if 0xD800 <= code < 0xDC00 and text[end : end + 2] == "\\u":
        low = int(text[end + 2 : end + 6], 16)
        if 0xDC00 <= low < 0xE000:
            return chr(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)), end + 6
    return (chr(code) if not 0xD800 <= code < 0xE000 else "\ufffd"), end


def _number(text: str) -> Any:
    try:
        return int(text) if len(text) < 20 else text
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text.strip("'")
