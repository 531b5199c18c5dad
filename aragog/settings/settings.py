"""All settings in one value."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aragog.errors import ConfigError
from aragog.runtime.secret import SecretUrl
from aragog.runtime.socket_paths import fits, short_folder
from aragog.settings.crawling import (
    FetchSettings,
    IdentitySettings,
    PipelineSettings,
    PolitenessSettings,
    PreferencesSettings,
    RefreshSettings,
    RenderingSettings,
    WorkerSettings,
)
from aragog.settings.egress import EgressSettings
from aragog.settings.servers import (
    BrokerSettings,
    ContentSettings,
    CrawlLogSettings,
    LogSettings,
    RedisSettings,
    StandaloneSettings,
    StoreSettings,
    TracingSettings,
)
from aragog.settings.serving import ServingSettings, WebhookSettings

_SOCKET_REMEDY = "set ARAGOG_DATA_DIR to a shorter path (which then contains the socket), or TMPDIR"


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings, in an immutable object. Functions only receive the section that they use."""

    data_dir: Path = Path("var")
    """Folder for all data of the standalone system."""
    site_rules_file: Path | None = None
    """TOML file that lists, by site, which query parameters to keep or drop (docs/urls.md). It must
    be the same on all machines."""
    extract: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Your own fields: for each host, field names with a CSS or XPath rule (docs/own-fields.md).
    They are stored as `site.FIELD`. A table in place of a rule describes an item kind."""
    broker: BrokerSettings = field(default_factory=BrokerSettings)
    redis: RedisSettings = field(default_factory=RedisSettings)
    politeness: PolitenessSettings = field(default_factory=PolitenessSettings)
    preferences: PreferencesSettings = field(default_factory=PreferencesSettings)
    fetch: FetchSettings = field(default_factory=FetchSettings)
    egress: EgressSettings = field(default_factory=EgressSettings)
    identity: IdentitySettings = field(default_factory=IdentitySettings)
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
    tracing: TracingSettings = field(default_factory=TracingSettings)
    standalone: StandaloneSettings = field(default_factory=StandaloneSettings)

    @property
    def redis_socket(self) -> Path:
        """
        The unix socket of the private redis-server.

        It is in `data_dir` or, if that path exceeds the 107 bytes of a unix socket (unix(7)), in a
        separate folder in the temporary directory or /tmp.
        """
        return self._socket("redis", "redis.sock")

    @property
    def private_redis(self) -> bool:
        """True if an empty `redis.url` or `broker.url` selects the private redis-server."""
        return not (self.redis.url and self.broker.url)

    @property
    def postgres_socket(self) -> Path:
        """The Unix socket of the private PostgreSQL server. See `redis_socket` for its folder."""
        return self._socket("postgres", ".s.PGSQL.5432")

    @property
    def private_postgres(self) -> bool:
        """True if an empty `store.dsn` selects the private PostgreSQL server."""
        return self.store.engine == "postgres" and not self.store.dsn

    @property
    def store_dsn(self) -> SecretUrl:
        """The URL of the store's PostgreSQL server, which may be the private one."""
        private = f"postgresql://aragog@/postgres?host={self.postgres_socket.parent}"
        return self.store.dsn or SecretUrl(private)

    def _socket(self, folder: str, name: str) -> Path:
        data_dir = self.data_dir.absolute()
        path = data_dir / folder / name
        if fits(path):
            return path
        digest = hashlib.sha256(os.fsencode(data_dir)).hexdigest()[:16]
        short = Path(f"aragog-{os.getuid()}-{digest}") / name
        return short_folder(len(os.fsencode(short))) / short

    def resolved(self) -> Settings:
        """
        Return a copy in which empty settings have their effective values.

        Raises:
            ConfigError: the folder of the private redis-server's socket belongs to another user.
        """
        socket = self.redis_socket
        if self.private_redis and socket.parent.parent != self.data_dir.absolute():
            claim_folder(socket.parent)
        redis_url = self.redis.url or SecretUrl(f"unix://{socket}?db=0")
        broker_url = self.broker.url or SecretUrl(f"pinlater+socket://{socket}?virtual_host=1")
        return dataclasses.replace(
            self,
            redis=dataclasses.replace(self.redis, url=redis_url),
            broker=dataclasses.replace(
                self.broker, url=broker_url, control=self.broker.control or redis_url
            ),
            politeness=dataclasses.replace(
                self.politeness, limiter_urls=self.politeness.limiter_urls or (redis_url,)
            ),
        )


def claim_folder(folder: Path) -> None:
    """
    Create a socket's folder with mode 0700, or check that it belongs to this user with that mode.

    Another user could guess the folder's name in the shared temporary directory, create it first
    and run a server there. The check does not follow links. Once the folder belongs to this user,
    the directory's sticky bit prevents others from replacing it.

    Raises:
        ConfigError: it belongs to another user, is accessible to others, is a link, or cannot be
            created.
    """
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        pass
    except OSError as error:
        raise ConfigError(
            f"data_dir: {folder} cannot be created ({error.strerror}); {_SOCKET_REMEDY}"
        ) from error
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode):
        reason = "is not a folder"
    elif status.st_uid != os.getuid():
        reason = f"belongs to user {status.st_uid}, not to {os.getuid()}"
    elif status.st_mode & 0o077:
        reason = f"has mode {stat.S_IMODE(status.st_mode):04o}, but needs 0700"
    else:
        return
    raise ConfigError(
        f"data_dir: {folder}, where a private server listens, {reason}; remove it, or "
        f"{_SOCKET_REMEDY}"
    )
