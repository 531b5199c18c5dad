"""
The settings by section: frozen values with their defaults, units in the names.

The string under a field is its meaning, from which docs/settings.md is made.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from aragog.secret import Secret, SecretUrl
from aragog.settings import socket_folder

# Of a unix socket: unix(7).
MAX_SOCKET_PATH_BYTES = 107
NO_URL = SecretUrl()


def _mask(section: object, **values: Any) -> None:
    """Give a frozen section its secrets as types that are not shown, however it was made."""
    for name, value in values.items():
        object.__setattr__(section, name, value)


def _urls(texts: tuple[str, ...]) -> tuple[SecretUrl, ...]:
    return tuple(SecretUrl(text) for text in texts)


@dataclass(frozen=True, slots=True)
class BrokerSettings:
    """Where jobs wait."""

    url: SecretUrl = NO_URL
    """Celery broker: `pinlater://`, `redis://` or `amqp://`. Empty: the private redis-server."""
    shards: tuple[SecretUrl, ...] = ()
    """Further Redis servers for jobs (`redis://…`), with `pinlater://` only."""
    claim_timeout_s: float = 60.0
    """Seconds after which a job of a killed worker runs again."""

    def __post_init__(self) -> None:
        _mask(self, url=SecretUrl(self.url), shards=_urls(self.shards))


@dataclass(frozen=True, slots=True)
class RedisSettings:
    """The Redis that holds the spool, the robots cache and, unless told otherwise, the slots."""

    url: SecretUrl = NO_URL
    """
    `redis://host:port/db`, `unix:///path` or `sentinel://host:port/service`. Empty: the private
    redis-server in `data_dir`.
    """
    prefix: str = "aragog:"
    """Put before every key."""

    def __post_init__(self) -> None:
        _mask(self, url=SecretUrl(self.url))


@dataclass(frozen=True, slots=True)
class PolitenessSettings:
    """How fast a domain may be asked."""

    qps: float = 10.0
    """Requests a second to one registered domain, unless an override says otherwise."""
    limiter_urls: tuple[SecretUrl, ...] = ()
    """Redis servers on the limiter's hash ring. Empty: `redis.url`."""
    overrides_file: Path | None = None
    """TOML file of per-domain rates; a change is picked up within 5 s."""
    blocked_hosts: tuple[str, ...] = ()
    """Hosts and domains of which nothing is fetched, with all hosts below them. Read at the start;
    `blocked = true` in the overrides file is picked up within 5 s."""
    wait_inline_ms: int = 1000
    """A slot up to this far ahead is waited for inside the task; a later one comes back by ETA."""
    horizon_s: float = 86_400.0
    """No slot is reserved further ahead than this."""
    slot_window_ms: int = 1000
    """A job later than this behind its reserved slot reserves anew."""
    crawl_delay_cap_s: float = 30.0
    """The longest `Crawl-delay` that is honoured."""
    robots_fresh_s: float = 86_400.0
    """Rules older than this are refreshed in the background (RFC 9309 asks for 24 h)."""
    robots_usable_s: float = 604_800.0
    """Rules older than this are not used."""
    robots_error_s: float = 600.0
    """How soon robots.txt is asked for again after an error."""
    robots_domain_max_bytes: int = 16_777_216
    """Redis memory for the rules of all hosts of one registered domain; the oldest give way."""
    obey_noindex: bool = False
    """Do not store the content of pages that ask for it (meta robots, X-Robots-Tag)."""
    obey_nofollow: bool = True
    """Do not follow links that ask for it."""

    def __post_init__(self) -> None:
        _mask(self, limiter_urls=_urls(self.limiter_urls))


