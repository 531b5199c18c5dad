"""
The normalization steps after parsing. They are idempotent pure functions on strings.

They require the parser's output: an ASCII string with a host and a path that begins with `/`,
without dot segments, white space and control characters.
"""

from __future__ import annotations

import re
import string

_UNRESERVED = frozenset(string.ascii_letters + string.digits + "-._~")
_ALWAYS_ESCAPED = "[]\\^`{|}"
"""Characters that the URL Standard leaves unescaped, but RFC 3986 forbids."""

_BAD_ESCAPE = (
    r"2[DdEe]|3[0-9]|[46][1-9A-Fa-f]|[57][0-9Aa]|5[Ff]|7[Ee]"  # unreserved
    r"|(?=[0-9A-Fa-f]?[a-f])[0-9A-Fa-f]{2}"  # lower case
    r"|(?![0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4})"  # a bare %, but not JavaScript's escape
)
_ABNORMAL_TEXT = re.compile(rf"[%\[\]\\^`{{|}}](?:(?<!%)|{_BAD_ESCAPE})")
MAY_CHANGE = re.compile(rf"[%;(\[\]\\^`{{|}}](?:(?<!%)|{_BAD_ESCAPE})")
"""
Finds text that `normalize_escapes` or `remove_session` may change. Fast, because it starts with a
character set.
"""
_PATH_SESSION = re.compile(r"(?i)(?<!\.)(?:;jsessionid=[^/;]*)+")
"""A session id in a path. Not after a dot, because the rest could become a dot segment."""
_ASP_NET_SESSION = re.compile(r"/\((?:[A-Za-z]\([0-9a-z]{24}\))+\)(?=/)|/\([0-9a-z]{24}\)(?=/)")
"""ASP.NET's cookieless session id: a path segment such as `(S(lit3py55t21z5v55vlm25s55))`."""
_TRAILING_DOT = re.compile(r"(?<=[^.])\.(?=:[0-9]*\Z|\Z)")


def _encode_byte(byte: int) -> str:
    return chr(byte) if chr(byte) in _UNRESERVED else f"%{byte:02X}"


_REPLACEMENTS = {
    "%": "%25",
    **{character: f"%{ord(character):02X}" for character in _ALWAYS_ESCAPED},
    **{
        f"%{high}{low}": _encode_byte(int(high + low, 16))
        for high in string.hexdigits
        for low in string.hexdigits
    },
}


def _replace_match(match: re.Match[str]) -> str:
    return _REPLACEMENTS[match[0]]


def normalize_escapes(text: str) -> str:
    """
    Normalize the escapes of a path or query (RFC 3986 sections 2.3, 2.4 and 6.2.2).

    Escaped letters, digits and `-._~` are decoded, other escapes get uppercase digits, and
    characters that must be escaped are escaped, including a bare `%`. JavaScript's escape `%u011f`
    is kept, as in browsers, because servers that decode it would read `%25u011f` differently.
    """
    return _ABNORMAL_TEXT.sub(_replace_match, text)


def remove_session(path: str) -> str:
    """Remove `;jsessionid=…` and ASP.NET's session segment from a path."""
    if ";" in path:
        path = _PATH_SESSION.sub("", path)
    if "/(" in path:
        path = _ASP_NET_SESSION.sub("", path)
    return path


def remove_userinfo(authority: str) -> str:
    """Remove user name and password from an authority."""
    return authority.rpartition("@")[2]


def remove_trailing_dot(authority: str) -> str:
    """
    Remove the trailing dot of the DNS root from the host of an authority.

    A host with two trailing dots is invalid in DNS and stays unchanged.
    """
    return _TRAILING_DOT.sub("", authority)
