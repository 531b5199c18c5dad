"""
The record of a fetch, and its outcomes. Failures of sites are values, not exceptions.

To add a field, add it here and where it is measured (`aragog.crawl.fetcher.attempt`), then run
`scripts/thrift_contract.py` to add it to the Thrift contract.

Durations are in milliseconds; `…_at_ms` is in milliseconds since the epoch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from operator import attrgetter
from types import NoneType
from typing import Any, NamedTuple, get_args, get_type_hints

from aragog.fetch_record.causes import DeferralCause, RefusalCause
from aragog.fetch_record.known_fields import known_fields, unknown_fields

Headers = tuple[tuple[str, str], ...]
MAX_NAME_CHARS = 40
"""Maximum length of an outcome's name."""


@dataclass(frozen=True, slots=True)
class Hop:
    """A redirect that was followed."""

    url: str
    """The URL that redirected, normalized."""
    status: int
    target: str
    """The redirect target, normalized."""
    latency_ms: float | None = None
    """From sending the request to receiving all response headers."""
    headers: Headers = ()
    """The headers of the redirect, in order, with names as sent."""

    @property
    def permanent(self) -> bool:
        """True for 301 and 308."""
        return self.status in (301, 308)


class OutcomeKind(StrEnum):
    """Names of the outcomes, as in messages and in the store."""

    FETCHED = "Fetched"
    NOT_MODIFIED = "NotModified"
    DEFERRED = "Deferred"
    REDIRECTED = "Redirected"
    REFUSED = "Refused"
    BLOCKED = "Blocked"
    UNAUTHORIZED = "Unauthorized"
    """401: the origin requires credentials."""
    PAYMENT_REQUIRED = "PaymentRequired"
    """402: the origin requires payment. aragog never pays."""
    FORBIDDEN = "Forbidden"
    """403: the origin forbids access."""
    UNAVAILABLE_LEGALLY = "UnavailableLegally"
    """451: the page is blocked for legal reasons (RFC 7725)."""
    GONE = "Gone"
    BUSY = "Busy"
    UNREACHABLE = "Unreachable"
    TOO_LARGE = "TooLarge"
    UNREADABLE = "Unreadable"
    RESERVED = "Reserved"
    """The site does not allow the page for the crawl's purposes, so it is not stored."""

    @classmethod
    def read(cls, name: str) -> OutcomeKind:
        """
        Return the outcome with this name. For a name from a newer version, this returns a value
        that is not equal to any member.

        Raises:
            ValueError: `name` is not an identifier, or is too long.
        """
        if name in cls.__members__.values():
            return cls(name)
        if not str(name).isidentifier() or len(name) > MAX_NAME_CHARS:
            raise ValueError(f"not the name of an outcome: {str(name)[:100]!r}")
        kind = str.__new__(cls, name)
        kind._name_ = kind._value_ = name
        return kind


