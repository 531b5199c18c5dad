"""`aragog queue …`: pinlater's commands for the broker and the queues in aragog's settings."""

from __future__ import annotations

from collections.abc import Sequence

from aragog.cli.data_folder import command_settings
from aragog.cli.terminal import verbosity
from aragog.crawl.pipeline.deleted_jobs import clear_in_flight
from aragog.crawl.pipeline.routing import Queue
from aragog.errors import ConfigError
from aragog.settings import BrokerSettings
from pinlater.brokers import kind_of
from pinlater.cli import queue
from pinlater.models import JobInfo


class QueueOptions:
    """The broker in the settings. The settings are read when they are needed."""

    @property
    def _broker(self) -> BrokerSettings:
        broker = command_settings().resolved().broker
        if kind_of(broker.url) != "pinlater":
            raise ConfigError(
                f"broker.url: {broker.url.partition(':')[0]}:// has no queues to inspect; "
                "use pinlater://, or that broker's own tools (docs/deployment.md#brokers)"
            )
        return broker

    @property
    def queues(self) -> tuple[str, ...]:
        """The queues that are listed even if they never had a job."""
        return tuple(Queue)

    @property
    def broker_url(self) -> str:
        return self._broker.url

    @property
    def shards(self) -> tuple[str, ...]:
        return self._broker.shards

    @property
    def quiet(self) -> bool:
        return verbosity.quiet

    def before_delete(self, queue: str, jobs: Sequence[JobInfo]) -> None:
        clear_in_flight(queue, jobs)


# pinlater's commands get aragog's settings from their context.
queue.context_settings["obj"] = QueueOptions()
