"""
What happens to a URL after the parser: each step a function of text, safe to apply twice.

The parser's output is taken for granted: ASCII, a host, a path that begins with `/` and has no dot
segments, white space and controls escaped.
"""

from __future__ import annotations

import re
import string

_UNRESERVED = frozenset(string.ascii_letters + string.digits + "-._~")
_NEVER_BARE = "[]\\^`{|}"
"""What the URL Standard leaves alone and RFC 3986 does not allow in a path or query."""

_BAD_ESCAPE = (
    r"2[DdEe]|3[0-9]|[46][1-9A-Fa-f]|[57][0-9Aa]|5[Ff]|7[Ee]"  # unreserved
    r"|(?=[0-9A-Fa-f]?[a-f])[0-9A-Fa-f]{2}"  # lower case
    r"|(?![0-9A-Fa-f]{2})"  # no escape at all
)
_NOT_NORMAL = re.compile(rf"[%\[\]\\^`{{|}}](?:(?<!%)|{_BAD_ESCAPE})")
TO_DO = re.compile(rf"[%;(\[\]\\^`{{|}}](?:(?<!%)|{_BAD_ESCAPE})")
"""Finds what `escapes` would change or `no_session` might. A set of characters comes first, so that
the search runs over the rest at full speed."""
_PATH_SESSION = re.compile(r"(?i)(?<!\.);jsessionid=[^/;]*")
"""Never behind a dot: what is left must not become a dot segment."""
_ASP_NET_SESSION = re.compile(r"/\((?:[A-Za-z]\([0-9a-z]{24}\))+\)(?=/)|/\([0-9a-z]{24}\)(?=/)")
"""ASP.NET's cookieless session, a path segment such as `(S(lit3py55t21z5v55vlm25s55))`."""
_TRAILING_DOT = re.compile(r"(?<=[^.])\.(?=:[0-9]*\Z|\Z)")


def _escape(byte: int) -> str:
    return chr(byte) if chr(byte) in _UNRESERVED else f"%{byte:02X}"


_SPELLINGS = {
    "%": "%25",
    **{character: f"%{ord(character):02X}" for character in _NEVER_BARE},
    **{
        f"%{high}{low}": _escape(int(high + low, 16))
        for high in string.hexdigits
        for low in string.hexdigits
    },
}


def _spelling(found: re.Match[str]) -> str:
    return _SPELLINGS[found[0]]


def escapes(text: str) -> str:
    """
    One spelling for each character of a path or query (RFC 3986, 2.3, 2.4, 6.2.2).

    Escaped letters, digits and `-._~` are decoded, other escapes upper-cased and left escaped; what
    may not stand bare is escaped, a `%` that escapes nothing too.
    """
    return _NOT_NORMAL.sub(_spelling, text)


def no_session(path: str) -> str:
    """A path without `;jsessionid=…` and ASP.NET's session segment."""
    if ";" in path:
        path = _PATH_SESSION.sub("", path)
    if "/(" in path:
        path = _ASP_NET_SESSION.sub("", path)
    return path


def no_userinfo(authority: str) -> str:
    """An authority without user name and password."""
    return authority.rpartition("@")[2]


def no_trailing_dot(authority: str) -> str:
    """
    An authority whose host does not end in the dot of the DNS root.

    Two dots are no such thing: that name can mean nothing, and stays as the standard leaves it.
    """
    return _TRAILING_DOT.sub("", authority)
