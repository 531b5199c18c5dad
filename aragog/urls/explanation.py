"""
`explain`: what normalizing did to one URL, step by step, for people. Slow, and never in the way.

The parser does many things at once; they are told apart by putting its parts into the URL as it was
written, one after another. The last step's `after` is what `normalize` returns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from aragog.urls import steps
from aragog.urls.domain import host as host_of
from aragog.urls.domain import is_ip
from aragog.urls.normalize import current_rules, normalize
from aragog.urls.parser import parse
from aragog.urls.query import sort_key

_EDGES = "".join(map(chr, range(0x21)))
_TAB_OR_NEWLINE = {9: None, 10: None, 13: None}
_PARTS = re.compile(
    r"(https?):[/\\]*([^/\\?#]*)([^?#]*)(\?[^#]*)?(#.*)?", re.IGNORECASE | re.DOTALL
)
_AUTHORITY = re.compile(r"(.*@)?(\[[^\]]*\]|[^:]*)(:[0-9]*)?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that normalizing changed: the whole URL before and after."""

    name: str
    before: str
    after: str


def explain(url: str, base: str | None = None) -> list[Step]:
    """
    The steps that changed something, in order; none for a URL that is normal already.

    Raises:
        InvalidUrl: as `normalize` does.
    """
    normal = normalize(url, base)
    taken: list[Step] = []
    here = url
    for name, after in _states(url, base):
        if after != here:
            taken.append(Step(name, here, after))
            here = after
    if here != normal:
        taken.append(Step("the rest", here, normal))
    return taken


def _states(url: str, base: str | None) -> Iterator[tuple[str, str]]:
    """The URL after each step, whether it changed anything or not."""
    text = url.strip(_EDGES).translate(_TAB_OR_NEWLINE)
    yield "white space and controls off", text
    parsed = parse(url, base)
    if base is not None and not _names_its_host(text):
        text = parsed
        yield "resolved against the base", text
    yield from _parsing(text, parsed)
    yield from _policy(parsed)


def _names_its_host(text: str) -> bool:
    return re.match(r"https?:[/\\]{2}", text, re.IGNORECASE) is not None


def _parsing(text: str, parsed: str) -> Iterator[tuple[str, str]]:
    """What the parser did, part by part: scheme, host, port, path, query and fragment."""
    was, now = _PARTS.fullmatch(text), _PARTS.fullmatch(parsed)
    old = _AUTHORITY.fullmatch(was[2]) if was else None
    new = _AUTHORITY.fullmatch(now[2]) if now else None
    if not (was and now and old and new):
        yield "parsed", parsed
        return
    scheme, path, query, fragment = now[1], was[3] or "", was[4] or "", was[5] or ""
    login, port = old[1] or "", old[3] or ""
    tail = path + query + fragment
    yield "scheme", f"{scheme}://{was[2]}{tail}"
    yield _host_step(old[2], new[2]), f"{scheme}://{login}{new[2]}{port}{tail}"
    login, port = new[1] or "", new[3] or ""
    yield "default port off", f"{scheme}://{login}{new[2]}{port}{tail}"
    front = f"{scheme}://{login}{new[2]}{port}"
    yield "dot segments and slashes", front + (now[3] or "") + query + fragment
    yield "characters escaped", parsed


def _host_step(old: str, new: str) -> str:
    if old.lower() == new:
        return "host in lower case"
    if is_ip(new):
        return "address in its usual form"
    return "host by IDNA"


def _policy(parsed: str) -> Iterator[tuple[str, str]]:
    """The steps after the parser, one at a time, as `normalize` takes them all at once."""
    front, slash, rest = parsed.partition("://")
    authority, _, rest = rest.partition("/")
    rest = "/" + rest
    for name, step in _AUTHORITY_STEPS:
        authority = step(authority)
        yield name, f"{front}{slash}{authority}{rest}"
    front = f"{front}{slash}{authority}"
    rest = rest.partition("#")[0]
    yield "fragment off", front + rest
    rest = steps.escapes(rest)
    yield "escapes", front + rest
    path, _, query = rest.partition("?")
    path = steps.no_session(path)
    yield "session in the path off", f"{front}{path}?{query}" if _ else front + path
    yield from _query(front + path, query)


def _query(front: str, query: str) -> Iterator[tuple[str, str]]:
    if not query:
        yield "empty query off", front
        return
    rules = current_rules()
    site = rules.site(host_of(front))
    kept = rules.keep(query, site)
    whole = f"{front}?{'&'.join(kept)}" if kept else front
    yield "tracking, session and empty parameters off", whole
    if len(kept) > 1 and (site is None or site.sort):
        kept.sort(key=sort_key)
        yield "query sorted", f"{front}?{'&'.join(kept)}"


_AUTHORITY_STEPS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("user name and password off", steps.no_userinfo),
    ("trailing dot of the host off", steps.no_trailing_dot),
)