@dataclass(frozen=True, slots=True)
class FetchSettings:
    """One polite GET."""

    user_agent: str = ""
    """Sent with every request and matched in robots.txt; must hold a contact URL or address."""
    deadline_s: float = 30.0
    """The whole fetch of one URL, redirects included, not one read of it."""
    connect_timeout_s: float = 5.0
    """To open one connection, TLS included."""
    read_timeout_s: float = 10.0
    """Between two reads."""
    min_bytes_per_s: int = 100
    """A body slower than this, after its first 5 s, is given up."""
    max_wire_bytes: int = 10_485_760
    """The body as sent."""
    max_body_bytes: int = 20_971_520
    """The body after decompression."""
    max_header_bytes: int = 65_536
    """All response headers of one answer together."""
    max_redirects: int = 10
    """Hops of one fetch."""
    content_types: tuple[str, ...] = (
        "text/html",
        "application/xhtml+xml",
        "text/plain",
        "application/xml",
        "text/xml",
        "application/json",
        "application/ld+json",
        "application/rss+xml",
        "application/atom+xml",
    )
    """Media types whose body is read; others are Unreadable. A missing one is sniffed."""
    allowed_ports: tuple[int, ...] = (80, 443)
    """Ports a fetch may connect to."""
    allowed_networks: tuple[str, ...] = ()
    """Networks that may be reached although they are not global, such as `127.0.0.0/8`."""
    host_map: Mapping[str, str] = field(default_factory=dict)
    """
    Host name, or `*.suffix`, to `address:port`, as curl's --resolve, for tests and the demo. An
    entry is the permission to reach that address, for that name alone.
    """
    proxy: SecretUrl = NO_URL
    """Proxy for every fetch (`http://…`); the guard vets the target all the same."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Further request headers, sent to every host: nothing secret. See `origin_headers`."""
    origin_headers: Mapping[str, Secret] = field(default_factory=dict)
    """
    Origin (`https://example.com`) to `Name: value`, one a line, such as an Authorization header.
    Sent to that scheme, host and port alone, and not after a redirect from another origin.
    """
    basic_auth: Mapping[str, Secret] = field(default_factory=dict)
    """
    Origin to `user:password`, bound in the same way; a bare host means `https://` alone.
    """
    cookies: bool = False
    """Keep cookies within one fetch's redirect chain."""
    verify_tls: bool = True
    """Refuse bad certificates."""
    concurrency: int = 16
    """URLs of one batch fetched at once."""

    def __post_init__(self) -> None:
        _mask(
            self,
            proxy=SecretUrl(self.proxy),
            origin_headers={key: Secret(text) for key, text in self.origin_headers.items()},
            basic_auth={key: Secret(text) for key, text in self.basic_auth.items()},
        )


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Where metadata, links and indexes live."""

    engine: Literal["sqlite", "hbase", "memory"] = "sqlite"
    """`sqlite` in `data_dir`, `hbase` through its Thrift gateways, or `memory` for tests."""
    sqlite_shards: int = 16
    """Files by the first key byte; fixed once data is there."""
    hbase_gateways: tuple[str, ...] = ("127.0.0.1:9090",)
    """`host:port` of each Thrift 1 gateway."""
    hbase_prefix: str = "aragog_"
    """Put before every table name."""
    hbase_timeout_ms: int = 5000
    """One call to a gateway; a slower one closes its connection."""
    hbase_pool_size: int = 8
    """Connections a process, over all gateways."""
    hbase_compression: Literal["NONE", "SNAPPY", "GZ", "LZ4", "ZSTD"] = "SNAPPY"
    """Of new tables."""
    max_field_name_bytes: int = 200
    """A field name, UTF-8."""
    max_field_bytes: int = 1_048_576
    """A field's value; larger things belong into the content store."""
    inlinks: Literal["all", "external", "none"] = "all"
    """Which inlinks are kept: all, only those from other registered domains, or none."""
    history: tuple[str, ...] = ("product.price", "product.availability")
    """Fields whose last values are kept."""
    history_length: int = 10
    """How many of them."""
    field_formats: Mapping[str, str] = field(default_factory=dict)
    """Field, or `prefix.*`, to its format: `text` (default), `integer`, `decimal`, `json`, `bytes`;
    extracted fields are `json` (docs/http.md)."""


