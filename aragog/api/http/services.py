"""The services that the API uses in addition to the store; a missing one answers 501."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from aragog.api.operation import OtherParts
from aragog.identity.published_files import Publication

Explain = Callable[[str], dict[str, Any]]
"""Explains a URL: `sections` with `title`, `problem` and `lines` of `name`, `text` and `note`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Services(OtherParts):
    """What one server uses beside its store: the parts of operations, and its own."""

    explain: Explain | None = None
    """Explains a URL on the look-up page; without it the page shows what is stored."""
    embedded: bool = True
    """The store answers without waiting for a network."""
    publication: Publication | None = None
    """What is published about the crawler; without it nothing is."""
    metrics: Callable[[], bytes] = bytes
    """Returns the text of /metrics."""
