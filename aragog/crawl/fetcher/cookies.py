"""
Cookies for one fetch and its redirects, or for a session with an origin (RFC 6265).

A cookie whose Domain is a public suffix is ignored (section 5.3, step 5), so `a.github.io` cannot
set a cookie for all of `github.io`. The rules for `__Secure-` and `__Host-` names and for the
Secure attribute are enforced (RFC 6265bis, sections 4.1.3 and 5.7).
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import urlsplit

from aragog.crawl.fetcher.http1.head import ResponseHead
from aragog.runtime.clock import Clock, SystemClock
from urlspelling.domain import is_ip, is_public_suffix
from urlspelling.domain import origin as origin_of_url

# A session needs far fewer cookies. Without a limit, a site could use up our memory.
MAX_COOKIES = 50
# RFC 6265 section 6.1 requires support for 4096 bytes per cookie. Servers reject headers over 8 KB.
MAX_COOKIE_BYTES = 4096
MAX_HEADER_BYTES = 8192
# Maximum number of Set-Cookie headers to read from one response.
MAX_SET_COOKIE_HEADERS = 200
# Dates before this year are invalid (RFC 6265 section 5.1.1).
MIN_YEAR = 1601


@dataclass(frozen=True, slots=True)
class _CookieKey:
    """Identifies a cookie. A later cookie with the same key replaces it."""

    name: str
    domain: str
    path: str


@dataclass(frozen=True, slots=True)
class _Cookie:
    key: _CookieKey
    value: str
    host_only: bool
    """True if the cookie was set without Domain, and is sent only to its own host."""
    secure: bool
    expires_at_ms: float
    """When the cookie expires, on this machine's clock; infinite if it never does."""

    def is_sent_to(self, scheme: str, host: str, path: str) -> bool:
        """Return True if the cookie is sent with this request (section 5.4, step 1)."""
        in_domain = (
            host == self.key.domain if self.host_only else _is_in_domain(host, self.key.domain)
        )
        return (
            in_domain
            and _is_in_path(path, self.key.path)
            and (scheme == "https" or not self.secure)
        )


@dataclass(slots=True)
class Cookies:
    """The cookies of one fetch and its redirects: at most 50, of at most 4 KB each."""

    clock: Clock = field(default_factory=SystemClock)
    _jar: dict[_CookieKey, _Cookie] = field(default_factory=dict)

    def learn(self, url: str, head: ResponseHead) -> None:
        """Apply the Set-Cookie headers of a response to `url`."""
        for line in head.values("set-cookie")[:MAX_SET_COOKIE_HEADERS]:
            cookie = (
                _parse_set_cookie(line, url, self.clock.now_ms())
                if len(line) <= MAX_COOKIE_BYTES
                else None
            )
            if cookie is None:
                continue
            if cookie.expires_at_ms <= self.clock.now_ms():
                self._jar.pop(cookie.key, None)
            elif cookie.key in self._jar or len(self._jar) < MAX_COOKIES:
                self._jar[cookie.key] = cookie

    def to_json_values(self) -> list[tuple[Any, ...]]:
        """Return the cookies as JSON values, for `add_json_values`."""
        return [
            (
                *dataclasses.astuple(cookie.key),
                cookie.value,
                cookie.host_only,
                cookie.secure,
                None if cookie.expires_at_ms == float("inf") else cookie.expires_at_ms,
            )
            for cookie in self._jar.values()
        ]

    def add_json_values(self, cookies: Iterable[Sequence[Any]]) -> None:
        """Add cookies from another jar's `to_json_values`."""
        for name, domain, path, value, host_only, secure, expires_at_ms in cookies:
            key = _CookieKey(name, domain, path)
            expires_ms = float("inf") if expires_at_ms is None else float(expires_at_ms)
            self._jar[key] = _Cookie(key, value, host_only, secure, expires_ms)

    def header(self, url: str) -> str | None:
        """Return the Cookie header for `url`, at most 8 KB, or None if no cookie matches."""
        scheme, host, path = _split_url(url)
        now_ms = self.clock.now_ms()
        cookies = [
            cookie
            for cookie in self._jar.values()
            if cookie.expires_at_ms > now_ms and cookie.is_sent_to(scheme, host, path)
        ]
        cookies.sort(key=lambda cookie: -len(cookie.key.path))  # stable: oldest first
        header = "; ".join(f"{cookie.key.name}={cookie.value}" for cookie in cookies)
        if len(header) > MAX_HEADER_BYTES:
            header = header[: MAX_HEADER_BYTES + 1].rpartition("; ")[0]
        return header or None


@dataclass(slots=True)
class OriginCookies(Cookies):
    """One origin's cookies. Only that origin can set and receive them."""

    origin: str = ""

    @classmethod
    def from_json_values(cls, origin: str, cookies: Iterable[Sequence[Any]], clock: Clock) -> Self:
        jar = cls(clock=clock, origin=origin)
        jar.add_json_values(cookies)
        return jar

    def learn(self, url: str, head: ResponseHead) -> None:
        """Store the cookies that a response sets. Ignores other origins."""
        if origin_of_url(url) == self.origin:
            Cookies.learn(self, url, head)

    def header(self, url: str) -> str | None:
        """Return the Cookie header for a URL of the origin, or None for other origins."""
        return Cookies.header(self, url) if origin_of_url(url) == self.origin else None