@dataclass(frozen=True, slots=True)
class ContentSettings:
    """Where page content lives."""

    engine: Literal["folder", "s3"] = "folder"
    """`folder` in `data_dir`, or `s3`."""
    fsync: bool = False
    """Let every put into the folder wait for the disk; without it a power cut takes seconds."""
    s3_bucket: str = ""
    """Must exist; keys are hashes, so a bucket of its own is best."""
    s3_prefix: str = ""
    """Put before every key."""
    s3_endpoint: str = ""
    """Empty: AWS. Credentials come from the usual places of boto3."""
    s3_region: str = ""
    """Empty: from the environment."""
    s3_connect_timeout_s: float = 5.0
    """To open one connection to S3."""
    s3_read_timeout_s: float = 20.0
    """Between two reads of one answer of S3."""
    s3_attempts: int = 5
    """Tries of one operation; between them a wait that doubles, with jitter, 20 s at most."""
    s3_parallel: int = 8
    """Objects of a batch that a process puts at the same time."""
    s3_multipart_bytes: int = 8_388_608
    """Bodies from this size on are sent in parts of it (S3 asks for 5 MiB a part at least)."""
    s3_checksums: bool = True
    """Send and check CRCs; switch off for older servers that refuse them."""


@dataclass(frozen=True, slots=True)
class RefreshSettings:
    """When a page is fetched again. Intervals are seconds; per type in docs/refresh.md."""

    min_interval_s: float = 3600.0
    """Never sooner."""
    max_interval_s: float = 7_776_000.0
    """Never later (90 days)."""
    batch: int = 500
    """Due URLs claimed in one step."""
    gone_confirmations: int = 3
    """Spaced 404 or 410 answers before a page is given up."""
    intervals: Mapping[str, str] = field(default_factory=dict)
    """Type or field to its usual interval, such as `recipe = "30d"`; units are s, m, h and d."""
    effort: float = 1.0
    """What freshness is worth: twice as much makes intervals about 1.4 times shorter."""
    unwatched: bool = True
    """Refresh also URLs that nobody ever held; one whose last holder let go is never refreshed."""
    smooth_s: float = 600.0
    """What is overdue, after an outage say, is spread over about this."""
    domain_share: float = 0.5
    """Of a domain's rate, at most; what is left is for URLs that were never fetched."""
    changes_kept_s: float = 604_800.0
    """How long the change feed goes back."""


@dataclass(frozen=True, slots=True)
class PipelineSettings:
    """How URLs travel."""

    batch_size: int = 25
    """URLs one message carries."""
    spool_max_bytes: int | None = None
    """
    Bodies between two stages, in Redis: fetching stops at half of it and resumes at a quarter.
    Empty: a quarter of `maxmemory`, else a 64th of the memory of Redis' machine, 128 MiB at most.
    """
    spool_ttl_s: float = 3600.0
    """
    How long a body is kept that no waiting message names (on `pinlater://`, 300 s at most), or on
    other brokers any body. A URL whose body is gone is fetched again, which counts as an attempt.
    """
    max_attempts: int = 5
    """Fetches of one URL that fail for a passing reason before it is given up."""
    retry_first_s: float = 30.0
    """Before the second attempt; each further one waits twice as long, with jitter."""
    max_links_per_page: int = 1000
    """Outlinks kept of one page."""
    page_max_cpu_s: float = 10.0
    """CPU time for the analysis of one page; it is stored as Unreadable when it takes more."""
    page_max_memory_bytes: int = 1_073_741_824
    """Memory that the analysis of one page may add to its process."""


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """
    Batches that one worker of each role works on at once; `python -m workers ROLE --concurrency N`
    overrides them.
    """

    fetch: int = 16
    """Threads; each waits for slots and origins of one batch. 64 requests at once in any case."""
    robots: int = 8
    """Threads."""
    canonicalize: int | None = None
    """Processes. Empty: half of the cores, for fetch, store and Redis take the other half."""
    store: int = 2
    """Threads."""
    webhooks: int = 4
    """Threads."""


@dataclass(frozen=True, slots=True)
class WebhookSettings:
    """Telling others of changes."""

    allowed_hosts: tuple[str, ...] = ()
    """Hosts that are posted to without asking the guard: those of one's own network."""
    timeout_s: float = 10.0
    """One post in all: connecting, sending, the head of the response."""
    first_retry_s: float = 10.0
    """Before the second attempt; each further one waits twice as long, up to 6 h."""
    max_attempts: int = 16
    """Posts of one delivery before it is given up: more than a day."""


