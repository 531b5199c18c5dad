"""
Remove passwords from broker URLs and from messages about them.

A URL may be an instance of a `str` subclass that prints itself masked. `reveal` returns its real
text.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

MASK = "***"


def reveal(text: str) -> str:
    """Return the real text as a plain `str`."""
    return str.__str__(text)


def without_password(url: str) -> str:
    """
    Return `url` without passwords. It may be a URL, PostgreSQL's `key=value` pairs, or malformed.

    Only harmless parts stay: scheme, hosts, ports and path of a well-formed URL, and values of
    harmless options. Everything before the last `@` counts as the login, because a password may
    contain an unescaped `/`, `#` or `@`.
    """
    text = reveal(url)
    if (match := _URL.fullmatch(text)) is not None:
        login = "" if match["login"] is None else f"{MASK}@" if match["login"] else "@"
        query = "" if match["query"] is None else "?" + _mask_options(match["query"])
        return f"{match['scheme']}://{login}{match['location']}{query}"
    if (scheme := _SCHEME.match(text)) is not None:
        return scheme[0] + MASK
    if _PAIRS.fullmatch(text):
        return " ".join(_mask_option(name, value) for name, value in _PAIR.findall(text))
    if "=" in text:
        return MASK
    login_part, at, server = text.rpartition("@")
    visible = server if _LOCATION_ONLY.fullmatch(server) else MASK
    return (MASK if login_part else "") + at + visible


def without_login(text: str, url: str) -> str:
    """
    Return a library's message about connecting to `url`, without parts of its login.

    If the URL is malformed, the whole message is dropped, because the login cannot be identified.
    """
    plain = reveal(url)
    match = _URL.fullmatch(plain)
    if match is None and not _PAIRS.fullmatch(plain):
        return "the address is malformed: write / # ? @ : in a password as %2F %23 %3F %40 %3A"
    login = (match["login"] or "") if match else ""
    values = [
        value for name, value in _PAIR.findall(plain) if name.lower() not in _HARMLESS_OPTIONS
    ]
    if match and match["query"]:
        parts = (part.partition("=") for part in match["query"].split("&"))
        values += [value for name, _, value in parts if name.lower() not in _HARMLESS_OPTIONS]
    for secret in sorted({login, *login.split(":", 1)[1:], *values}, key=len, reverse=True):
        for form in (secret, unquote(secret), secret.strip("'")):
            if len(form) > 1:
                text = text.replace(form, MASK)
    return text


_HOST = r"(?:\[[0-9A-Fa-f:.%]+\]|[\w.%~-]+)(?::\d{1,5})?"
_LOCATION = rf"(?:{_HOST}(?:,{_HOST})*)?(?:/[\w.,~%/+-]*)?"
_LOCATION_ONLY = re.compile(rf"(?:[A-Za-z][\w+.-]*:/)?/{{0,2}}{_LOCATION}")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_URL = re.compile(
    rf"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?:(?P<login>.*)@)?(?P<location>{_LOCATION})"
    r"(?:\?(?P<query>[^\s#@]*))?",
    re.DOTALL,
)
_PAIR = re.compile(r"(\w+)\s*=\s*('(?:\\.|[^'\\])*'|[^\s'][^\s]*|)(?:\s+|$)")
_PAIRS = re.compile(rf"\s*(?:{_PAIR.pattern})+")
_HARMLESS_VALUE = re.compile(r"'?[\w.,~%/:+-]*'?")
_HARMLESS_OPTIONS = frozenset({
    "application_name", "channel_binding", "connect_timeout", "db", "dbname", "gssencmode",
    "heartbeat", "host", "hostaddr", "keepalives", "load_balance_hosts", "port", "protocol",
    "schema", "socket_timeout", "ssl", "ssl_ca_certs", "ssl_cert_reqs", "ssl_check_hostname",
    "sslcert", "sslmode", "sslrootcert", "target_session_attrs", "tcp_user_timeout", "timeout",
    "virtual_host",
})  # fmt: skip
"""Connection options whose values are not secret."""


def _mask_options(query: str) -> str:
    return "&".join(
        _mask_option(name, value) if equals else MASK
        for name, equals, value in (part.partition("=") for part in query.split("&"))
    )


def _mask_option(name: str, value: str) -> str:
    if not re.fullmatch(r"\w+", name):
        return MASK
    is_harmless = name.lower() in _HARMLESS_OPTIONS and _HARMLESS_VALUE.fullmatch(value)
    return f"{name}={value if is_harmless else MASK}"
