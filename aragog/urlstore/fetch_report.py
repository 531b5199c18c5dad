"""
Fetch reports: the facts of the last fetch of one URL, hop by hop. Pure.

A report belongs to the URL that was requested, so an alias has its own.
"""

from __future__ import annotations

from dataclasses import dataclass

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HopReport:
    """One redirect."""

    url: str
    """The URL that redirected, normalized."""
    status: int
    target: str
    """Where it redirected to, normalized."""
    latency_ms: float | None = None
    """From sending the request to the end of the response's head."""
    headers: Headers = ()
    """Of the response, in order, up to 4 KiB; cookies without their values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchReport:
    """The last fetch of one URL. Times in milliseconds; None: not measured, or no response."""

    url: str
    """The URL that was requested, normalized."""
    outcome: str
    """The name of the outcome, such as `Fetched` (aragog/fetcher/outcome.py)."""
    fetched_at_ms: int
    final_url: str
    """The URL of the last response, normalized."""
    status: int | None = None
    """Of the last response."""
    reason: str | None = None
    """Why there is no page."""
    attempts: int = 1
    """Fetches that it took; all but the last failed for a passing reason."""
    headers: Headers = ()
    """Of the last response, in order, up to 16 KiB; cookies without their values."""
    hops: tuple[HopReport, ...] = ()
    """The redirects, in order."""
    dns_ms: float | None = None
    """Of the last request, like `connect_ms`: None on a reused connection."""
    connect_ms: float | None = None
    first_byte_ms: float | None = None
    """From sending the last request to the end of the response's head."""
    total_ms: float = 0.0
    """
    Of the fetch, with its redirects and the waits for their slots.

    A redirect whose slot is more than a second away ends the measurement: the fetch continues as a
    later job, and it begins again there. Hops that came before it keep their own latencies.
    """
    address: str | None = None
    """The IP address of the last server."""
    tls: str | None = None
    """The TLS version; None for plain HTTP."""
    body_bytes: int = 0
    """Of the decoded body."""
    truncated: bool = False
    """The body is incomplete: a limit, or a connection that ended early."""


def from_json(raw: dict[str, object]) -> FetchReport:
    """The report of its JSON; raises KeyError, TypeError or ValueError if it is none."""
    fields = dict(raw)
    fields["headers"] = _headers(fields.get("headers"))
    hops: list[dict[str, object]] = fields.pop("hops", [])  # type: ignore[assignment]
    fields["hops"] = tuple(
        HopReport(**{**hop, "headers": _headers(hop.get("headers"))})  # type: ignore[arg-type]
        for hop in hops
    )
    return FetchReport(**fields)  # type: ignore[arg-type]


def _headers(raw: object) -> Headers:
    pairs: list[list[str]] = raw or []  # type: ignore[assignment]
    return tuple((name, value) for name, value in pairs)