@dataclass(frozen=True, slots=True)
class ServingSettings:
    """Serving the UrlStore over HTTP (docs/http.md), and Flower."""

    host: str = "127.0.0.1"
    """Address the HTTP server listens on. Any other than loopback requires `serving.tokens`."""
    http_port: int = 8100
    """Port of the HTTP/JSON API."""
    flower_host: str = "127.0.0.1"
    """Address Flower listens on. Any other than loopback requires a login of Flower's."""
    flower_port: int = 5555
    """Flower."""
    flower_max_tasks: int = 10_000
    """Tasks that Flower remembers, 5 KB each; Flower's own default is 100,000."""
    allowed_hosts: tuple[str, ...] = ()
    """Names in the Host header that the API and Flower accept, beside localhost and IP addresses;
    `.example.com` includes subdomains."""
    tokens: tuple[str, ...] = ()
    """Bearer tokens, hashed: `name:scopes:sha256`, scopes joined by `+` (`aragog token` makes one).
    Empty: no token is required, on loopback only."""
    processes: int = 1
    """Processes of `aragog serve` that share the port; one a core serves most requests."""
    threads: int = 16
    """Threads of one process that read and write the store."""
    content_threads: int = 8
    """Threads of one process that read page content, so that a slow S3 delays no other read."""
    max_in_flight: int = 256
    """Store calls at once in one process; more are answered 503."""
    max_connections: int = 1024
    """Open connections of one process; more are closed."""
    max_body_bytes: int = 4_194_304
    """Of a request; a longer one is answered 413."""
    max_header_bytes: int = 65_536
    """Of a request, its first line included; more are answered 431."""
    deadline_ms: int = 1000
    """One request; a later one is answered 504."""
    content_deadline_ms: int = 10_000
    """One request of a page's content."""
    head_timeout_s: float = 10.0
    """Until the headers of a request are complete; also until its body is."""
    send_timeout_s: float = 30.0
    """A client that takes nothing of its response for so long is disconnected."""
    keep_alive_s: float = 75.0
    """An idle connection is closed after this."""


@dataclass(frozen=True, slots=True)
class StandaloneSettings:
    """The standalone system's own processes."""

    redis_max_memory_bytes: int | None = None
    """
    `maxmemory` of the private redis-server: above it nothing more is enqueued, and nothing is lost.
    Empty: half of the machine's memory.
    """


@dataclass(frozen=True, slots=True)
class Settings:
    """All of it. Immutable; sections are handed on singly, so a signature says what it uses."""

    data_dir: Path = Path("var")
    """Everything the standalone system keeps."""
    site_rules_file: Path | None = None
    """TOML file of query parameters to keep or drop by site (docs/urls.md); the same everywhere."""
    broker: BrokerSettings = field(default_factory=BrokerSettings)
    redis: RedisSettings = field(default_factory=RedisSettings)
    politeness: PolitenessSettings = field(default_factory=PolitenessSettings)
    fetch: FetchSettings = field(default_factory=FetchSettings)
    store: StoreSettings = field(default_factory=StoreSettings)
    content: ContentSettings = field(default_factory=ContentSettings)
    refresh: RefreshSettings = field(default_factory=RefreshSettings)
    pipeline: PipelineSettings = field(default_factory=PipelineSettings)
    serving: ServingSettings = field(default_factory=ServingSettings)
    webhooks: WebhookSettings = field(default_factory=WebhookSettings)
    workers: WorkerSettings = field(default_factory=WorkerSettings)
    standalone: StandaloneSettings = field(default_factory=StandaloneSettings)

    @property
    def redis_socket(self) -> Path:
        """
        Where the private redis-server listens: in `data_dir`, or, where that path is too long for
        a unix socket (107 bytes, unix(7)), in a folder of its own under the temporary directory.
        """
        data_dir = self.data_dir.absolute()
        path = data_dir / "redis" / "redis.sock"
        if len(os.fsencode(path)) <= MAX_SOCKET_PATH_BYTES:
            return path
        name = hashlib.sha256(os.fsencode(data_dir)).hexdigest()[:16]
        return Path(tempfile.gettempdir()) / f"aragog-{os.getuid()}-{name}" / "redis.sock"

    @property
    def private_redis(self) -> bool:
        """True when a setting that was left empty means the private redis-server."""
        return not (self.redis.url and self.broker.url)

    def resolved(self) -> Settings:
        """
        The same with everything that was left empty filled in.

        Raises:
            ConfigError: the private redis-server's socket would be in a folder that is not ours.
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
