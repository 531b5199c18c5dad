"""The keyword arguments that enqueue URLs, of producers and of `Client`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict


class EnqueueArguments(TypedDict, total=False):
    """The keyword arguments of `Client.enqueue`, whose docstring describes them."""

    priority: int
    run_after: int | None
    depth: int
    refresh: bool
    sitemap: bool
    request_id: str


class EnqueueKeywords(EnqueueArguments, total=False):
    """The keyword arguments of `Aragog.enqueue`, which can also filter followed links."""

    include: Sequence[str]
    exclude: Sequence[str]
