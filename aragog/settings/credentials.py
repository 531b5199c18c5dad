"""
Credentials in the fetch settings. Each belongs to one origin (scheme, host, port).

A key is an origin such as `http://intranet.example:8080`. A host without a scheme means `https://`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from aragog.runtime.secret import Secret, reveal

_ORIGIN = re.compile(
    r"(?:(https?)://)?(\[[0-9a-f:.]+\]|[^\s/?#@:\[\]]+)(?::(\d{1,5}))?/?", re.IGNORECASE
)
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, 5.6.2
_DEFAULT_PORTS = {"http": "80", "https": "443"}

# Headers with credentials (RFC 9110 and 6265). They are sent only to one origin.
PRIVATE_HEADERS = frozenset({"authorization", "cookie", "proxy-authorization"})
# Headers that accept a page's price (Cloudflare's pay per crawl) are refused: aragog never pays.
PAYING_HEADERS = frozenset({"crawler-exact-price", "crawler-max-price"})


def origin_of(text: str) -> str | None:
    """Return the origin in its normalized form, or None if `text` is not an origin."""
    match = _ORIGIN.fullmatch(text.strip())
    if match is None:
        return None
    scheme, host, port = (match[1] or "https").lower(), match[2].lower(), match[3]
    return f"{scheme}://{host}" + (f":{port}" if port and port != _DEFAULT_PORTS[scheme] else "")


def header_lines(text: str) -> Iterator[tuple[str, str]]:
    """Yield (name, value) for each `Name: value` line. The name is empty if there is no colon."""
    for line in reveal(text).splitlines():
        if line.strip():
            name, colon, value = line.partition(":")
            yield name.strip() if colon else "", value.strip()


def credential_problems(
    headers: Mapping[str, str],
    basic_auth: Mapping[str, Secret],
    origin_headers: Mapping[str, Secret],
) -> Iterator[str]:
    """Yield one line for each invalid setting. The lines contain no secrets."""
    for name, value in headers.items():
        if name.lower() in PAYING_HEADERS:
            yield f"fetch.headers: {name} would agree to a price; aragog never pays, remove it"
        elif name.lower() in PRIVATE_HEADERS:
            yield (
                f"fetch.headers: {name} would be sent to every host; bind it to one origin: "
                f'fetch.origin_headers = {{ "https://example.com" = "{name}: ..." }}'
            )
        elif not (_HEADER_NAME.fullmatch(name) and value.isprintable()):
            yield f"fetch.headers: {name!r} is not a valid HTTP header; check its name and value"
    for setting, table in (("basic_auth", basic_auth), ("origin_headers", origin_headers)):
        for number, key in enumerate(table, 1):
            if origin_of(key) is None:
                yield (
                    f"fetch.{setting}: key {number} is not an origin; use https://host or "
                    "http://host:port (its value is not shown)"
                )
    for key, login in basic_auth.items():
        if ":" not in login or not reveal(login).isprintable():
            yield (
                f"fetch.basic_auth: {_printable_key(key)}: must be user:password (its value is not "
                "shown)"
            )
    for key, lines in origin_headers.items():
        pairs = list(header_lines(lines))
        for name, _ in pairs:
            if name.lower() in PAYING_HEADERS:
                yield (
                    f"fetch.origin_headers: {_printable_key(key)}: {name} would agree to a price; "
                    "aragog never pays, remove it"
                )
        if not pairs or not all(_HEADER_NAME.fullmatch(n) and v.isprintable() for n, v in pairs):
            yield (
                f'fetch.origin_headers: {_printable_key(key)}: must be "Name: value", one per line '
                "(its value is not shown)"
            )


def _printable_key(key: str) -> str:
    """Return a key for messages. A key that is not an origin may be a secret."""
    return origin_of(key) or "a key"
