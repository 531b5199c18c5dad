"""
The kombu transport `pinlater://`.

A Celery user changes the broker URL; see `aragog.pinlater.address` for its forms. The modules
`channel`, `poller` and this one are the only ones that touch kombu below its public surface,
which is why kombu is pinned to one minor version.
"""

from __future__ import annotations

from typing import Any

from kombu.transport import redis as stock
from redis import exceptions

from aragog.errors import BrokerUnavailable
from aragog.pinlater import address
from aragog.pinlater.channel import Channel
from aragog.pinlater.poller import Poller


class Transport(stock.Transport):
    """`pinlater://`; see `aragog.pinlater.address` for its URLs."""

    Channel = Channel
    can_parse_url = True
    supports_batch_publish = True
    # A refusal that passes ends no worker: a server that is full, or a replica for the moment.
    connection_errors = (
        *stock.Transport.connection_errors,
        exceptions.OutOfMemoryError,
        exceptions.ReadOnlyError,
        BrokerUnavailable,
    )

    client: Any
    cycle: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.cycle = Poller()

    @property
    def redis_urls(self) -> tuple[str, ...]:
        """The servers named in the broker URL."""
        c = self.client
        if "://" in (c.hostname or ""):
            return address.redis_urls(c.hostname)
        user = f"{c.userid or ''}:{c.password}@" if c.password else ""
        path = str(c.virtual_host or "0").strip("/") or "0"
        return address.redis_urls(f"pinlater://{user}{c.hostname or ''}:{c.port or 6379}/{path}")

    def as_uri(self, uri: str, include_password: bool = False, mask: str = "**") -> str:
        if "://" not in uri:
            uri = f"pinlater://{uri}"
        elif uri.startswith("socket"):
            # kombu has taken the first half of `pinlater+socket` off.
            uri = f"pinlater+{uri}"
        return uri if include_password else address.masked(uri, mask)

    def register_with_event_loop(self, connection: Any, loop: Any) -> None:
        super().register_with_event_loop(connection, loop)
        self.cycle.attach(loop)
        for channel in self.channels:
            channel.book.gathering = True
        loop.on_tick.add(self.cycle.turn)

    def close_connection(self, connection: Any) -> None:
        for channel in self.channels:
            if self.cycle.hub is not None:
                channel.book.gathering = False
            channel.book.flush()
        if self.cycle.hub is not None:
            self.cycle.hub.on_tick.discard(self.cycle.turn)
        self.cycle.detach()
        super().close_connection(connection)
