"""
Everything one fetch can come to, as frozen values. The web's misbehaviour ends here, not in raises.

    Fetched       a body, whole or marked as truncated
    NotModified   304 to a conditional request
    Redirected    stopped at a redirect: its target must wait for rules or for a later slot
    Refused       robots.txt says no
    Blocked     the guard says no: an address, port or name that must not be reached
    Gone          404, 410 and the other answers that say there is no page (4xx)
    Busy          429, 503 and the like: come back at `retry_at_ms`
    Unreachable   DNS, connect, TLS, timeout, reset, broken HTTP, other 5xx
    TooLarge      past a byte cap before anything useful was read
    Unreadable    a content type, encoding or emptiness that gives no page

Times are milliseconds; `…_at_ms` since the epoch.
"""

from __future__ import annotations

from dataclasses import dataclass, field

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Hop:
    """One redirect that was followed."""

    url: str
    """Where the redirect came from, normalized."""
    status: int
    target: str
    """Where it led, normalized."""
    headers: Headers = ()

    @property
    def permanent(self) -> bool:
        """True for 301 and 308."""
        return self.status in (301, 308)


@dataclass(frozen=True, slots=True)
class Timing:
    """Milliseconds of the last hop's parts; `total_ms` is the whole fetch. None: not measured."""

    dns_ms: float | None = None
    connect_ms: float | None = None
    first_byte_ms: float | None = None
    total_ms: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseOutcome:
    """What every outcome tells."""

    url: str
    """The URL that was asked for, normalized."""
    final_url: str = ""
    """The URL that gave the answer, normalized; `url` when nothing redirected."""
    hops: tuple[Hop, ...] = ()
    fetched_at_ms: int = 0
    status: int | None = None
    """Of the last answer; None when there was none, or it broke off before it could be used."""
    headers: Headers = ()
    """Of the last answer, names as sent, in order."""
    address: str | None = None
    """The IP address that answered."""
    tls: str | None = None
    """Protocol version, None for plain HTTP."""
    timing: Timing = field(default_factory=Timing)

    def header(self, name: str) -> str | None:
        """The first header of that name, whatever its case."""
        low = name.lower()
        return next((v for k, v in self.headers if k.lower() == low), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched(BaseOutcome):
    """A body."""

    body: bytes
    """Decoded from its content encodings; at most `max_body_bytes`."""
    content_type: str | None = None
    """The header as sent."""
    truncated: bool = False
    """True when the body ended early: a cap, a short Content-Length, a broken chunk or stream."""
    truncated_why: str | None = None
    wire_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class NotModified(BaseOutcome):
    """The page is as it was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Redirected(BaseOutcome):
    """Stopped before `target`, which must be asked later; `hops` holds the way so far."""

    target: str
    given: str | None = None
    """The target as the origin spelled it, absolute."""
    retry_at_ms: int | None = None
    """The slot reserved for the target, None when it waits for something else."""
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused(BaseOutcome):
    """robots.txt says no."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocked(BaseOutcome):
    """The guard says no."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone(BaseOutcome):
    """There is no such page, says the origin."""

    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Busy(BaseOutcome):
    """The origin asks for patience."""

    retry_at_ms: int | None = None
    """From Retry-After, in either form; None when it said nothing usable."""
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreachable(BaseOutcome):
    """No usable answer. `kind`: dns, connect, tls, timeout, reset, protocol, redirect or status."""

    kind: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TooLarge(BaseOutcome):
    """Past a cap: too many header bytes, a declared length over the limit, a bomb."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable(BaseOutcome):
    """An answer without a page: a type that is not read, an unknown encoding."""

    why: str


Outcome = (
    Fetched | NotModified | Redirected | Refused | Blocked
    | Gone | Busy | Unreachable | TooLarge | Unreadable
)  # fmt: skip
