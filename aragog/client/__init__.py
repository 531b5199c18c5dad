"""
The Python API for other programs: enqueue URLs (`Aragog`), read and write the store (`connect`).

    from aragog.client import connect

    with connect("thrift://127.0.0.1:8101", token="aragog_...") as client:
        record = client.get("http://shop.example/p/1", ["product.price"])
"""

from aragog.api.operations.graph_edges import GraphMutation
from aragog.api.operations.values import FetchedPage, PageRecord
from aragog.client.async_client import AsyncClient
from aragog.client.connect import connect, connect_async
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
