"""Named egress routes for the crawl's requests, and the rules that select them."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

BUILT_IN = ("direct", "proxy")
"""Routes that need no entry in the settings: a direct connection, and `fetch.proxy`."""
PROXY_SCHEMES = ("http", "socks5", "socks5h")
PLACEHOLDERS = ("session", "host", "domain", "crawl")
_RETRY_STATUSES = (403, 429)
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}", re.ASCII)
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_LOGIN = re.compile(r"env:[A-Za-z_][A-Za-z0-9_]*|file:\S.*", re.ASCII)
_SUFFIX = re.compile(r"[a-z0-9-]+(?:\.[a-z0-9-]+)*", re.ASCII)


@dataclass(frozen=True, slots=True)
class WaySettings:
    """An egress route: set `addresses` for direct requests, or `proxy`."""

    addresses: tuple[str, ...] = ()
    """IP addresses of this machine from which requests are sent, at most one for IPv4 and one for
    IPv6. `aragog serve` publishes them with `identity.networks`."""
    proxy: str = ""
    """`http://host:port`, `socks5://host:port` or `socks5h://host:port`, without a login. With
    `socks5h`, the proxy resolves names. You can use `{session}`, `{host}`, `{domain}` and
    `{crawl}`."""
    login: str = ""
    """Where to find `user:password` for the proxy: `env:NAME` or `file:PATH`. You can use the same
    placeholders as in `proxy`."""
    resolve_at_proxy: bool = False
    """Send host names to an HTTP proxy instead of checked addresses."""
    session_s: float = 600.0
    """How long `{session}` stays the same for a registered domain."""


@dataclass(frozen=True, slots=True)
class EgressRule:
    """
    Selects the egress routes for URLs that meet all conditions. A condition is met if one of its
    entries matches.
    """

    ways: tuple[str, ...] = ()
    """Names of egress routes, in order. The next one is used if the previous ones fail."""
    hosts: tuple[str, ...] = ()
    """Host names, without their subdomains."""
    domains: tuple[str, ...] = ()
    """Hosts and domains, including their subdomains."""
    suffixes: tuple[str, ...] = ()
    """Ends of host names, such as `de` or `co.uk`."""
    crawls: tuple[str, ...] = ()
    """Names of crawls."""
    after: tuple[int, ...] = ()
    """403 or 429: use this rule only for the attempt after such a response. That attempt waits
    for its own turn, and rules with `after` are checked first for it."""


@dataclass(frozen=True, slots=True)
class EgressSettings:
    """
    Proxies and addresses through which requests leave (docs/fetching.md#egress-routes).

    The first of `[[egress.rules]]` that matches a URL decides. If none matches, `fetch.proxy` is
    used if it is set, and otherwise `direct`. Each egress route has a table `[egress.ways.NAME]`.
    """

    ways: Mapping[str, WaySettings] = field(default_factory=dict)
    """Egress routes by name. `direct` and `proxy` (`fetch.proxy`) need no entry."""
    rules: tuple[EgressRule, ...] = ()
    """Rules, in the order in which they are checked."""


def egress_problems(egress: EgressSettings, fetch_proxy: str) -> Iterator[str]:
    """Yield one line for each invalid value. The lines contain no secrets."""
    for name, way in egress.ways.items():
        prefix = f"egress.ways.{name}"
        if not _NAME.fullmatch(name) or name in BUILT_IN:
            yield (
                f"egress.ways: a name must be up to 40 lower-case letters, digits, - and _, and "
                f"not {' or '.join(BUILT_IN)}, got {name[:60]!r}"
            )
        if bool(way.addresses) == bool(way.proxy):
            yield f"{prefix}: needs either addresses or proxy"
        yield from _address_problems(prefix, way)
        if way.proxy:
            yield from _proxy_problems(prefix, way)
        elif way.login or way.resolve_at_proxy:
            yield f"{prefix}: login and resolve_at_proxy need proxy"
    known_routes = {*egress.ways, "direct", *(("proxy",) if fetch_proxy else ())}
    for number, rule in enumerate(egress.rules, 1):
        yield from _rule_problems(f"egress.rules[{number}]", rule, known_routes)


def _address_problems(prefix: str, way: WaySettings) -> Iterator[str]:
    families = []
    for text in way.addresses:
        try:
            families.append(ipaddress.ip_address(text).version)
        except ValueError:
            yield f"{prefix}.addresses: {text!r} is not an IP address"
    if len(set(families)) < len(families):
        yield (
            f"{prefix}.addresses: must be at most one IPv4 and one IPv6 address; "
            "add another egress route"
        )


def _proxy_problems(prefix: str, way: WaySettings) -> Iterator[str]:
    text = _PLACEHOLDER.sub("x", way.proxy)
    try:
        parts = urlsplit(text)
        is_valid = parts.scheme in PROXY_SCHEMES and parts.hostname and parts.port
        has_login = "@" in text
        is_valid = is_valid and parts.path in ("", "/") and not parts.query
    except ValueError:
        is_valid, has_login = None, "@" in text
    if has_login:  # the message must not contain the proxy's URL
        yield f'{prefix}.proxy: must have no login; set login = "env:NAME" or "file:PATH"'
    elif not is_valid:
        schemes = ", ".join(f"{scheme}://host:port" for scheme in PROXY_SCHEMES)
        yield f"{prefix}.proxy: must be {schemes}, got {way.proxy[:100]!r}"
    for name in _PLACEHOLDER.findall(way.proxy):
        if name not in PLACEHOLDERS:
            yield f"{prefix}.proxy: {{{name[:40]}}} is not one of {', '.join(PLACEHOLDERS)}"
    if way.login and not _LOGIN.fullmatch(way.login):
        yield f"{prefix}.login: must be env:NAME or file:PATH (its value is not shown)"
    if way.session_s < 1:
        yield f"{prefix}.session_s: must be at least 1, got {way.session_s:g}"


def _rule_problems(prefix: str, rule: EgressRule, known_routes: set[str]) -> Iterator[str]:
    if not rule.ways:
        yield f"{prefix}.ways: must name at least one egress route"
    for name in rule.ways:
        if name not in known_routes:
            yield f"{prefix}.ways: {name!r} is not one of {', '.join(sorted(known_routes))}"
    for status in rule.after:
        if status not in _RETRY_STATUSES:
            yield (
                f"{prefix}.after: must be 403 or 429, got {status}; no other response changes "
                "the route, and robots.txt always applies"
            )
    for setting in ("hosts", "domains", "suffixes"):
        for name in getattr(rule, setting):
            if not _SUFFIX.fullmatch(name):
                yield (
                    f"{prefix}.{setting}: {name!r} must be a name in lower case, "
                    "without * or a leading dot"
                )
