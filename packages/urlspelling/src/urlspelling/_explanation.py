"""
`explain` shows the steps by which normalization changed one URL.

The parser makes several changes at once. To separate them, `explain` replaces the URL's parts with
the parsed ones, one after another. It is slow, and `normalize` does not use it.
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

_EDGE_CHARACTERS = "".join(map(chr, range(0x21)))
_TAB_OR_NEWLINE = {9: None, 10: None, 13: None}
_URL_PARTS = re.compile(
    r"(https?):[/\\]*([^/\\?#]*)([^?#]*)(\?[^#]*)?(#.*)?", re.IGNORECASE | re.DOTALL
)
_AUTHORITY = re.compile(r"((?>.*@)?)(\[[^\]]*\]|[^:]*)(:[0-9]*)?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Step:
    """One change by the normalization, with the whole URL before and after it."""

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
    normalized = normalize(url, base)
    changes: list[Step] = []
    current = url
    for name, after in _generate_states(url, base):
        if after != current:
            changes.append(Step(name, current, after))
            current = after
    if current != normalized:
        changes.append(Step("other changes", current, normalized))
    return changes


def _generate_states(url: str, base: str | None) -> Iterator[tuple[str, str]]:
    text = url.strip(_EDGE_CHARACTERS).translate(_TAB_OR_NEWLINE)
    yield "white space and control characters removed", text
    parsed = resolve(url, base)
    if base is not None and not _has_host(text):
        text = parsed
        yield "resolved against the base", text
    yield from _parser_steps(text, parsed)
    yield from _policy_steps(parsed)


def _has_host(text: str) -> bool:
    return re.match(r"https?:[/\\]{2}", text, re.IGNORECASE) is not None


def _parser_steps(text: str, parsed: str) -> Iterator[tuple[str, str]]:
    before, after = _URL_PARTS.fullmatch(text), _URL_PARTS.fullmatch(parsed)
    old_authority = _AUTHORITY.fullmatch(before[2]) if before else None
    new_authority = _AUTHORITY.fullmatch(after[2]) if after else None
    if not (before and after and old_authority and new_authority):
        yield "parsed", parsed
        return
    scheme, path, query, fragment = after[1], before[3] or "", before[4] or "", before[5] or ""
    userinfo, port = old_authority[1] or "", old_authority[3] or ""
    rest = path + query + fragment
    yield "scheme", f"{scheme}://{before[2]}{rest}"
    yield (
        _name_host_step(old_authority[2], new_authority[2]),
        f"{scheme}://{userinfo}{new_authority[2]}{port}{rest}",
    )
    userinfo, port = new_authority[1] or "", new_authority[3] or ""
    yield "default port removed", f"{scheme}://{userinfo}{new_authority[2]}{port}{rest}"
    origin = f"{scheme}://{userinfo}{new_authority[2]}{port}"
    yield "dot segments and slashes", origin + (after[3] or "") + query + fragment
    yield "characters escaped", parsed


def _name_host_step(old_host: str, new_host: str) -> str:
    if old_host.lower() == new_host:
        return "host in lower case"
    if is_ip(new_host):
        return "IP address in its normal form"
    return "host converted by IDNA"


def _policy_steps(parsed: str) -> Iterator[tuple[str, str]]:
    scheme, separator, rest = parsed.partition("://")
    authority, _, rest = rest.partition("/")
    rest = "/" + rest
    for name, step in _AUTHORITY_STEPS:
        authority = step(authority)
        yield name, f"{scheme}{separator}{authority}{rest}"
    origin = f"{scheme}{separator}{authority}"
    rest = rest.partition("#")[0]
    yield "fragment removed", origin + rest
    rest = steps.normalize_escapes(rest)
    yield "escapes normalized", origin + rest
    path, query_mark, query = rest.partition("?")
    path = steps.remove_session(path)
    yield (
        "session id in the path removed",
        f"{origin}{path}?{query}" if query_mark else origin + path,
    )
    yield from _query_steps(origin + path, query)


def _query_steps(path_url: str, query: str) -> Iterator[tuple[str, str]]:
    if not query:
        yield "empty query removed", path_url
        return
    rules = current_rules()
    site = rules.site(host_of(path_url))
    parameters = rules.keep(query, site)
    joined = f"{path_url}?{'&'.join(parameters)}" if parameters else path_url
    yield "tracking, session and empty parameters removed", joined
    if len(parameters) > 1 and (site is None or site.sort):
        parameters.sort(key=sort_key)
        yield "query sorted", f"{path_url}?{'&'.join(parameters)}"


_AUTHORITY_STEPS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("user name and password removed", steps.remove_userinfo),
    ("trailing dot of the host removed", steps.remove_trailing_dot),
)
