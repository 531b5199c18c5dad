"""A lenient parser for Link headers (RFC 8288)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from urlspelling._normalization import normalize
from urlspelling.errors import InvalidUrl

MAX_LINKS = 1_000
"""Maximum links per response. Servers limit all headers together to about 100 KB."""

_HTTP_WHITESPACE = " \t\r\n"
_SEPARATORS = re.compile(r"[\s,]*")
_TARGET = re.compile(r"<([^>]*)>")
_PARAMETER = re.compile(
    r"\s*;[\s;]*([^\s=;,\"<>]+)\s*"
    r"(?:=\s*(?:\"((?:[^\"\\]|\\.)*)(?:\"|\\?\Z)[^;,]*|([^;,]*)))?",
    re.DOTALL,
)
_QUOTED_PAIR = re.compile(r"\\(.)", re.DOTALL)
_UNTIL_COMMA = re.compile(r"(?:[^,\"]|\"(?:[^\"\\]|\\.)*(?:\"|\\?\Z)|)*+", re.DOTALL)


@dataclass(frozen=True, slots=True)
class HeaderLink:
    """One link whose context is the page itself."""

    url: str
    """The target, normalized."""
    rel: tuple[str, ...] = ()
    """Relations in lower case, in order, from the first `rel` parameter."""
    parameters: tuple[tuple[str, str], ...] = ()
    """All parameters in order, with names in lower case and values unquoted."""

    def parameter(self, name: str) -> str | None:
        """Return the first value of the parameter `name` (lower case), or None."""
        return next((value for key, value in self.parameters if key == name), None)


def parse_link_header(values: Iterable[str], *, base: str | None = None) -> list[HeaderLink]:
    """
    Parse the Link headers of a response; return at most `MAX_LINKS` links in order.

    >>> [link] = parse_link_header(['</a>; rel="canonical"'], base="http://example.com/b")
    >>> link.url, link.rel
    ('http://example.com/a', ('canonical',))

    Targets are resolved against `base`, the page's URL. Links whose `anchor` is another page and
    targets that are not http(s) URLs are omitted. Never raises; takes linear time.
    """
    links: list[HeaderLink] = []
    for target, parameters in targets(values):
        link = _make_link(target, parameters, base)
        if link is not None:
            links.append(link)
        if len(links) >= MAX_LINKS:
            break
    return links


def targets(values: Iterable[str]) -> Iterator[tuple[str, tuple[tuple[str, str], ...]]]:
    """Yield each target as written, with its parameters."""
    for value in values:
        position, last_target = 0, value.rfind(">")
        while position < last_target:
            separators = _SEPARATORS.match(value, position)
            position = separators.end() if separators else position
            target = _TARGET.match(value, position)
            if target is not None:
                position = target.end()
                parameters: list[tuple[str, str]] = []
                while (parameter := _PARAMETER.match(value, position)) is not None:
                    position = parameter.end()
                    parameters.append((parameter[1].lower(), _read_parameter_value(parameter)))
                yield target[1], tuple(parameters)
            position = _find_next_comma(value, position) + 1


def _find_next_comma(value: str, position: int) -> int:
    rest = _UNTIL_COMMA.match(value, position)
    return rest.end() if rest else position


def _read_parameter_value(parameter: re.Match[str]) -> str:
    if parameter[2] is not None:
        return _QUOTED_PAIR.sub(r"\1", parameter[2])
    return (parameter[3] or "").strip(_HTTP_WHITESPACE)


def _make_link(
    target: str, parameters: tuple[tuple[str, str], ...], base: str | None
) -> HeaderLink | None:
    rel = next((value for name, value in parameters if name == "rel"), "")
    anchor = next((value for name, value in parameters if name == "anchor"), None)
    try:
        if anchor is not None and base is not None and normalize(anchor, base) != normalize(base):
            return None
        return HeaderLink(normalize(target, base), tuple(rel.lower().split()), parameters)
    except InvalidUrl:
        return None
