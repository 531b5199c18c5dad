"""
What ends a fetch early, inside the fetcher only: `Fetcher.fetch` turns each into its outcome.

For users of a plain `requests.Session` the adapter turns them into requests' own exceptions.
"""

from __future__ import annotations


class Fault(Exception):
    """The root; `why` is one line for people."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class TransportError(Fault):
    """No usable answer. `kind` is one of those of `outcome.Unreachable`."""

    def __init__(self, kind: str, why: str) -> None:
        super().__init__(why)
        self.kind = kind


class LimitExceeded(Fault):
    """Past a cap before anything useful was read."""


class UnsupportedContent(Fault):
    """An answer that gives no page: its type, its encoding."""


class TargetBlocked(Fault):
    """The guard said no."""


class Deferred(Fault):
    """The gate said later, with the connection already open."""

    def __init__(self, retry_at_ms: int | None, why: str) -> None:
        super().__init__(why)
        self.retry_at_ms = retry_at_ms
