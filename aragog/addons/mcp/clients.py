"""The clients of `aragog mcp --port`: one per token, for the most recently used tokens."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from aragog.client import Client

MOST_CLIENTS = 16
POOL_SIZE = 4
"""Number of connections that each client keeps open."""


@dataclass(slots=True)
class _Kept:
    client: Client
    users: int = 0
    dropped: bool = False
    """True once it was dropped; its last user then closes it."""


class TokenClients:
    """
    Clients by token; threads share them.

    Args:
        open_client: creates the client for a token, without opening a connection yet.
        most: maximum number of clients to keep.
    """

    def __init__(
        self, open_client: Callable[[str | None], Client], most: int = MOST_CLIENTS
    ) -> None:
        self._open = open_client
        self._most = most
        self._kept: OrderedDict[str | None, _Kept] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._kept)

    @contextmanager
    def of(self, token: str | None) -> Iterator[Client]:
        """
        The client for a token, inside a `with` block.

        Raises:
            AccessDenied: the server does not know the token; its client is not kept.
            ConfigError: the token is malformed.
            TransientError: the server does not respond.
        """
        kept = self._used(token) or self._added(token, self._checked(token))
        try:
            yield kept.client
        finally:
            self._release(kept)

    def close(self) -> None:
        """Close all unused clients; the others are closed by their last users."""
        with self._lock:
            gone = [self._drop(token) for token in list(self._kept)]
        _close(gone)

    def _checked(self, token: str | None) -> Client:
        client = self._open(token)
        try:
            client.token_view()
        except BaseException:
            client.close()
            raise
        return client

    def _used(self, token: str | None) -> _Kept | None:
        with self._lock:
            kept = self._kept.get(token)
            if kept is not None:
                kept.users += 1
                self._kept.move_to_end(token)
            return kept

    def _added(self, token: str | None, client: Client) -> _Kept:
        gone: list[_Kept | None] = []
        with self._lock:
            kept = self._kept.get(token)
            if kept is None:
                kept = self._kept[token] = _Kept(client)
            else:  # another thread was faster
                gone.append(_Kept(client))
            kept.users += 1
            while len(self._kept) > self._most:
                gone.append(self._drop(next(iter(self._kept))))
        _close(gone)
        return kept

    def _drop(self, token: str | None) -> _Kept | None:
        """Remove a client; returns it if nobody uses it. Call with the lock held."""
        kept = self._kept.pop(token)
        kept.dropped = True
        return None if kept.users else kept

    def _release(self, kept: _Kept) -> None:
        with self._lock:
            kept.users -= 1
            over = kept.dropped and not kept.users
        if over:
            kept.client.close()


def _close(gone: list[_Kept | None]) -> None:
    for kept in gone:
        if kept is not None:
            kept.client.close()