class UnreachableKind(StrEnum):
    """Why there was no usable response to a request."""

    DNS = "dns"
    CONNECT = "connect"
    TLS = "tls"
    TIMEOUT = "timeout"
    RESET = "reset"
    PROTOCOL = "protocol"
    """The response is not valid HTTP."""
    REDIRECT = "redirect"
    """Too many redirects, a redirect loop, or an invalid target."""
    STATUS = "status"
    """A 5xx, or another status that cannot be the response to this request."""
    INTERNAL = "internal"
    """aragog's own code failed on the response."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchRecord:
    """
    One fetch of a URL. None means that a value was not measured, or that there was no response.

    The crawl log has a column for each scalar value.
    """

    url: str
    """The requested URL, normalized."""
    outcome: OutcomeKind
    final_url: str = ""
    """The URL of the last response, normalized. Equals `url` without redirects."""
    fetched_at_ms: int = 0
    """When the fetch started. Workers use the Redis server's clock."""
    status: int | None = None
    """Status of the last response. None without a usable response."""
    reason: str | None = None
    """Why the fetch returned no page."""
    attempts: int = 1
    """Number of attempts. All but the last one failed temporarily."""
    headers: Headers = ()
    """Headers of the last response, in order, with names as sent."""
    hops: tuple[Hop, ...] = ()
    dns_ms: float | None = None
    """Duration of the DNS lookup for the last request. Like `connect_ms`, None on a reused
    connection."""
    connect_ms: float | None = None
    first_byte_ms: float | None = None
    """From sending the last request to receiving all response headers."""
    total_ms: float = 0.0
    """Duration of the whole fetch, including redirects and the waits before them.

    If a redirect must wait for over a second, a later job continues the fetch and measures its own
    duration.
    """
    address: str | None = None
    """The IP address of the last server."""
    tls: str | None = None
    """TLS version. None for plain HTTP."""
    http_version: str | None = None
    """HTTP version of the last response: `1.1` or `2`."""
    content_type: str | None = None
    """The Content-Type header as sent."""
    body_bytes: int = 0
    """Size of the decoded body."""
    truncated: bool = False
    """True if the body is incomplete because of a size limit, an early end, or invalid data."""
    crawler_price: str | None = None
    """The price in a 402 response (Crawler-Price), such as `USD 0.01`."""
    robots_preferences: str | None = None
    """What robots.txt states about the use of the page, one statement per line: `ai-train=n
    (robots.txt line 4, Content-Usage: train-ai=n)`. If it states nothing, this is empty for a page,
    and None for a fetch without a page."""
    page_preferences: str | None = None
    """What the page's own headers and elements state, in the same format. None if no page was
    read."""
    rendering: str | None = None
    """`rendered`, or why the page could not be rendered. None if no browser was used."""
    cause: str | None = None
    """Why the request was deferred or refused: a value of `DeferralCause` or `RefusalCause`,
    possibly of a newer version. Otherwise None."""
    way: str | None = None
    """The egress route of the last request: its name in `egress.ways`. None if direct."""
    _unknown: Mapping[str, Any] = field(default_factory=dict, hash=False, repr=False)
    """Fields from a newer version. orjson skips a field whose name starts with an underscore."""

    def header(self, name: str) -> str | None:
        lower_name = name.lower()
        return next((v for k, v in self.headers if k.lower() == lower_name), None)

    @classmethod
    def of(cls, outcome: FetchRecord, **changes: Any) -> FetchRecord:
        """
        Return an outcome as a plain record, without its class's fields, such as the body.

        Args:
            outcome: the outcome of a fetch.
            changes: values that replace fields of the outcome.
        """
        values = {name: getattr(outcome, name) for name in RECORD_FIELDS}
        return FetchRecord(**(values | changes), _unknown=outcome._unknown)

    @property
    def unknown(self) -> Mapping[str, Any]:
        """Fields from a newer version. They are kept when the record is passed on."""
        return self._unknown

    def plain(self) -> dict[str, Any]:
        """Return the record as JSON values for `read`, including fields from a newer version."""
        known = zip(RECORD_FIELDS, _values_of(self), strict=True)
        return {**self._unknown, **dict(known)}

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> FetchRecord:
        """
        Parse a record from JSON. Raises KeyError, TypeError or ValueError if it is invalid.

        Keeps fields and outcomes from a newer version.
        """
        values = known_fields(FetchRecord, raw)
        values["outcome"] = OutcomeKind.read(raw["outcome"])
        values["headers"] = _pairs(raw.get("headers"))
        values["hops"] = tuple(
            Hop(**{**known_fields(Hop, hop), "headers": _pairs(hop.get("headers"))})
            for hop in raw.get("hops") or ()
        )
        values["_unknown"] = unknown_fields(FetchRecord, raw)
        return FetchRecord(**values)


RECORD_FIELDS = tuple(part.name for part in fields(FetchRecord) if part.name != "_unknown")
_values_of = attrgetter(*RECORD_FIELDS)


class ScalarField(NamedTuple):
    """The type of a scalar field of `FetchRecord`."""

    type: type[str | int | float | bool]
    optional: bool
    """True if the value may be None."""


