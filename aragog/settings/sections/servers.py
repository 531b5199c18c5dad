"""The broker and the shared Redis server."""

from __future__ import annotations

from dataclasses import dataclass

from aragog.secret import SecretUrl
from aragog.settings.masking import NO_URL, mask, secret_urls


@dataclass(frozen=True, slots=True)
class BrokerSettings:
    """The job broker."""

    url: SecretUrl = NO_URL
    """Celery broker: `pinlater://`, `redis://` or `amqp://`. Empty: the private redis-server."""
    shards: tuple[SecretUrl, ...] = ()
    """Additional Redis servers for jobs (`redis://…`), with `pinlater://` only."""
    claim_timeout_s: float = 60.0
    """Seconds after which a job of a killed worker runs again."""

    def __post_init__(self) -> None:
        mask(self, url=SecretUrl(self.url), shards=secret_urls(self.shards))


@dataclass(frozen=True, slots=True)
class RedisSettings:
    """
    The Redis server for the spool, the in-flight set, the robots cache and, by default, the rate
    limiter.
    """

    url: SecretUrl = NO_URL
    """
    `redis://host:port/db`, `unix:///path` or `sentinel://host:port/service`. Empty: the private
    redis-server in `data_dir`.
    """
    nodes: tuple[SecretUrl, ...] = ()
    """
    Additional Redis servers that share the spool and the in-flight set with `redis.url` by
    consistent hashing. Change the list on all machines at once, while nothing is in flight.
    """
    prefix: str = "aragog:"
    """Prefix of every key."""

    def __post_init__(self) -> None:
        mask(self, url=SecretUrl(self.url), nodes=secret_urls(self.nodes))
