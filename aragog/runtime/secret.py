"""
Text that must not be shown: passwords, tokens, and URLs that may hold one.

Both types are strings, so libraries take them; but what Python prints of them (`repr`, `str`,
f-strings, `%s`) is masked, in logs, tracebacks and error messages alike. `reveal` returns the text
itself, for the code that must send it.
"""

from __future__ import annotations

import re
from typing import Any, Self
from urllib.parse import unquote

MASK = "***"


class Secret(str):
    """A password, a token or a header value, which is never shown."""

    __slots__ = ()

    def __new__(cls, text: str = "") -> Self:
        # `str(text)` of another secret would be its mask.
        return super().__new__(cls, reveal(text))

    @property
    def shown(self) -> str:
        """The masked text that may be printed."""
        return MASK if len(self) else ""

    def __str__(self) -> str:
        return self.shown

    def __repr__(self) -> str:
        return repr(self.shown)

    def __format__(self, spec: str) -> str:
        return format(self.shown, spec)

    def __getnewargs__(self) -> tuple[Any, ...]:
        return (reveal(self),)


class SecretUrl(Secret):
    """A URL that may hold a password: shown without it."""

    __slots__ = ()

    @property
    def shown(self) -> str:
        return without_password(self)


def reveal(text: str) -> str:
    """The text itself, as a plain string."""
    return str.__str__(text)


def without_password(url: str) -> str:
    """
    `url` as it may be shown: a URL, the `key=value` pairs of PostgreSQL, or any malformed text.

    Shown is only what cannot be a part of a login: scheme, hosts, ports and path of a well-formed
    URL, and the values of options that are known to be none. Everything before the last `@` counts
    as login: a password may hold `/`, `#` and `@` unescaped.
    """
    text = reveal(url)
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
    A library's message about the connection to `url`, without what it may quote of its login.

    Nothing is left of a message about a malformed URL: its parts are not where they should be.
    """
    plain = reveal(url)
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
    "application_name", "channel_binding", "connect_timeout", "db", "dbname", "gssencmode",
    "heartbeat", "host", "hostaddr", "keepalives", "load_balance_hosts", "port", "protocol",
    "schema", "socket_timeout", "ssl", "ssl_ca_certs", "ssl_cert_reqs", "ssl_check_hostname",
    "sslcert", "sslmode", "sslrootcert", "target_session_attrs", "tcp_user_timeout", "timeout",
    "virtual_host",
})  # fmt: skip
"""Options of addresses whose values are no secrets."""


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


NO_URL = SecretUrl()


def mask(section: object, **values: Any) -> None:
    """Replace fields of a frozen dataclass, such as a section of the settings, by masked ones."""
    for name, value in values.items():
        object.__setattr__(section, name, value)


def secret_urls(texts: tuple[str, ...]) -> tuple[SecretUrl, ...]:
    """Return URLs that may contain passwords, masked."""
    return tuple(SecretUrl(text) for text in texts)
