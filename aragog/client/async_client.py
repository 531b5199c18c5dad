"""The client of the UrlStore for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from aragog.client.store_client import Client

P = ParamSpec("P")
T = TypeVar("T")


def _in_thread(
    call: Callable[Concatenate[Client, P], T],
) -> Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, T]]:
    """The coroutine that makes this call of the client in a thread, with the same arguments."""

    @wraps(call)
    async def method(self: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.threads, partial(call, self.client, *args, **kwargs))

    return method


class AsyncClient:
    """
    `Client` for asyncio: calls run in threads, `pool_size` at once, and share the connections.

    Args:
        client: makes the calls.
        pool_size: how many run at once; further ones wait.
    """

    def __init__(self, client: Client, *, pool_size: int) -> None:
        self.client = client
        self.threads = ThreadPoolExecutor(pool_size, thread_name_prefix="aragog-client")

    get = _in_thread(Client.get)
    get_many = _in_thread(Client.get_many)
    put = _in_thread(Client.put)
    delete_fields = _in_thread(Client.delete_fields)
    remove = _in_thread(Client.remove)
    content = _in_thread(Client.content)
    watch = _in_thread(Client.watch)
    unwatch = _in_thread(Client.unwatch)
    fetch = _in_thread(Client.fetch)
    enqueue = _in_thread(Client.enqueue)
    _close = _in_thread(Client.close)

    async def aclose(self) -> None:
        """Close connections."""
        await self._close()
        self.threads.shutdown(wait=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()
