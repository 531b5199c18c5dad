"""The queues of a pinlater broker, on Flower's Broker page and in `/api/queues/length`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from aragog.pinlater.address import SCHEMES
from aragog.pinlater.admin import Admin


class PinLaterBroker:
    """The broker interface that Flower expects, for `pinlater://`. Created for each request."""

    def __init__(self, admin: Admin) -> None:
        self._admin = admin

    async def queues(self, names: Iterable[str]) -> list[dict[str, str | int]]:
        """
        The given queues, those that workers consume, and every other queue that holds jobs.

        `messages` counts PENDING and RUNNING jobs; `messages_ready` counts PENDING ones, which are
        `messages_due` and `messages_later`.

        Raises:
            BrokerUnavailable: no shard answers.
        """
        return await asyncio.to_thread(self._read, tuple(names))

    def _read(self, names: Sequence[str]) -> list[dict[str, str | int]]:
        return self._admin.messages(sorted({*names, *self._admin.queues()}))


def broker_for(url: str, options: Mapping[str, Any] | None) -> PinLaterBroker | None:
    """The broker for a URL with Celery's `broker_transport_options`; None if it is not pinlater."""
    admin = admin_for(url, options)
    return PinLaterBroker(admin) if admin else None


def admin_for(url: str, options: Mapping[str, Any] | None) -> Admin | None:
    """The admin of such a broker; None if it is not pinlater."""
    if url.partition("://")[0] not in SCHEMES:
        return None
    options = options or {}
    shards = tuple(options.get("shards") or ())
    return _admin(url, shards, options.get("global_keyprefix") or "")


@lru_cache(8)
def _admin(url: str, shards: tuple[str, ...], prefix: str) -> Admin:
    """Flower asks for a broker at each request; this cache keeps the connections open."""
    return Admin.connect(url, shards, prefix=prefix)


def install() -> None:
    """
    Make Flower's broker factory support `pinlater://`; a second call changes nothing.

    Flower also stops to show the application's default queue while it knows of no worker: such a
    queue may exist nowhere.
    """
    from flower.utils.broker import Broker  # noqa: PLC0415 - only in Flower's process
    from flower.views import BaseHandler  # noqa: PLC0415

    stock = Broker.__new__
    if getattr(stock, "knows_pinlater", False):
        return

    def new(cls: type[Any], broker_url: str, *args: Any, **kwargs: Any) -> Any:
        broker = broker_for(broker_url, kwargs.get("broker_options"))
        return stock(cls, broker_url, *args, **kwargs) if broker is None else broker

    new.knows_pinlater = True  # type: ignore[attr-defined] # marks it as installed
    Broker.__new__ = new
    stock_names = BaseHandler.get_active_queue_names

    def get_active_queue_names(self: Any) -> list[str]:
        if self.application.broker_uri.partition("://")[0] not in SCHEMES:
            return stock_names(self)  # type: ignore[no-any-return] # Flower has no types
        workers = self.application.workers.values()
        return sorted({q["name"] for info in workers for q in info.get("active_queues", ())})

    BaseHandler.get_active_queue_names = get_active_queue_names
