"""
Exceptions that end a fetch early. Internal to the fetcher.

`Fetcher.fetch` converts them into outcomes. For a plain `requests.Session`, the adapter converts
them into exceptions of the library requests.
"""

from __future__ import annotations

from aragog.crawl.fetcher.gate import Later
from aragog.fetch_record.causes import RefusalCause
from aragog.fetch_record.outcome import UnreachableKind


class Fault(Exception):
    """The base class. `reason` says in one line why the fetch ended."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class TransportError(Fault):
    """There is no usable response."""

    def __init__(self, kind: UnreachableKind, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind


class TargetUnreachable(TransportError):
    """A proxy could not reach the target, closed the connection, or did not respond in time."""


class RouteFailed(Fault):
    """The egress route itself failed before anything was sent, so the next one can be tried."""


class RouteRefusesTarget(Fault):
    """The egress route does not allow this target, so the next one can be tried."""


class LimitExceeded(Fault):
    """A size limit was exceeded before any usable content was read."""


class UnsupportedContent(Fault):
    """The response is not a page: its content type or encoding is not supported."""


class TargetBlocked(Fault):
    """The SSRF filter denied the target, or the User-Agent has no contact address."""

    def __init__(self, cause: RefusalCause, reason: str) -> None:
        super().__init__(reason)
        self.cause = cause


class NoPermit(Fault):
    """The connection was opened, but the gate granted no permit."""

    def __init__(self, later: Later) -> None:
        super().__init__(later.reason)
        self.later = later
