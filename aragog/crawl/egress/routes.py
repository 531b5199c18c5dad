"""An egress route and its proxy."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, field
from hashlib import blake2s
from pathlib import Path
from typing import Self
from urllib.parse import SplitResult, unquote, urlsplit

from aragog.errors import ConfigError
from aragog.runtime.environment import variable
from aragog.runtime.secret import Secret, reveal, without_password
from aragog.settings.egress import PROXY_SCHEMES, WaySettings
from urlspelling.domain import host, registered_domain

_PLACEHOLDER = re.compile(r"\{(session|host|domain|crawl)\}")
_MAX_LOGIN_BYTES = 255
"""Maximum length of a user name or password in SOCKS5 (RFC 1929)."""
_DEFAULT_PORTS = {"http": 3128, "socks5": 1080, "socks5h": 1080}


@dataclass(frozen=True, slots=True)
class ProxyServer:
    """A proxy and the credentials for one request."""

    scheme: str
    """`http` (a tunnel opened with CONNECT) or `socks5` (RFC 1928)."""
    host: str
    port: int
    user: Secret = field(default_factory=Secret)
    password: Secret = field(default_factory=Secret)
    resolves_names: bool = False
    """
    True if the proxy resolves host names. Otherwise it receives addresses that were already
    checked.
    """

    @property
    def redacted_url(self) -> str:
        return f"{self.scheme}://{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class EgressRoute:
    """
    A local address or a proxy for requests.

    Args:
        name: the route's name in rules, the crawl log and metrics.
        addresses: local addresses by IP version, for requests without a proxy. If empty, the kernel
            chooses.
        proxy: URL of the proxy, with placeholders such as `{session}`; "" for a direct route.
        login: where to read `user:password` from; "" if the proxy needs no credentials.
        resolves_names: True if the proxy resolves host names.
        session_s: how long a domain keeps the same `{session}`.
        is_fetch_proxy: True if `proxy` is `fetch.proxy`, whose URL may contain credentials.
    """

    name: str
    addresses: dict[int, str] = field(default_factory=dict)
    proxy: Secret = field(default_factory=Secret)
    login: str = ""
    resolves_names: bool = False
    session_s: float = 600.0
    is_fetch_proxy: bool = False
    placeholders: frozenset[str] = frozenset()
    """The placeholders that occur in the proxy's URL or credentials."""

    @classmethod
    def from_settings(cls, name: str, settings: WaySettings) -> Self:
        """
        Create the route for an entry in `egress.ways`. Reads its credentials once to check them.

        Raises:
            ConfigError: the credentials are missing or invalid. The message does not contain them.
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
            placeholders=frozenset(word for text in texts for word in _PLACEHOLDER.findall(text)),
        )

    @classmethod
    def from_fetch_proxy(cls, url: str) -> Self:
        """
        Create the route for `fetch.proxy`.

        Raises:
            ConfigError: `url` is not a proxy URL, or its credentials are too long.
        """
        parts, _ = _split_proxy_url(url)
        login = unquote(parts.username or ""), unquote(parts.password or "")
        if max(len(text.encode()) for text in login) > _MAX_LOGIN_BYTES:
            raise ConfigError("fetch.proxy: user and password may have at most 255 bytes each")
        proxy = reveal(url)
        return cls(
            "proxy",
            proxy=Secret(proxy),
            resolves_names=proxy.startswith("socks5h:"),
            is_fetch_proxy=True,
        )

    def key(self, url: str, crawl: str, now_ms: int) -> str:
        """Return the key of the connections that a request to `url` may reuse."""
        if not self.placeholders:
            return self.name
        values = self._placeholder_values(url, crawl, now_ms)
        return " ".join((self.name, *(values[word] for word in sorted(self.placeholders))))

    def server(self, url: str, crawl: str, now_ms: int) -> ProxyServer | None:
        """
        Return the proxy and credentials for a request to `url`; None for a direct route.

        Raises:
            ConfigError: the credentials are missing or invalid.
        """
        if not self.proxy:
            return None
        values = self._placeholder_values(url, crawl, now_ms) if self.placeholders else {}
        parts, port = _split_proxy_url(_fill_placeholders(reveal(self.proxy), values))
        if self.is_fetch_proxy:
            user, password = unquote(parts.username or ""), unquote(parts.password or "")
        else:
            login = _read_login(f"egress.ways.{self.name}.login", self.login)
            user, _, password = _fill_placeholders(reveal(login), values).partition(":")
        scheme = "http" if parts.scheme == "http" else "socks5"
        name = parts.hostname or ""
        return ProxyServer(scheme, name, port, Secret(user), Secret(password), self.resolves_names)

    def _placeholder_values(self, url: str, crawl: str, now_ms: int) -> dict[str, str]:
        """Return the value of each placeholder. A domain keeps its session for `session_s`."""
        domain = registered_domain(url)
        window = now_ms // int(self.session_s * 1000)
        session = blake2s(f"{self.name} {domain} {window}".encode()).hexdigest()[:12]
        return {"session": session, "host": host(url), "domain": domain, "crawl": crawl or "none"}


def _fill_placeholders(text: str, values: dict[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda match: values[match[1]], text) if values else text


def _split_proxy_url(url: str) -> tuple[SplitResult, int]:
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
    Read the credentials from `env:NAME` or `file:PATH`. Returns "" for an empty reference.

    Raises:
        ConfigError: the credentials are unreadable or invalid. The message names the setting and
            the source, but never contains the credentials.
    """
    source, _, location = reference.partition(":")
    if not reference:
        return Secret()
    if source == "env":
        text = variable(location)
        if text is None:
            raise ConfigError(f"{setting}: the environment variable {location} is not set; set it")
    else:
        try:
            text = Path(location).read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "not UTF-8"
            raise ConfigError(f"{setting}: {location} cannot be read: {reason}") from None
    user, colon, password = text.partition(":")
    max_bytes = max(len(user.encode()), len(password.encode()))
    if not (user and colon) or not text.isprintable() or max_bytes > _MAX_LOGIN_BYTES:
        raise ConfigError(
            f"{setting}: {location} must contain user:password, at most 255 bytes each (the value "
            "is not shown)"
        )
    return Secret(text)
