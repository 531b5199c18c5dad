"""
`explain` shows the steps by which normalization changed one URL.

The parser makes several changes at once. To separate them, `explain` replaces the parts of the
original URL by the parsed parts, one after another. The `after` of the last step is the result of
`normalize`. It is slow, and the crawler does not use it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from urlspelling import _steps as steps
from urlspelling._normalization import current_rules, normalize
from urlspelling._parser import resolve
from urlspelling._query import sort_key
from urlspelling.domain import host as host_of
from urlspelling.domain import is_ip

_EDGES = "".join(map(chr, range(0x21)))
_TAB_OR_NEWLINE = {9: None, 10: None, 13: None}
_PARTS = re.compile(
    r"(https?):[/\\]*([^/\\?#]*)([^?#]*)(\?[^#]*)?(#.*)?", re.IGNORECASE | re.DOTALL
)
_AUTHORITY = re.compile(r"((?>.*@)?)(\[[^\]]*\]|[^:]*)(:[0-9]*)?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Step:
    """One change made by the normalization, with the whole URL before and after it."""

    name: str
    before: str
    after: str


def explain(url: str, base: str | None = None) -> list[Step]:
    """
    Return the steps that changed the URL, in order; empty for a normalized URL.

    >>> for step in explain("http://example.com/a/../b?utm_source=mail"):
    ...     print(f"{step.name}: {step.after}")
    dot segments and slashes: http://example.com/b?utm_source=mail
    tracking, session and empty parameters removed: http://example.com/b

    Raises:
        InvalidUrl: as in `normalize`.
    """
    normal = normalize(url, base)
    changes: list[Step] = []
    current = url
    for name, after in _states(url, base):
        if after != current:
            changes.append(Step(name, current, after))
            current = after
    if current != normal:
        changes.append(Step("other changes", current, normal))
    return changes


def _states(url: str, base: str | None) -> Iterator[tuple[str, str]]:
    """Yield the URL after each step, even if the step changed nothing."""
    text = url.strip(_EDGES).translate(_TAB_OR_NEWLINE)
    yield "white space and control characters removed", text
    parsed = resolve(url, base)
    if base is not None and not _has_host(text):
        text = parsed
        yield "resolved against the base", text
    yield from _parsing(text, parsed)
    yield from _policy(parsed)


def _has_host(text: str) -> bool:
    return re.match(r"https?:[/\\]{2}", text, re.IGNORECASE) is not None


def _parsing(text: str, parsed: str) -> Iterator[tuple[str, str]]:
    """Yield the changes of the parser: scheme, host, port, path, query and fragment."""
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
    yield "default port removed", f"{scheme}://{login}{new[2]}{port}{tail}"
    front = f"{scheme}://{login}{new[2]}{port}"
    yield "dot segments and slashes", front + (now[3] or "") + query + fragment
    yield "characters escaped", parsed


def _host_step(old: str, new: str) -> str:
    if old.lower() == new:
        return "host in lower case"
    if is_ip(new):
        return "IP address in its normal form"
    return "host converted by IDNA"


def _policy(parsed: str) -> Iterator[tuple[str, str]]:
    """Yield the changes after the parser, which `normalize` makes together."""
    front, slash, rest = parsed.partition("://")
    authority, _, rest = rest.partition("/")
    rest = "/" + rest
    for name, step in _AUTHORITY_STEPS:
        authority = step(authority)
        yield name, f"{front}{slash}{authority}{rest}"
    front = f"{front}{slash}{authority}"
    rest = rest.partition("#")[0]
    yield "fragment removed", front + rest
    rest = steps.escapes(rest)
    yield "escapes normalized", front + rest
    path, _, query = rest.partition("?")
    path = steps.no_session(path)
    yield "session id in the path removed", f"{front}{path}?{query}" if _ else front + path
    yield from _query(front + path, query)


def _query(front: str, query: str) -> Iterator[tuple[str, str]]:
    if not query:
        yield "empty query removed", front
        return
    rules = current_rules()
    site = rules.site(host_of(front))
    kept = rules.keep(query, site)
    whole = f"{front}?{'&'.join(kept)}" if kept else front
    yield "tracking, session and empty parameters removed", whole
    if len(kept) > 1 and (site is None or site.sort):
        kept.sort(key=sort_key)
        yield "query sorted", f"{front}?{'&'.join(kept)}"


_AUTHORITY_STEPS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("user name and password removed", steps.no_userinfo),
    ("trailing dot of the host removed", steps.no_trailing_dot),
)
