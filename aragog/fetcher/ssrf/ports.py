"""What the fetcher needs of the guard; see also `gate.Gate`."""

from __future__ import annotations

from typing import Protocol

from aragog.fetcher.ssrf.filter import Resolution


class AddressPolicy(Protocol):
    """`aragog.fetcher.ssrf.filter.AddressPolicy`, or a stand-in."""

    def vet_url(self, url: str) -> str | None:
        """Why `url` must not be fetched, by its text alone; None when nothing speaks against it."""

    def resolve(self, host: str, port: int) -> Resolution:
        """Where a connection to `host` may go."""
