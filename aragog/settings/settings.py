"""All settings in one value."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from aragog.secret import SecretUrl
from aragog.settings import socket_folder
from aragog.settings.sections.crawling import (
    FetchSettings,
    PipelineSettings,
    PolitenessSettings,
    RenderingSettings,
    WorkerSettings,
)
from aragog.settings.sections.operation import CrawlLogSettings, LogSettings, StandaloneSettings
from aragog.settings.sections.servers import BrokerSettings, RedisSettings
from aragog.settings.sections.serving import ServingSettings, WebhookSettings
from aragog.settings.sections.storage import ContentSettings, RefreshSettings, StoreSettings

# The maximum of unix(7).
MAX_SOCKET_PATH_BYTES = 107


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings. Immutable. Functions receive only the section that they use."""

    data_dir: Path = Path("var")
    """Folder for all data of the standalone system."""
    site_rules_file: Path | None = None
    """TOML file of query parameters to keep or drop by site (docs/urls.md); must be the same on all
    machines."""
    broker: BrokerSettings = field(default_factory=BrokerSettings)
    redis: RedisSettings = field(default_factory=RedisSettings)
    politeness: PolitenessSettings = field(default_factory=PolitenessSettings)
    fetch: FetchSettings = field(default_factory=FetchSettings)
    rendering: RenderingSettings = field(default_factory=RenderingSettings)
    store: StoreSettings = field(default_factory=StoreSettings)
    content: ContentSettings = field(default_factory=ContentSettings)
    refresh: RefreshSettings = field(default_factory=RefreshSettings)
    pipeline: PipelineSettings = field(default_factory=PipelineSettings)
    serving: ServingSettings = field(default_factory=ServingSettings)
    webhooks: WebhookSettings = field(default_factory=WebhookSettings)
    workers: WorkerSettings = field(default_factory=WorkerSettings)
    crawl_log: CrawlLogSettings = field(default_factory=CrawlLogSettings)
    logs: LogSettings = field(default_factory=LogSettings)
    standalone: StandaloneSettings = field(default_factory=StandaloneSettings)

    @property
    def redis_socket(self) -> Path:
        """
        The unix socket of the private redis-server.

        It is in `data_dir`. If that path is too long for a unix socket (107 bytes, unix(7)), it is
        in a separate folder in the temporary directory.
        """
        data_dir = self.data_dir.absolute()
        path = data_dir / "redis" / "redis.sock"
        if len(os.fsencode(path)) <= MAX_SOCKET_PATH_BYTES:
            return path
        name = hashlib.sha256(os.fsencode(data_dir)).hexdigest()[:16]
        return Path(tempfile.gettempdir()) / f"aragog-{os.getuid()}-{name}" / "redis.sock"

    @property
    def private_redis(self) -> bool:
        """True when an empty setting selects the private redis-server."""
        return not (self.redis.url and self.broker.url)

    def resolved(self) -> Settings:
        """
        Return a copy in which empty settings have their effective values.

        Raises:
            ConfigError: the folder of the private redis-server's socket belongs to another user.
        """
        socket = self.redis_socket
        if self.private_redis and socket.parent.parent != self.data_dir.absolute():
            socket_folder.claim(socket.parent)
        redis_url = self.redis.url or SecretUrl(f"unix://{socket}?db=0")
        broker_url = self.broker.url or SecretUrl(f"pinlater+socket://{socket}?virtual_host=1")
        return dataclasses.replace(
            self,
            redis=dataclasses.replace(self.redis, url=redis_url),
            broker=dataclasses.replace(self.broker, url=broker_url),
            politeness=dataclasses.replace(
                self.politeness, limiter_urls=self.politeness.limiter_urls or (redis_url,)
            ),
        )
