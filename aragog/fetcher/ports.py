"""What the fetcher needs of others; see also `gate.Gate`."""

from __future__ import annotations

from typing import Any, Protocol


class Guard(Protocol):
    """What the adapter needs of `aragog.fetcher.guard.Guard`."""

    def vet_url(self, url: str) -> str | None:
        """Why `url` must not be fetched, by its text alone; None when nothing speaks against it."""

    def resolve(self, host: str, port: int) -> Any:
        """Vetted addresses."""
