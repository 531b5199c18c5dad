"""
Remove passwords and other credentials from PostgreSQL addresses before messages show them.

A dsn may be a string subclass that hides its text when printed, so its actual characters are used.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

MASK = "***"


def without_password(url: str) -> str:
    """
    Return `url` with masked credentials. `url` may be a URL, PostgreSQL's `key=value` pairs, or
    malformed.

    Only harmless parts stay: scheme, hosts, ports and path of a well-formed URL, and values of
    harmless options. Everything before the last `@` is masked, because a password may contain
    unescaped `/`, `#` and `@`.
    """
    text = str.__str__(url)
    if (found := _URL.fullmatch(text)) is not None:
        login = "" if found["login"] is None else f"{MASK}@" if found["login"] else "@"
        query = "" if found["query"] is None else "?" + _options(found["query"])
        return f"{found['scheme']}://{login}{found['place']}{query}"
    if (begin := _SCHEME.match(text)) is not None:
        return begin[0] + MASK
    if _PAIRS.fullmatch(text):
        return " ".join(_option(name, value) for name, value in _PAIR.findall(text))
    if "=" in text:
        return MASK
    before, at, place = text.rpartition("@")
    shown = place if _PLACE.fullmatch(place) else MASK
    return (MASK if before else "") + at + shown


def without_login(text: str, url: str) -> str:
    """
    Return a library's message about connecting to `url`, without credentials.

    If the URL is malformed, the whole message is dropped, because its credentials cannot be
    located.
    """
    plain = str.__str__(url)
    found = _URL.fullmatch(plain)
    if found is None and not _PAIRS.fullmatch(plain):
        return "the address is malformed: write / # ? @ : in a password as %2F %23 %3F %40 %3A"
    login = (found["login"] or "") if found else ""
    values = [value for name, value in _PAIR.findall(plain) if name.lower() not in _HARMLESS]
    if found and found["query"]:
        parts = (part.partition("=") for part in found["query"].split("&"))
        values += [value for name, _, value in parts if name.lower() not in _HARMLESS]
    for secret in sorted({login, *login.split(":", 1)[1:], *values}, key=len, reverse=True):
        for spelling in (secret, unquote(secret), secret.strip("'")):
            if len(spelling) > 1:
                text = text.replace(spelling, MASK)
    return text


_HOST = r"(?:\[[0-9A-Fa-f:.%]+\]|[\w.%~-]+)(?::\d{1,5})?"
_WHERE = rf"(?:{_HOST}(?:,{_HOST})*)?(?:/[\w.,~%/+-]*)?"
_PLACE = re.compile(rf"(?:[A-Za-z][\w+.-]*:/)?/{{0,2}}{_WHERE}")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_URL = re.compile(
    rf"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?:(?P<login>.*)@)?(?P<place>{_WHERE})"
    r"(?:\?(?P<query>[^\s#@]*))?",
    re.DOTALL,
)
_PAIR = re.compile(r"(\w+)\s*=\s*('(?:\\.|[^'\\])*'|[^\s'][^\s]*|)(?:\s+|$)")
_PAIRS = re.compile(rf"\s*(?:{_PAIR.pattern})+")
_HARMLESS_VALUE = re.compile(r"'?[\w.,~%/:+-]*'?")
_HARMLESS = frozenset({
    "application_name", "channel_binding", "connect_timeout", "dbname", "gssencmode", "host",
    "hostaddr", "keepalives", "load_balance_hosts", "port", "ssl", "sslcert", "sslmode",
    "sslrootcert", "target_session_attrs", "tcp_user_timeout", "timeout",
})  # fmt: skip
"""Options whose values are never secret."""


def _options(query: str) -> str:
    return "&".join(
        _option(name, value) if equals else MASK
        for name, equals, value in (part.partition("=") for part in query.split("&"))
    )


def _option(name: str, value: str) -> str:
    if not re.fullmatch(r"\w+", name):
        return MASK
    harmless = name.lower() in _HARMLESS and _HARMLESS_VALUE.fullmatch(value)
    return f"{name}={value if harmless else MASK}"
