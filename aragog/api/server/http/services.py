"""The services that the HTTP API uses in addition to the store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from aragog.api.operations.operation import OtherParts
from aragog.crawl.identity.published_files import Publication


@dataclass(frozen=True, slots=True, kw_only=True)
class Services(OtherParts):
    """The services of a server. Routes whose service is missing return 501."""

    embedded: bool = True
    """True if the store responds without waiting for a network."""
    publication: Publication | None = None
    """The documents published about the crawler, or None."""
    metrics: Callable[[], bytes] = bytes
    """Returns the text of /metrics."""
