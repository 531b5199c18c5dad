"""How operations read the store, with or without a standby (`aragog.api.server.hedging`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from aragog.api.operations.large_reads import BoundedRead
from aragog.urlstore.store import UrlStore


class HedgedResult(NamedTuple):
    """The result of a hedged read."""

    value: Any
    from_standby: bool


class ReadStore(Protocol):
    """Reads from the store or its standby."""

    def __call__(self, call: Callable[[UrlStore], Any], /) -> HedgedResult: ...


def unhedged(store: UrlStore) -> ReadStore:
    """Return a reader for a store without a standby. It limits large reads with `BoundedRead`."""

    def read(call: Callable[[UrlStore], Any]) -> HedgedResult:
        with BoundedRead():
            return HedgedResult(call(store), from_standby=False)

    return read