def _parse_set_cookie(line: str, url: str, now_ms: int) -> _Cookie | None:
    """Parse a Set-Cookie header. Returns None for an ignored cookie (sections 5.2 and 5.3)."""
    pair, *attribute_texts = line.split(";")
    name, equals, value = (part.strip(" \t") for part in pair.partition("="))
    if not equals or not name or not pair.isprintable():
        return None
    attributes = {}
    for attribute in attribute_texts:  # the last valid attribute of each name wins
        key, _, text = (part.strip(" \t") for part in attribute.partition("="))
        check = _ATTRIBUTE_CHECKS.get(key.lower())
        if check is None or check(text):
            attributes[key.lower()] = text
    _, host, path = _split_url(url)
    domain = _cookie_domain(attributes.get("domain", ""), host)
    if domain is None:
        return None
    if _violates_prefix_rules(name.lower(), attributes, url):
        return None
    path_attribute = attributes.get("path", "")
    return _Cookie(
        _CookieKey(
            name,
            domain or host,
            path_attribute if path_attribute.startswith("/") else _default_path(path),
        ),
        value,
        host_only=not domain,
        secure="secure" in attributes,
        expires_at_ms=_expires_at_ms(attributes, now_ms),
    )


def _violates_prefix_rules(name: str, attributes: dict[str, str], url: str) -> bool:
    """Return True if a cookie breaks its prefix's rules, or is Secure but arrived without TLS."""
    is_safe = "secure" in attributes and url.startswith("https://")
    if "secure" in attributes and not is_safe:
        return True
    if name.startswith("__host-"):
        return not is_safe or bool(attributes.get("domain")) or attributes.get("path") != "/"
    return name.startswith("__secure-") and not is_safe


def _cookie_domain(text: str, host: str) -> str | None:
    """Return the Domain; "" if the cookie is for `host` alone; None if `host` may not set it."""
    domain = text.removeprefix(".").lower()
    if not domain or (domain == host and is_public_suffix(domain)):
        return ""
    return domain if _is_in_domain(host, domain) and not is_public_suffix(domain) else None


def _is_in_domain(host: str, domain: str) -> bool:
    """Return True if a host equals a domain or is its subdomain (section 5.1.3)."""
    return host == domain or (host.endswith(f".{domain}") and not is_ip(host))


def _is_in_path(path: str, parent: str) -> bool:
    """Return True if a path equals `parent` or is inside it (section 5.1.4)."""
    return path.startswith(parent) and (
        path == parent or parent.endswith("/") or path[len(parent)] == "/"
    )


def _default_path(path: str) -> str:
    return path[: path.rfind("/")] or "/"


def _split_url(url: str) -> tuple[str, str, str]:
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    port = re.search(r":\d*\Z", host)
    return parts.scheme, (host[: port.start()] if port else host).lower(), parts.path or "/"


def _expires_at_ms(attributes: dict[str, str], now_ms: int) -> float:
    """Return when a cookie expires. Max-Age overrides Expires; invalid values are ignored."""
    if (age := attributes.get("max-age")) is not None:
        return now_ms + float(age) * 1000 if float(age) > 0 else 0
    expires_at_ms = cookie_date_ms(attributes.get("expires", ""))
    return float("inf") if expires_at_ms is None else expires_at_ms


_DELIMITER = re.compile(r"[\t\x20-\x2f\x3b-\x40\x5b-\x60\x7b-\x7e]+")
_TIME = re.compile(r"(\d{1,2}):(\d{1,2}):(\d{1,2})(?:\D|$)", re.ASCII)
_DAY = re.compile(r"(\d{1,2})(?:\D|$)", re.ASCII)
_YEAR = re.compile(r"(\d{2,4})(?:\D|$)", re.ASCII)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def cookie_date_ms(text: str) -> int | None:
    """Parse a cookie date (section 5.1.1) into ms since the epoch, or None if invalid."""
    time: list[int] | None = None
    day = month = year = None
    for token in _DELIMITER.split(text[:200]):
        if time is None and (match := _TIME.match(token)):
            time = [int(part) for part in match.groups()]
        elif day is None and (match := _DAY.match(token)):
            day = int(match[1])
        elif month is None and token[:3].lower() in _MONTHS:
            month = _MONTHS.index(token[:3].lower()) + 1
        elif year is None and (match := _YEAR.match(token)):
            year = int(match[1])
    if time is None or day is None or month is None or year is None:
        return None
    year += 1900 if 70 <= year <= 99 else 2000 if year <= 69 else 0
    if year < MIN_YEAR:
        return None
    try:
        moment = dt.datetime(year, month, day, time[0], time[1], time[2], tzinfo=dt.UTC)
        return int(moment.timestamp() * 1000)
    except (ValueError, OverflowError):
        return None


def _is_age(text: str) -> bool:
    return re.fullmatch(r"-?[0-9]+", text, re.ASCII) is not None


def _is_cookie_date(text: str) -> bool:
    return cookie_date_ms(text) is not None


_ATTRIBUTE_CHECKS: dict[str, Callable[[str], bool]] = {
    "max-age": _is_age,
    "expires": _is_cookie_date,
}
"""Each check returns True for a valid value. Invalid attributes are ignored (section 5.2)."""
