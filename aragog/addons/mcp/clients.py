"""The clients of `aragog mcp --port`: one per token, for the most recently used tokens."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from aragog.client import Client

MAX_CLIENTS = 16
POOL_SIZE = 4


@dataclass(slots=True)
class _ClientEntry:
    client: Client
    users: int = 0
    is_dropped: bool = False
    """True once the client was removed from the pool. Its last user then closes it."""


class TokenClients:
    """
    Clients by token, shared by threads.

    Args:
        open_client: creates a token's client, without connecting yet.
        max_clients: how many clients to keep.
    """

    def __init__(
        self, open_client: Callable[[str | None], Client], max_clients: int = MAX_CLIENTS
    ) -> None:
        self._open = open_client
        self._max_clients = max_clients
        self._entries: OrderedDict[str | None, _ClientEntry] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._entries)

    @contextmanager
    def client(self, token: str | None) -> Iterator[Client]:
        """
        Yield the client for a token.

        Raises:
            AccessDenied: the server does not know the token; its client is not kept.
            ConfigError: the token is malformed.
            TransientError: the server does not respond.
        """
        entry = self._acquire(token) or self._add(token, self._open_checked(token))
        try:
            yield entry.client
        finally:
            self._release(entry)

    def close(self) -> None:
        """Close all idle clients. Each other client is closed by its last user."""
        with self._lock:
            unused = [self._drop(token) for token in list(self._entries)]
        _close(unused)

    def _open_checked(self, token: str | None) -> Client:
        client = self._open(token)
        try:
            client.token_view()
        except BaseException:
            client.close()
            raise
        return client

    def _acquire(self, token: str | None) -> _ClientEntry | None:
        with self._lock:
            entry = self._entries.get(token)
            if entry is not None:
                entry.users += 1
                self._entries.move_to_end(token)
            return entry

    def _add(self, token: str | None, client: Client) -> _ClientEntry:
        unused: list[_ClientEntry | None] = []
        with self._lock:
            entry = self._entries.get(token)
            if entry is None:
                entry = self._entries[token] = _ClientEntry(client)
            else:  # another thread added it first
                unused.append(_ClientEntry(client))
            entry.users += 1
            while len(self._entries) > self._max_clients:
                unused.append(self._drop(next(iter(self._entries))))
        _close(unused)
        return entry

    def _drop(self, token: str | None) -> _ClientEntry | None:
        """Remove a client, and return it if nobody uses it. The caller must hold the lock."""
        entry = self._entries.pop(token)
        entry.is_dropped = True
        return None if entry.users else entry

    def _release(self, entry: _ClientEntry) -> None:
        with self._lock:
            entry.users -= 1
            is_unused = entry.is_dropped and not entry.users
        if is_unused:
            entry.client.close()


def _close(unused: list[_ClientEntry | None]) -> None:
    for entry in unused:
        if entry is not None:
            entry.client.close()
