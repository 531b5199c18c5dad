"""
Strings that must not be printed: passwords, tokens, and URLs that may contain them.

`Secret` and `SecretUrl` are subclasses of `str`, so libraries accept them. They print as a mask
(`repr`, `str`, f-strings, `%s`), so logs and error messages do not contain the secrets. `reveal`
returns the original string.
"""

from __future__ import annotations

import re
from typing import Any, Self
from urllib.parse import unquote

MASK = "***"


class Secret(str):
    """A password, token or header value that is never printed."""

    __slots__ = ()

    def __new__(cls, text: str = "") -> Self:
        # Otherwise, a copy of a secret would contain the mask.
        return super().__new__(cls, reveal(text))

    @property
    def masked(self) -> str:
        """The string to print instead."""
        return MASK if len(self) else ""

    def __str__(self) -> str:
        return self.masked

    def __repr__(self) -> str:
        return repr(self.masked)

    def __format__(self, spec: str) -> str:
        return format(self.masked, spec)

    def __getnewargs__(self) -> tuple[Any, ...]:
        return (reveal(self),)


class SecretUrl(Secret):
    """A URL that may contain a password. It is printed without the password."""

    __slots__ = ()

    @property
    def masked(self) -> str:
        return without_password(self)


def reveal(text: str) -> str:
    """Return the original text, as a plain string."""
    return str.__str__(text)


def without_password(url: str) -> str:
    """
    Return `url` with its secrets masked. Accepts URLs, PostgreSQL `key=value` strings, and
    malformed strings.

    The result contains the scheme, hosts, ports, path, and harmless options. Everything before the
    last `@` counts as credentials, because a password may contain unescaped `/`, `#` and `@`.
    """
    text = reveal(url)
    if (match := _URL.fullmatch(text)) is not None:
        login = "" if match["login"] is None else f"{MASK}@" if match["login"] else "@"
        query = "" if match["query"] is None else "?" + _mask_options(match["query"])
        return f"{match['scheme']}://{login}{match['location']}{query}"
    if (scheme := _SCHEME.match(text)) is not None:
        return scheme[0] + MASK
    if _OPTIONS.fullmatch(text):
        return " ".join(_mask_option(name, value) for name, value in _OPTION.findall(text))
    if "=" in text:
        return MASK
    before, separator, location = text.rpartition("@")
    masked_place = location if _LOCATION.fullmatch(location) else MASK
    return (MASK if before else "") + separator + masked_place


def without_login(text: str, url: str) -> str:
    """
    Mask a URL's credentials in a library's error message about a connection.

    For a malformed URL, the whole message is replaced, because the credentials cannot be located.
    """
    plain = reveal(url)
    match = _URL.fullmatch(plain)
    if match is None and not _OPTIONS.fullmatch(plain):
        return "the URL is malformed: write / # ? @ : in a password as %2F %23 %3F %40 %3A"
    login = (match["login"] or "") if match else ""
    values = [
        value for name, value in _OPTION.findall(plain) if name.lower() not in _PUBLIC_OPTIONS
    ]
    if match and match["query"]:
        parts = (part.partition("=") for part in match["query"].split("&"))
        values += [value for name, _, value in parts if name.lower() not in _PUBLIC_OPTIONS]
    for secret in sorted({login, *login.split(":", 1)[1:], *values}, key=len, reverse=True):
        for spelling in (secret, unquote(secret), secret.strip("'")):
            if len(spelling) > 1:
                text = text.replace(spelling, MASK)
    return text


_HOST = r"(?:\[[0-9A-Fa-f:.%]+\]|[\w.%~-]+)(?::\d{1,5})?"
_HOSTS_AND_PATH = rf"(?:{_HOST}(?:,{_HOST})*)?(?:/[\w.,~%/+-]*)?"
_LOCATION = re.compile(rf"(?:[A-Za-z][\w+.-]*:/)?/{{0,2}}{_HOSTS_AND_PATH}")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_URL = re.compile(
    rf"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?:(?P<login>.*)@)?(?P<location>{_HOSTS_AND_PATH})"
    r"(?:\?(?P<query>[^\s#@]*))?",
    re.DOTALL,
)
_OPTION = re.compile(r"(\w+)\s*=\s*('(?:\\.|[^'\\])*'|[^\s'][^\s]*|)(?:\s+|$)")
_OPTIONS = re.compile(rf"\s*(?:{_OPTION.pattern})+")
_PUBLIC_VALUE = re.compile(r"'?[\w.,~%/:+-]*'?")
_PUBLIC_OPTIONS = frozenset({
    "application_name", "channel_binding", "connect_timeout", "db", "dbname", "gssencmode",
    "heartbeat", "host", "hostaddr", "keepalives", "load_balance_hosts", "port", "protocol",
    "schema", "socket_timeout", "ssl", "ssl_ca_certs", "ssl_cert_reqs", "ssl_check_hostname",
    "sslcert", "sslmode", "sslrootcert", "target_session_attrs", "tcp_user_timeout", "timeout",
    "virtual_host",
})  # fmt: skip
"""URL options whose values are not secret."""


def _mask_options(query: str) -> str:
    return "&".join(
        _mask_option(name, value) if equals else MASK
        for name, equals, value in (part.partition("=") for part in query.split("&"))
    )


def _mask_option(name: str, value: str) -> str:
    if not re.fullmatch(r"\w+", name):
        return MASK
    is_public = name.lower() in _PUBLIC_OPTIONS and _PUBLIC_VALUE.fullmatch(value)
    return f"{name}={value if is_public else MASK}"


NO_URL = SecretUrl()


def mask(section: object, **values: Any) -> None:
    """
    Replace fields of a frozen dataclass, such as a section of the settings, with values of secret
    types.
    """
    for name, value in values.items():
        object.__setattr__(section, name, value)


def secret_urls(strings: tuple[str, ...]) -> tuple[SecretUrl, ...]:
    """Return the strings as URLs that may contain passwords."""
    return tuple(SecretUrl(text) for text in strings)
