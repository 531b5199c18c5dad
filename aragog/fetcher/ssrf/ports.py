"""The port through which the fetcher uses the SSRF filter."""

from __future__ import annotations

from typing import Protocol

from aragog.fetcher.ssrf.filter import Resolution


class AddressPolicy(Protocol):
    """The interface of `aragog.fetcher.ssrf.filter.SsrfFilter` that the fetcher uses."""

    def vet_url(self, url: str) -> str | None:
        """Return why the text of `url` forbids a fetch; None if it does not. Uses no DNS."""

    def resolve(self, host: str, port: int) -> Resolution:
        """Resolve `host` and return the addresses a connection may use."""
