"""
The Python API for programs that enqueue URLs (`Aragog`) or use the store (`connect`).

    from aragog.client import connect

    with connect("thrift://127.0.0.1:8101", token="aragog_...") as client:
        record = client.get("http://shop.example/p/1", ["product.price"])

Names are imported on first use. This saves 0.1 s of CPU time in programs that only enqueue.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

# Imported now, because a later import of the module would replace the function of the same name.
from aragog.client.connect import connect, connect_async

if TYPE_CHECKING:
    from aragog.api.operations.graph_edges import GraphMutation
    from aragog.api.operations.values import FetchedPage, PageRecord
    from aragog.client.async_client import AsyncClient
    from aragog.client.producer import Aragog, Backlog
    from aragog.client.store_client import Client

__all__ = [
    "Aragog",
    "AsyncClient",
    "Backlog",
    "Client",
    "FetchedPage",
    "GraphMutation",
    "PageRecord",
    "connect",
    "connect_async",
]

_MODULES = {
    "Aragog": "aragog.client.producer",
    "AsyncClient": "aragog.client.async_client",
    "Backlog": "aragog.client.producer",
    "Client": "aragog.client.store_client",
    "FetchedPage": "aragog.api.operations.values",
    "GraphMutation": "aragog.api.operations.graph_edges",
    "PageRecord": "aragog.api.operations.values",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value
