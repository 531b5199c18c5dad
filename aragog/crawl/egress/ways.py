"""A way out, and the proxy that a request uses on it."""

from __future__ import annotations

import ipaddress
import os
import re
from dataclasses import dataclass, field
from hashlib import blake2s
from pathlib import Path
from typing import Self
from urllib.parse import SplitResult, unquote, urlsplit

from aragog.errors import ConfigError
from aragog.runtime.secret import Secret, reveal, without_password
from aragog.settings.egress import PROXY_SCHEMES, WaySettings
from urlspelling.domain import host, registered_domain

_WORD = re.compile(r"\{(session|host|domain|crawl)\}")
_MOST_LOGIN_BYTES = 255
"""Maximum length of the user and of the password in SOCKS5 (RFC 1929)."""
_DEFAULT_PORTS = {"http": 3128, "socks5": 1080, "socks5h": 1080}


@dataclass(frozen=True, slots=True)
class ProxyServer:
    """A proxy with the login for one request."""

    scheme: str
    """`http` for a tunnel by CONNECT, or `socks5` (RFC 1928)."""
    host: str
    port: int
    user: Secret = field(default_factory=Secret)
    password: Secret = field(default_factory=Secret)
    resolves: bool = False
    """True if the proxy resolves names. Otherwise it gets addresses that were already checked."""

    @property
    def shown(self) -> str:
        """The proxy without its login."""
        return f"{self.scheme}://{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Way:
    """
    A way out.

    Args:
        name: its name in rules, the crawl log and metrics.
        addresses: local addresses by IP version, for requests without a proxy. If empty, the system
            chooses.
        proxy: URL of the proxy, in which words in braces are replaced; "" if direct.
        login: where `user:password` is read from; "" for none.
        resolves: True if the proxy resolves names.
        session_s: how long `{session}` stays the same for a domain.
        own: True if `proxy` is `fetch.proxy`, which may contain its login.
    """

    name: str
    addresses: dict[int, str] = field(default_factory=dict)
    proxy: Secret = field(default_factory=Secret)
    login: str = ""
    resolves: bool = False
    session_s: float = 600.0
    own: bool = False
    words: frozenset[str] = frozenset()
    """The words in braces that occur in the proxy's URL or login."""

    @classmethod
    def of(cls, name: str, settings: WaySettings) -> Self:
        """
        Create the way of an entry of `egress.ways`. Reads its login once to check it.

        Raises:
            ConfigError: the login is missing or invalid. The message never contains its text.
        """
        login = _read_login(f"egress.ways.{name}.login", settings.login)
        texts = (settings.proxy, reveal(login))
        return cls(
            name,
            {ipaddress.ip_address(text).version: text for text in settings.addresses},
            Secret(settings.proxy),
            settings.login,
            settings.resolve_at_proxy or settings.proxy.startswith("socks5h:"),
            settings.session_s,
            words=frozenset(word for text in texts for word in _WORD.findall(text)),
        )

    @classmethod
    def of_fetch_proxy(cls, url: str) -> Self:
        """
        Create the way by `fetch.proxy`.

        Raises:
            ConfigError: `url` is not the URL of a proxy.
        """
        parts, _ = _split(url)
        login = unquote(parts.username or ""), unquote(parts.password or "")
        if max(len(text.encode()) for text in login) > _MOST_LOGIN_BYTES:
            raise ConfigError("fetch.proxy: user and password may have 255 bytes each")
        own = reveal(url)
        return cls("proxy", proxy=Secret(own), resolves=own.startswith("socks5h:"), own=True)

    def key(self, url: str, crawl: str, now_ms: int) -> str:
        """The key of connections that a request for `url` may reuse."""
        if not self.words:
            return self.name
        found = self._values(url, crawl, now_ms)
        return " ".join((self.name, *(found[word] for word in sorted(self.words))))

    def server(self, url: str, crawl: str, now_ms: int) -> ProxyServer | None:
        """
        The proxy for a request to `url`, with its login; None if the way is direct.

        Raises:
            ConfigError: the login is no longer available, or is invalid.
        """
        if not self.proxy:
            return None
        values = self._values(url, crawl, now_ms) if self.words else {}
        parts, port = _split(_filled(reveal(self.proxy), values))
        if self.own:
            user, password = unquote(parts.username or ""), unquote(parts.password or "")
        else:
            login = _read_login(f"egress.ways.{self.name}.login", self.login)
            user, _, password = _filled(reveal(login), values).partition(":")
        scheme = "http" if parts.scheme == "http" else "socks5"
        name = parts.hostname or ""
        return ProxyServer(scheme, name, port, Secret(user), Secret(password), self.resolves)

    def _values(self, url: str, crawl: str, now_ms: int) -> dict[str, str]:
        """The replacement of each word. A domain keeps its session for `session_s`."""
        domain = registered_domain(url)
        window = now_ms // int(self.session_s * 1000)
        session = blake2s(f"{self.name} {domain} {window}".encode()).hexdigest()[:12]
        return {"session": session, "host": host(url), "domain": domain, "crawl": crawl or "none"}


def _filled(text: str, values: dict[str, str]) -> str:
    return _WORD.sub(lambda found: values[found[1]], text) if values else text


def _split(url: str) -> tuple[SplitResult, int]:
    """Split a proxy's URL, and return its port, too."""
    try:
        parts = urlsplit(reveal(url))
        port = parts.port or _DEFAULT_PORTS.get(parts.scheme, 0)
    except ValueError:
        parts, port = urlsplit(""), 0
    if parts.scheme not in PROXY_SCHEMES or not parts.hostname or not port:
        raise ConfigError(
            "fetch.proxy: must be http://, socks5:// or socks5h://[user:password@]host[:port], got "
            f"{without_password(url)!r}"
        )
    return parts, port


def _read_login(setting: str, reference: str) -> Secret:
    """
    Read the login that `env:NAME` or `file:PATH` refers to; "" without a reference.

    Raises:
        ConfigError: the login cannot be read. Names the setting and the place, but never shows the
            login.
    """
    kind, _, place = reference.partition(":")
    if not reference:
        return Secret()
    if kind == "env":
        text = os.environ.get(place)
        if text is None:
            raise ConfigError(f"{setting}: the environment has no variable {place}; set it")
    else:
        try:
            text = Path(place).read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "not UTF-8"
            raise ConfigError(f"{setting}: {place} cannot be read: {reason}") from None
    user, colon, password = text.partition(":")
    longest = max(len(user.encode()), len(password.encode()))
    if not (user and colon) or not text.isprintable() or longest > _MOST_LOGIN_BYTES:
        raise ConfigError(
            f"{setting}: {place} must hold user:password, of at most 255 bytes each (its value is "
            "not shown)"
        )
    return Secret(text)
