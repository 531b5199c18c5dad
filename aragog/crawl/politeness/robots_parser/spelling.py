"""
The common form in which URL paths and rule patterns are compared.

It follows RFC 9309 sections 2.2.2 and 2.2.3: unreserved characters are decoded, others escaped with
upper-case hex digits, and `%2A` and `%24` match the characters themselves. `urlspelling` normalizes
URLs in the same way, so a rule matches either all or none of the URL forms that encode the same
octets.
"""

from __future__ import annotations

import re
import string

# Placeholders for a literal `*` and `$`. Escaped paths and patterns do not contain them.
STAR, DOLLAR = "\x01", "\x02"

_PATH_START = re.compile(r"[/?;]")
_UNRESERVED = frozenset(string.ascii_letters + string.digits + "-._~")
# Matches an escape, a bare `%`, and every character that must be escaped.
_NOT_NORMALIZED = re.compile(r"%(?:[0-9A-Fa-f]{2})?|[^!#-&(-;=?-Z_a-z~]")

# A partial escape at the end of a literal part also matches every escape that starts with it.
_PARTIAL_ESCAPE = re.compile(r"%([0-9A-Fa-f]?)(?=\*|\Z)")


def comparable_path(path: str) -> str:
    """Return a URL's path and query in the common form."""
    if _NOT_NORMALIZED.search(path) is not None:
        path = _NOT_NORMALIZED.sub(_normalize_match, path)
    return path.replace("*", STAR).replace("$", DOLLAR)


def get_path(url: str) -> str:
    """
    Return the path and query of a URL with or without a scheme; `/` if there is no path.

    Does not normalize the path. Never raises.
    """
    start = 2 if url.startswith("//") else 0
    path_start = _PATH_START.search(url, start)
    scheme = url.find("://", start)
    if scheme >= 0 and not (path_start and path_start.start() < scheme):
        path_start = _PATH_START.search(url, scheme + 3)
    if path_start is None:
        return "/"
    begin, end = path_start.start(), url.find("#", start)
    if 0 <= end < begin:
        return "/"
    path = url[begin:end] if end >= 0 else url[begin:]
    return path if path[:1] == "/" else "/" + path


def comparable_pattern(pattern: str, *, allow: bool) -> tuple[str, bool]:
    """
    Return the value of an Allow or Disallow line in the common form, and whether it ended with `$`.

    Every `*` in the result is a wildcard. A backslash in the path becomes a slash. A Disallow
    pattern that ends in a partial escape matches every escape that starts with it.
    """
    is_anchored = pattern.endswith("$")
    if is_anchored:
        pattern = pattern[:-1]
    if "\\" in pattern:
        path, question_mark, query = pattern.partition("?")
        pattern = path.replace("\\", "/") + question_mark + query
    if _NOT_NORMALIZED.search(pattern) is not None:
        if not allow and not is_anchored and _PARTIAL_ESCAPE.search(pattern) is not None:
            parts = _PARTIAL_ESCAPE.sub("\0", pattern).split("\0")
            pattern = "%".join(_NOT_NORMALIZED.sub(_normalize_match, part) for part in parts)
        else:
            pattern = _NOT_NORMALIZED.sub(_normalize_match, pattern)
    return pattern.replace("$", DOLLAR), is_anchored


def _normalize_match(match: re.Match[str]) -> str:
    text = match.group()
    if len(text) == 3:
        char = chr(int(text[1:], 16))
        if char == "*":
            return STAR
        if char == "$":
            return DOLLAR
        return char if char in _UNRESERVED else text.upper()
    return "".join(f"%{octet:02X}" for octet in text.encode("utf-8", "surrogatepass"))
