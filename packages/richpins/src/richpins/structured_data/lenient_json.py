"""
Parse JSON in web pages: valid JSON with a fast parser, other text with a lenient one.

The lenient parser accepts control characters and line ends inside strings, HTML comments and CDATA
markers around the JSON, JavaScript comments, trailing and missing commas, unknown escapes,
unescaped quotes, single and typographic quotes, and several consecutive values. If the end is
missing, it returns the values read so far. A block that is escaped as a whole
(`{&#34;name&#34;: …`) is unescaped first.
"""

from __future__ import annotations

import json
import re
from typing import Any

import orjson

from richpins.structured_data.escaped_json import unescape

MAX_DEPTH = 64
MAX_STRICT_DEPTH = 1_000
"""
Maximum nesting for Python's own parser, close to orjson's limit (1,024). From Python 3.14 on, only
the stack limits that parser.
"""
MAX_MALFORMED_CHARS = 1_000_000
"""The lenient parser ignores later characters. It takes up to 1.5 µs per character."""

_OPENING_WRAPPERS = re.compile(
    r"^\s*(?:<!--|-->|//\s*<!\[CDATA\[|/\*\s*<!\[CDATA\[\s*\*/|<!\[CDATA\[|<script[^>]*>"
    r"|//\s*<!--|//\s*\]\]>|/\*\s*\]\]>\s*\*/|\]\]>)+"
)
_SURROGATES = re.compile(
    r"(\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)
_MAX_CLOSING_CHARS = 200
_CLOSING_WRAPPERS = re.compile(
    r"(?:-->|//\s*-->|//\s*\]\]>|/\*\s*\]\]>\s*\*/|\]\]>|</script>|;|\s)+$"
)
_IGNORED_PATTERN = (
    r"[\s,;\ufeff\u200b]++|//[^\n]*+"
    r"|/\*(?:[^*]++|\*(?!/)|)*+(?:\*/)?|<!--(?:[^-]++|-(?!->)|)*+(?:-->)?"
)
_IGNORED_TEXT = re.compile(rf"(?:{_IGNORED_PATTERN})(?:{_IGNORED_PATTERN}|)*+")
_LITERAL = re.compile(r"[^\s,:\[\]{}\"]++")
_PLAIN_STRING = re.compile(r'"[^"\\]*"')
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "/": "/", '"': '"', "\\": "\\"}
_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]++|\\.|)*+"?|[\[\]{}]', re.DOTALL)
_STRING_END = re.compile(r"\s{0,99}+(?:[,:}\]]|\Z)")


class UnreadableJson(ValueError):
    """The text contains no start of a JSON object or array."""


def loads(text: str) -> tuple[list[Any], str | None]:
    """
    Return the values in `text`, usually one, and a description of its errors (None for valid JSON).

    Raises:
        UnreadableJson: the text contains no object or array.
    """
    try:
        valid = orjson.loads(text)
    except orjson.JSONDecodeError:
        pass
    else:
        if not isinstance(valid, str):
            return [valid], None
    unwrapped = _unwrap(text[:MAX_MALFORMED_CHARS])
    unescaped = unescape(unwrapped)
    if unescaped is not None:
        unwrapped = _unwrap(unescaped)
    if _is_shallow(unwrapped):
        try:
            values = json.loads(_replace_lone_surrogates(unwrapped), strict=False)
        except (ValueError, RecursionError):
            pass
        else:
            reason = "marks around it or raw control characters" if unescaped is None else "escaped"
            return [values], reason
    values, reason = _LenientReader(unwrapped).read_all()
    if len(text) > MAX_MALFORMED_CHARS:
        reason = f"{reason}; only the first {MAX_MALFORMED_CHARS} characters were read"
    if not any(isinstance(value, dict | list) for value in values):
        raise UnreadableJson("no JSON object or array in it")
    return values, reason


def _unwrap(text: str) -> str:
    return _remove_closing_wrappers(
        _OPENING_WRAPPERS.sub("", text.lstrip("\ufeff")).rstrip()
    ).strip()