def _scalar_fields() -> dict[str, ScalarField]:
    """Return the types of the scalar fields by name, in order."""
    result = {}
    for name, hint in get_type_hints(FetchRecord).items():
        parts = get_args(hint) or (hint,)
        kind = str if parts[0] is OutcomeKind else parts[0]
        if name in RECORD_FIELDS and kind in (str, int, float, bool):
            result[name] = ScalarField(kind, NoneType in parts)
    return result


SCALAR_FIELDS = _scalar_fields()


def _pairs(raw: Iterable[Iterable[str]] | None) -> Headers:
    return tuple([(name, value) for name, value in raw or ()])


@dataclass(frozen=True, slots=True, kw_only=True)
class WithoutPage(FetchRecord):
    """An outcome without a page: there was no response, or it was not a page."""

    error_body: bytes = b""
    """The start of the decoded body of a 4xx or 5xx, if the caller requested it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure(WithoutPage):
    """An outcome that always has a reason."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched(FetchRecord):
    """A response with a body, complete or marked as truncated."""

    outcome: OutcomeKind = OutcomeKind.FETCHED
    body: bytes
    """The decoded body, at most `max_body_bytes` long."""
    truncated_why: str | None = None
    wire_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class NotModified(FetchRecord):
    """A 304: the page has not changed."""

    outcome: OutcomeKind = OutcomeKind.NOT_MODIFIED


@dataclass(frozen=True, slots=True, kw_only=True)
class Deferred(FetchRecord):
    """The request to `final_url` was not sent, but can be sent later."""

    outcome: OutcomeKind = OutcomeKind.DEFERRED
    cause: DeferralCause
    retry_at_ms: int | None = None
    """When to try again, by the limiter's clock for SLOT and VISIT_TIME, and by the fetcher's clock
    for EGRESS and SIGN_IN."""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Redirected(Deferred):
    """The origin redirected, but no request was sent to the last target, `target`."""

    outcome: OutcomeKind = OutcomeKind.REDIRECTED
    target: str
    given: str | None = None
    """The absolute target as the origin wrote it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused(Failure):
    """
    robots.txt or the site's statements about allowed uses exclude the URL, it was taken down, or it
    redirects to a URL that must not be requested.
    """

    outcome: OutcomeKind = OutcomeKind.REFUSED
    cause: RefusalCause


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocked(Failure):
    """
    The SSRF filter blocks the URL or its address, an operator blocked its host, or the User-Agent
    has no contact address.
    """

    outcome: OutcomeKind = OutcomeKind.BLOCKED
    cause: RefusalCause


@dataclass(frozen=True, slots=True, kw_only=True)
class Withheld(Failure):
    """The page exists, but the origin withholds it (401, 402, 403 or 451)."""


WITHHELD = {
    401: OutcomeKind.UNAUTHORIZED,
    402: OutcomeKind.PAYMENT_REQUIRED,
    403: OutcomeKind.FORBIDDEN,
    451: OutcomeKind.UNAVAILABLE_LEGALLY,
}
"""The outcome for each status by which an origin withholds an existing page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone(WithoutPage):
    """The page does not exist: 404, 410 or another 4xx without an outcome of its own."""

    outcome: OutcomeKind = OutcomeKind.GONE
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Busy(WithoutPage):
    """429 or 503: try again later."""

    outcome: OutcomeKind = OutcomeKind.BUSY
    retry_at_ms: int | None = None
    """The time in Retry-After, given as a date or in seconds. None without a usable value."""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreachable(Failure):
    """A DNS, connection, TLS or HTTP error, a timeout, or a 5xx other than 503."""

    outcome: OutcomeKind = OutcomeKind.UNREACHABLE
    kind: UnreachableKind


@dataclass(frozen=True, slots=True, kw_only=True)
class TooLarge(Failure):
    """A size limit was exceeded by headers, Content-Length or decompressed data."""

    outcome: OutcomeKind = OutcomeKind.TOO_LARGE


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable(Failure):
    """The response is not a page: its content type or encoding is not supported."""

    outcome: OutcomeKind = OutcomeKind.UNREADABLE


Outcome = (
    Fetched | NotModified | Deferred | Redirected | Refused | Blocked
    | Withheld | Gone | Busy | Unreachable | TooLarge | Unreadable
)  # fmt: skip
