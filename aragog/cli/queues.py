"""`aragog queue …`: pinlater's commands on the broker and the queues of aragog's settings."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from aragog.errors import ConfigError, InvalidMessage
from aragog.pinlater.brokers import kind_of
from aragog.pinlater.cli import queue
from aragog.pinlater.models import JobInfo
from aragog.pinlater.transport.envelope import arguments
from aragog.pipeline.fetch_messages import urls_in
from aragog.pipeline.in_flight import InFlightSet
from aragog.pipeline.routing import Queue
from aragog.redis_kit.connect import connect
from aragog.settings import BrokerSettings, load_settings


class QueueOptions:
    """The broker of the settings, read when a command asks for it."""

    @property
    def _broker(self) -> BrokerSettings:
        broker = load_settings().resolved().broker
        if kind_of(broker.url) != "pinlater":
            raise ConfigError(
                f"broker.url: {broker.url.partition(':')[0]}:// has no queues to look into; "
                "use pinlater://, or that broker's own tools (docs/brokers.md)"
            )
        return broker

    @property
    def queues(self) -> tuple[str, ...]:
        """Queues that exist although nothing was ever in them."""
        return tuple(Queue)

    @property
    def broker_url(self) -> str:
        return self._broker.url

    @property
    def shards(self) -> tuple[str, ...]:
        return self._broker.shards

    def before_delete(self, _queue: str, jobs: Sequence[JobInfo]) -> None:
        """The URLs of deleted jobs are no longer on their way; whoever asks next is answered so."""
        urls: list[str] = []
        for job in jobs:
            # An unreadable message names no URL.
            with suppress(InvalidMessage):
                urls += [url for message in arguments(job.body) for url in urls_in(message)]
        settings = load_settings().resolved()
        with connect(settings.redis.url) as client:
            InFlightSet(client, prefix=settings.redis.prefix).clear(urls)


# pinlater does not know aragog's settings; its commands find this object in their context.
queue.context_settings["obj"] = QueueOptions()
