"""Where the queues are, for the group of commands that knows nothing of aragog's settings."""

from __future__ import annotations

from functools import cached_property

from aragog.errors import ConfigError
from aragog.pinlater.brokers import kind_of
from aragog.settings import BrokerSettings, load_settings


class Place:
    """The broker of the settings, read when a command asks for it."""

    @cached_property
    def _broker(self) -> BrokerSettings:
        broker = load_settings().resolved().broker
        if kind_of(broker.url) != "pinlater":
            raise ConfigError(
                f"broker.url: {broker.url.partition(':')[0]}:// has no queues to look into; "
                "use pinlater://, or that broker's own tools (docs/brokers.md)"
            )
        return broker

    @property
    def broker_url(self) -> str:
        return self._broker.url

    @property
    def shards(self) -> tuple[str, ...]:
        return self._broker.shards
