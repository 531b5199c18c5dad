"""
One spelling for the paths of URLs and the patterns of rules, in which they are compared.

RFC 9309 sections 2.2.2 and 2.2.3: unreserved escapes are decoded, what may not stand bare is
escaped, hex digits are upper case, and `%2A` and `%24` are the characters themselves. URLs are
normalized in the same way (`aragog.urls`), so a rule matches the normalized spelling of a URL
exactly when it matches any other spelling of the same octets. Pure.
"""

from __future__ import annotations

import re
import string

# Stand for a literal `*` and `$`; neither a path nor a pattern has them bare after escaping.
STAR, DOLLAR = "\x01", "\x02"

_UNRESERVED = frozenset(string.ascii_letters + string.digits + "-._~")
# An escape, a `%` that escapes nothing, and every character that normalization escapes somewhere:
# in the path, in the query (the apostrophe), or as an octet outside ASCII.
_TO_SPELL = re.compile(r"%(?:[0-9A-Fa-f]{2})?|[^!#-&(-;=?-Z_a-z~]")

# Half an escape at the end of a pattern's literal part: any escape that begins so is meant, too.
_CUT_SHORT = re.compile(r"%([0-9A-Fa-f]?)(?=\*|\Z)")


def comparable_path(path: str) -> str:
    """The path and query of a URL, in any spelling, as patterns are compared with it."""
    if _TO_SPELL.search(path) is not None:
        path = _TO_SPELL.sub(_spelled, path)
    return path.replace("*", STAR).replace("$", DOLLAR)


def comparable_pattern(pattern: str, *, allow: bool) -> tuple[str, bool]:
    """
    The value of an Allow or Disallow line as it is compared, and whether a `$` anchors its end.

    Every `*` in it is a wildcard. A backslash in the path is a slash, as in URLs. A Disallow
    pattern that ends in a part of an escape closes every escape there.
    """
    anchored = pattern.endswith("$")
    if anchored:
        pattern = pattern[:-1]
    if "\\" in pattern:
        path, question, query = pattern.partition("?")
        pattern = path.replace("\\", "/") + question + query
    if _TO_SPELL.search(pattern) is not None:
        if not allow and not anchored and _CUT_SHORT.search(pattern) is not None:
            parts = _CUT_SHORT.sub("\0", pattern).split("\0")
            pattern = "%".join(_TO_SPELL.sub(_spelled, part) for part in parts)
        else:
            pattern = _TO_SPELL.sub(_spelled, pattern)
    return pattern.replace("$", DOLLAR), anchored


def _spelled(found: re.Match[str]) -> str:
    text = found.group()
    if len(text) == 3:
        char = chr(int(text[1:], 16))
        if char == "*":
            return STAR
        if char == "$":
            return DOLLAR
        return char if char in _UNRESERVED else text.upper()
    return "".join(f"%{octet:02X}" for octet in text.encode("utf-8", "surrogatepass"))
