"""The Link header (RFC 8288): targets and what they are to the page. Pure, and lenient."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from aragog.errors import InvalidUrl
from aragog.urls.normalize import normalize

MAX_LINKS = 1_000
"""Of one answer; servers limit all headers together to some 100 KB."""

_SPACE = " \t\r\n"
_BETWEEN = re.compile(r"[\s,]*")
_TARGET = re.compile(r"<([^>]*)>")
_PARAMETER = re.compile(
    r"\s*;[\s;]*([^\s=;,\"<>]+)\s*"
    r"(?:=\s*(?:\"((?:[^\"\\]|\\.)*)(?:\"|\\?\Z)[^;,]*|([^;,]*)))?",
    re.DOTALL,
)
_QUOTED_PAIR = re.compile(r"\\(.)", re.DOTALL)
_REST = re.compile(r"(?:[^,\"]|\"(?:[^\"\\]|\\.)*(?:\"|\\?\Z))*+", re.DOTALL)


@dataclass(frozen=True, slots=True)
class HeaderLink:
    """One link about the page itself."""

    url: str
    """The target, normalized."""
    rel: tuple[str, ...] = ()
    """Relations in lower case, in order; the first `rel` parameter alone counts."""
    parameters: tuple[tuple[str, str], ...] = ()
    """All parameters in order, names in lower case, values unquoted."""

    def parameter(self, name: str) -> str | None:
        """The first value of that name, given in lower case."""
        return next((value for key, value in self.parameters if key == name), None)


def parse(values: Iterable[str], *, base: str | None = None) -> list[HeaderLink]:
    """
    The links of an answer's Link headers, in order, at most `MAX_LINKS`.

    `base` is the URL of the page: targets are resolved against it, and a link whose `anchor` names
    another page is left out, for it says nothing of this one. So is a target that is no http(s)
    URL. Commas and semicolons inside `<…>` and quotes do not separate. Never raises; linear.
    """
    found: list[HeaderLink] = []
    for target, parameters in _links(values):
        link = _link(target, parameters, base)
        if link is not None:
            found.append(link)
        if len(found) >= MAX_LINKS:
            break
    return found


def _links(values: Iterable[str]) -> Iterator[tuple[str, tuple[tuple[str, str], ...]]]:
    for value in values:
        at, last = 0, value.rfind(">")
        while at < last:
            between = _BETWEEN.match(value, at)
            at = between.end() if between else at
            target = _TARGET.match(value, at)
            if target is not None:
                at = target.end()
                parameters: list[tuple[str, str]] = []
                while (parameter := _PARAMETER.match(value, at)) is not None:
                    at = parameter.end()
                    parameters.append((parameter[1].lower(), _value(parameter)))
                yield target[1], tuple(parameters)
            at = _next_comma(value, at) + 1


def _next_comma(value: str, at: int) -> int:
    """Where the next link begins; whatever stands before it that is no parameter is skipped."""
    rest = _REST.match(value, at)
    return rest.end() if rest else at


def _value(parameter: re.Match[str]) -> str:
    if parameter[2] is not None:
        return _QUOTED_PAIR.sub(r"\1", parameter[2])
    return (parameter[3] or "").strip(_SPACE)


def _link(
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
