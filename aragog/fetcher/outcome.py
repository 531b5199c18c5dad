"""
The outcomes of a fetch, as frozen dataclasses. Failures of the web are values, not exceptions.

    Fetched       a body, complete or marked as truncated
    NotModified   304 to a conditional request
    Redirected    stopped at a redirect whose target must wait for robots.txt or for a later slot
    Refused       robots.txt disallows the URL, or the gate denies a redirect target
    Blocked       the SSRF filter or an operator's block denies the address, port or name
    Gone          404, 410 and the other 4xx that mean there is no page
    Busy          429 or 503: try again at `retry_at_ms`
    Unreachable   DNS, connect, TLS, timeout, reset, invalid HTTP, other 5xx
    TooLarge      a size limit was exceeded before any usable content was read
    Unreadable    a content type or encoding that is not supported

Times are milliseconds; `…_at_ms` since the epoch.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypedDict

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Hop:
    """One redirect that was followed."""

    url: str
    """The URL that redirected, normalized."""
    status: int
    target: str
    """The redirect target, normalized."""
    headers: Headers = ()
    """Of the response that redirected, in order, names as sent."""
    latency_ms: float | None = None
    """From sending the request to the end of the response's head."""

    @property
    def permanent(self) -> bool:
        """True for 301 and 308."""
        return self.status in (301, 308)


class OutcomeKind(StrEnum):
    """The outcomes by name, as messages and the store carry them."""

    FETCHED = "Fetched"
    NOT_MODIFIED = "NotModified"
    REDIRECTED = "Redirected"
    REFUSED = "Refused"
    BLOCKED = "Blocked"
    GONE = "Gone"
    BUSY = "Busy"
    UNREACHABLE = "Unreachable"
    TOO_LARGE = "TooLarge"
    UNREADABLE = "Unreadable"


class UnreachableKind(StrEnum):
    """Why there is no usable response."""

    DNS = "dns"
    CONNECT = "connect"
    TLS = "tls"
    TIMEOUT = "timeout"
    RESET = "reset"
    PROTOCOL = "protocol"
    """The response is not valid HTTP/1.1."""
    REDIRECT = "redirect"
    """Too many redirects, a loop, or an invalid target."""
    STATUS = "status"
    """A 5xx, or another status that does not answer the request."""
    INTERNAL = "internal"
    """The pipeline's own code failed on the response."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Milliseconds for the last request; `total_ms` for the whole fetch. None: not measured."""

    dns_ms: float | None = None
    connect_ms: float | None = None
    first_byte_ms: float | None = None
    total_ms: float = 0.0


class CommonFacts(TypedDict):
    """The arguments that all outcomes take."""

    url: str
    final_url: str
    hops: tuple[Hop, ...]
    fetched_at_ms: int
    status: int | None
    headers: Headers
    address: str | None
    tls: str | None
    timing: Timing


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseOutcome:
    """The fields of every outcome."""

    url: str
    """The requested URL, normalized."""
    final_url: str = ""
    """The URL of the last response, normalized; `url` without redirects."""
    hops: tuple[Hop, ...] = ()
    fetched_at_ms: int = 0
    status: int | None = None
    """Of the last response; None without a usable response."""
    headers: Headers = ()
    """Of the last response, in order, names as sent."""
    address: str | None = None
    """The IP address of the server."""
    tls: str | None = None
    """TLS version; None for plain HTTP."""
    timing: Timing = field(default_factory=Timing)

    def header(self, name: str) -> str | None:
        """Return the first header of that name, ignoring case; None if there is none."""
        low = name.lower()
        return next((v for k, v in self.headers if k.lower() == low), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure(BaseOutcome):
    """The fields of outcomes that need a reason."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched(BaseOutcome):
    """The response has a body."""

    body: bytes
    """Decoded; at most `max_body_bytes`."""
    content_type: str | None = None
    """The header as sent."""
    truncated: bool = False
    """True when the body is incomplete: a size limit, a short body, an invalid chunk or stream."""
    truncated_why: str | None = None
    wire_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class NotModified(BaseOutcome):
    """The page has not changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Redirected(BaseOutcome):
    """Stopped before `target`, which must be requested later; `hops` leads to it."""

    target: str
    given: str | None = None
    """The absolute target as the origin spelled it."""
    retry_at_ms: int | None = None
    """The slot reserved for the target; None when it waits for something else."""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused(Failure):
    """robots.txt disallows the URL; or a redirect target is disallowed, taken down or blocked."""

    taken_down: bool = False
    """The target of a redirect was taken down."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocked(Failure):
    """The SSRF filter denies the URL or its address, or an operator blocked its host."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone(BaseOutcome):
    """The origin reports that the page does not exist."""

    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Busy(BaseOutcome):
    """The origin asks clients to come back later."""

    retry_at_ms: int | None = None
    """From Retry-After, in either form; None without a usable value."""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreachable(Failure):
    """There is no usable response."""

    kind: UnreachableKind


@dataclass(frozen=True, slots=True, kw_only=True)
class TooLarge(Failure):
    """A size limit was exceeded: headers, Content-Length, or a decompression bomb."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable(Failure):
    """The response is not a page: its content type or encoding is not supported."""


Outcome = (
    Fetched | NotModified | Redirected | Refused | Blocked
    | Gone | Busy | Unreachable | TooLarge | Unreadable
)  # fmt: skip


def kind_of(outcome: Outcome) -> OutcomeKind:
    """The name of an outcome's class."""
    return OutcomeKind(type(outcome).__name__)
