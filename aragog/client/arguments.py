"""The keyword arguments that enqueue URLs, of producers and of `Client`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict


class EnqueueArguments(TypedDict, total=False):
    """Those of `Client.enqueue`, whose docstring describes them."""

    priority: int
    run_after: int | None
    depth: int
    refresh: bool
    sitemap: bool
    request_id: str


class EnqueueKeywords(EnqueueArguments, total=False):
    """Those of `Aragog.enqueue`, which can bound the links that are followed too."""

    include: Sequence[str]
    exclude: Sequence[str]
