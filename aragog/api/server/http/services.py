"""The services that the API uses in addition to the store; a missing one answers 501."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from aragog.api.operations.operation import OtherParts
from aragog.crawl.identity.published_files import Publication


@dataclass(frozen=True, slots=True, kw_only=True)
class Services(OtherParts):
    """The parts of one server besides its store: those of operations, and its own."""

    embedded: bool = True
    """The store answers without waiting for a network."""
    publication: Publication | None = None
    """The documents published about the crawler; None: nothing is published."""
    metrics: Callable[[], bytes] = bytes
    """Returns the text of /metrics."""
