"""
A server's connected clients. Their number is limited, in total and per address, and so is the time
for which a client may be slow.

An attacker can easily open many idle connections. A full server therefore closes an idle
connection, if possible one from the address with the most connections. It refuses a new client only
if all connections, or all from the client's address, are busy.
"""

from __future__ import annotations

import asyncio
import ipaddress
import time
from collections.abc import Iterable, Iterator
from operator import itemgetter
from typing import Protocol

from aragog.runtime.open_files import clients_within_limit
from aragog.settings import ServingSettings

_CHECK_INTERVAL_S = 1.0
_NETWORK_BITS = 64
"""An IPv6 client usually has all addresses in a /64 network."""


class ConnectedClient(Protocol):
    """A connection that counts towards the limits."""

    @property
    def idle_since_s(self) -> float | None:
        """The monotonic time at which it became idle, or None while it is handling a request."""

    def abort(self) -> None:
        """Close the connection at once."""

    def end_if_late(self, now_s: float) -> None:
        """Close the connection if the client is too slow or has been silent for too long."""


class Clients:
    """
    A server's connections. It must be used on the server's event loop.

    Args:
        settings: the maximum number of connections, and how long a client may be slow.
    """

    def __init__(self, settings: ServingSettings) -> None:
        self._max_clients = clients_within_limit(settings.max_connections)
        self._max_per_address = settings.max_connections_per_address or self._max_clients
        self._check_interval_s = min(
            _CHECK_INTERVAL_S, settings.head_timeout_s, settings.send_timeout_s
        )
        self._check_task: asyncio.Task[None] | None = None
        self._networks: dict[ConnectedClient, str] = {}
        self._by_network: dict[str, dict[ConnectedClient, None]] = {}

    def __len__(self) -> int:
        return len(self._networks)

    def __iter__(self) -> Iterator[ConnectedClient]:
        return iter(list(self._networks))

    def add(self, client: ConnectedClient, address: str) -> bool:
        """
        Count a new connection. If there are too many, close an idle one first. Returns False if the
        new connection cannot be accepted.
        """
        network = _network(address)
        same_network = self._by_network.get(network, {})
        if len(same_network) >= self._max_per_address and not self._close_idle(same_network):
            return False
        if len(self) >= self._max_clients and not self._close_any_idle():
            return False
        self._networks[client] = network
        self._by_network.setdefault(network, {})[client] = None
        return True

    def discard(self, client: ConnectedClient) -> None:
        network = self._networks.pop(client, None)
        if network is None:
            return
        same_network = self._by_network[network]
        del same_network[client]
        if not same_network:
            del self._by_network[network]

    def start(self) -> None:
        self._check_task = asyncio.get_running_loop().create_task(self._check_regularly())

    def stop(self) -> None:
        if self._check_task is not None:
            self._check_task.cancel()

    async def _check_regularly(self) -> None:
        while True:
            await asyncio.sleep(self._check_interval_s)
            now_s = time.monotonic()
            for client in self:
                client.end_if_late(now_s)

    def _close_any_idle(self) -> bool:
        largest = max(self._by_network.values(), key=len)
        return self._close_idle(largest) or self._close_idle(self._networks)

    def _close_idle(self, clients: Iterable[ConnectedClient]) -> bool:
        """Close the connection that has been idle the longest. Returns False if none is idle."""
        idle = [
            (since_s, client) for client in clients if (since_s := client.idle_since_s) is not None
        ]
        if not idle:
            return False
        _, client = min(idle, key=itemgetter(0))
        self.discard(client)
        client.abort()
        return True


def _network(address: str) -> str:
    """Return the address or, for IPv6, its network."""
    if ":" not in address:
        return address
    try:
        ip = ipaddress.IPv6Address(address.partition("%")[0])
    except ValueError:
        return address
    if ip.ipv4_mapped is not None:
        return str(ip.ipv4_mapped)
    return str(ipaddress.IPv6Network((ip, _NETWORK_BITS), strict=False))