def _is_shallow(text: str) -> bool:
    """Return True if no bracket outside strings is nested deeper than MAX_STRICT_DEPTH."""
    depth = 0
    for match in _STRING_OR_BRACKET.finditer(text):
        if match[0] in {"[", "{"}:
            depth += 1
            if depth > MAX_STRICT_DEPTH:
                return False
        elif match[0] in {"]", "}"}:
            depth -= 1
    return True


def _replace_lone_surrogates(text: str) -> str:
    """Replace escaped lone surrogates, which UTF-8 cannot represent, with U+FFFD."""
    return _SURROGATES.sub(lambda m: m[0] if m[1] else r"\ufffd", text) if "\\u" in text else text


def _remove_closing_wrappers(text: str) -> str:
    return text[:-_MAX_CLOSING_CHARS] + _CLOSING_WRAPPERS.sub("", text[-_MAX_CLOSING_CHARS:])


class _LenientReader:
    """A parser that continues after errors. Its values are never nested deeper than MAX_DEPTH."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.errors: list[str] = []
        self._has_no_closing_quote = False

    def read_all(self) -> tuple[list[Any], str]:
        values = []
        while True:
            self._skip_ignored_text()
            start = self._find_container()
            if start is None:
                break
            self.position = start
            values.append(self._read_value(0))
            if len(values) >= 1_000:
                break
        return values, self.errors[0] if self.errors else "malformed JSON"

    def _find_container(self) -> int | None:
        positions = [
            position
            for position in (self.text.find(bracket, self.position) for bracket in "{[")
            if position >= 0
        ]
        return min(positions) if positions else None

    def _skip_ignored_text(self) -> None:
        match = _IGNORED_TEXT.match(self.text, self.position)
        if match:
            self.position = match.end()

    def _peek(self) -> str:
        return self.text[self.position : self.position + 1]

    def _peek_next_token(self) -> str:
        self._skip_ignored_text()
        return self._peek()

    def _check_end(self, char: str, end: str, error: str) -> bool:
        """Return True if the object or array ends here. Consumes `end`, or records an error."""
        if char == end:
            self.position += 1
        elif not char:
            self._record_error(
                "missing end of an object" if end == "}" else "missing end of an array"
            )
        elif char in "]}":
            self._record_error(error)
        else:
            return False
        return True

    def _record_error(self, description: str) -> None:
        if not self.errors:
            self.errors.append(f"{description} at character {self.position}")

    def _read_value(self, depth: int) -> Any:
        self._skip_ignored_text()
        char = self._peek()
        if char in "{[" and char and depth >= MAX_DEPTH:
            self._record_error("nested too deep")
            self.position = len(self.text)
            return None
        if char == "{":
            return self._read_object(depth)
        if char == "[":
            return self._read_array(depth)
        if char == '"':
            return self._read_string()
        if char == "'":
            return self._read_single_quoted_string()
        return (
            self._read_typographic_string(char) if char in _OPENING_QUOTES else self._read_literal()
        )

    def _read_typographic_string(self, opening: str) -> Any:
        for match in _CLOSING_QUOTES[opening].finditer(self.text, self.position + 1):
            if _STRING_END.match(self.text, match.end()):
                self._record_error("typographic quotes")
                contents = self.text[self.position + 1 : match.start()]
                self.position = match.end()
                return _ESCAPED_CHARACTER.sub(lambda m: _ESCAPES.get(m[1], m[1]), contents)
        return self._read_literal()

    def _read_single_quoted_string(self) -> Any:
        """Read a string between single quotes, which may contain apostrophes."""
        if self._has_no_closing_quote:
            return self._read_literal()
        for match in _SINGLE_QUOTE.finditer(self.text, self.position + 1):
            if _STRING_END.match(self.text, match.end()):
                self._record_error("single quotes")
                contents = self.text[self.position + 1 : match.start()]
                self.position = match.end()
                return _ESCAPED_CHARACTER.sub(lambda m: _ESCAPES.get(m[1], m[1]), contents)
        # No later quote ends a string either. Checking them again for each of 30,000 opening
        # quotes took 100 s.
        self._has_no_closing_quote = True
        return self._read_literal()

    def _read_object(self, depth: int) -> dict[str, Any]:
        self.position += 1
        result: dict[str, Any] = {}
        while True:
            char = self._peek_next_token()
            if self._check_end(char, "}", "array ended inside an object"):
                return result
            key = self._read_value(depth) if char in _STRING_STARTS else self._read_literal()
            self._skip_ignored_text()
            if self._peek() == ":":
                self.position += 1
                value = self._read_value(depth + 1)
                if isinstance(key, str):
                    result.setdefault(key, value)
            elif self._peek() in {"{", "["}:
                self._record_error("a value without a name")
                self._read_value(depth + 1)

    def _read_array(self, depth: int) -> list[Any]:
        self.position += 1
        result: list[Any] = []
        while True:
            char = self._peek_next_token()
            if self._check_end(char, "]", "object ended inside an array"):
                return result
            if char == ":":
                self.position += 1
                continue
            result.append(self._read_value(depth + 1))

    def _read_string(self) -> str:
        match = _PLAIN_STRING.match(self.text, self.position)
        if match and _STRING_END.match(self.text, match.end()):
            self.position = match.end()
            return match[0][1:-1]
        return self._read_irregular_string()

    def _read_irregular_string(self) -> str:
        text, position = self.text, self.position + 1
        parts = []
        while True:
            end = _find_quote_or_backslash(text, position)
            parts.append(text[position:end])
            if end >= len(text):
                self._record_error("missing end of a string")
                self.position = end
                return "".join(parts)
            if text[end] == '"':
                if _STRING_END.match(text, end + 1) or _is_missing_comma(text, end + 1):
                    self.position = end + 1
                    return "".join(parts)
                parts.append('"')
                position = end + 1
                continue
            char, position = _read_escape(text, end + 1)
            parts.append(char)

    def _read_literal(self) -> Any:
        match = _LITERAL.match(self.text, self.position)
        if not match:
            self._record_error("unexpected character")
            self.position += 1
            return None
        self.position = match.end()
        return _LITERALS[match[0]] if match[0] in _LITERALS else _parse_number(match[0])


_LITERALS = {
    "true": True, "false": False, "null": None, "undefined": None, "NaN": None, "True": True,
    "False": False, "None": None,
}  # fmt: skip
_SINGLE_QUOTE = re.compile(r"(?<!\\)'")
_SINGLE_QUOTES = "\u2018\u2019\u201a\u2032"
_CLOSING_QUOTES = {
    **dict.fromkeys("“”„‟″＂", re.compile(r"[“”„‟″＂\"]")),
    **dict.fromkeys(_SINGLE_QUOTES, re.compile(f"[{_SINGLE_QUOTES}']")),
}
_OPENING_QUOTES = frozenset(_CLOSING_QUOTES)
_STRING_STARTS = frozenset("\"'") | _OPENING_QUOTES
_ESCAPED_CHARACTER = re.compile(r"\\(.)", re.DOTALL)
_QUOTE_OR_BACKSLASH = re.compile(r'["\\]')
_MISSING_COMMA = re.compile(r'\s{1,99}+"[\w@:.\-]{1,64}"\s{0,99}+:')


def _find_quote_or_backslash(text: str, position: int) -> int:
    match = _QUOTE_OR_BACKSLASH.search(text, position)
    return match.start() if match else len(text)


def _is_missing_comma(text: str, position: int) -> bool:
    return bool(_MISSING_COMMA.match(text, position))


def _read_escape(text: str, position: int) -> tuple[str, int]:
    char = text[position : position + 1]
    if char == "u":
        try:
            return _read_unicode_escape(text, position)
        except ValueError:
            return "\\u", position + 1
    return _ESCAPES.get(char, char), position + 1


def _read_unicode_escape(text: str, position: int) -> tuple[str, int]:
    code = int(text[position + 1 : position + 5], 16)
    end = position + 5
    if 0xD800 <= code < 0xDC00 and text[end : end + 2] == "\\u":
        low = int(text[end + 2 : end + 6], 16)
        if 0xDC00 <= low < 0xE000:
            return chr(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)), end + 6
    return (chr(code) if not 0xD800 <= code < 0xE000 else "\ufffd"), end


_ZERO_IN_FRONT = re.compile(r"0\d+")


def _parse_number(text: str) -> Any:
    """Return a number, or the text itself: a code such as `012345678905` keeps its zero."""
    try:
        return int(text) if len(text) < 20 and not _ZERO_IN_FRONT.fullmatch(text) else text
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text.strip("'")
