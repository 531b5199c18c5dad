"""
The settings by section: frozen dataclasses with defaults, and units in the names.

The string below a field describes it; docs/settings.md is generated from these strings.
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

# The maximum of unix(7).
MAX_SOCKET_PATH_BYTES = 107
NO_URL = SecretUrl()


def _mask(section: object, **values: Any) -> None:
    """Convert the secrets of a frozen section to masked types."""
    for name, value in values.items():
        object.__setattr__(section, name, value)


def _urls(texts: tuple[str, ...]) -> tuple[SecretUrl, ...]:
    return tuple(SecretUrl(text) for text in texts)


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
        _mask(self, url=SecretUrl(self.url), shards=_urls(self.shards))


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
        _mask(self, url=SecretUrl(self.url), nodes=_urls(self.nodes))


@dataclass(frozen=True, slots=True)
class PolitenessSettings:
    """Rate limits and robots.txt."""

    qps: float = 10.0
    """Requests per second to one registered domain, unless an override sets another rate."""
    limiter_urls: tuple[SecretUrl, ...] = ()
    """Redis servers on the limiter's hash ring. Empty: `redis.url`."""
    overrides_file: Path | None = None
    """TOML file with rates of single domains; changes apply within 5 s."""
    blocked_hosts: tuple[str, ...] = ()
    """Hosts and domains that are never fetched, including all hosts below them. Read at the start;
    `blocked = true` in the overrides file applies within 5 s."""
    wait_inline_ms: int = 1000
    """Tasks wait for a slot up to this far ahead; for a later slot the job is rescheduled."""
    horizon_s: float = 86_400.0
    """The limiter reserves no slot further ahead than this."""
    slot_window_ms: int = 1000
    """A job that is later than this for its slot reserves a new one."""
    crawl_delay_cap_s: float = 30.0
    """The longest `Crawl-delay` that is applied."""
    robots_fresh_s: float = 86_400.0
    """Rules older than this are refreshed in the background (RFC 9309 asks for 24 h)."""
    robots_usable_s: float = 604_800.0
    """Rules older than this are not used."""
    robots_error_s: float = 600.0
    """robots.txt is requested again this long after an error."""
    robots_domain_max_bytes: int = 16_777_216
    """Redis memory for the rules of all hosts of one registered domain; the oldest are evicted."""
    obey_noindex: bool = False
    """Do not store the content of pages with `noindex` (meta robots, X-Robots-Tag)."""
    obey_nofollow: bool = True
    """Do not follow links with `nofollow`."""

    def __post_init__(self) -> None:
        _mask(self, limiter_urls=_urls(self.limiter_urls))


@dataclass(frozen=True, slots=True)
class FetchSettings:
    """HTTP requests of the crawl."""

    user_agent: str = ""
    """Sent with every request and matched in robots.txt; must contain a contact URL or address."""
    deadline_s: float = 30.0
    """Limit for the whole fetch of one URL, including redirects."""
    connect_timeout_s: float = 5.0
    """Limit for opening one connection, including TLS."""
    read_timeout_s: float = 10.0
    """Limit between two reads."""
    min_bytes_per_s: int = 100
    """Minimum rate of a body after its first 5 s."""
    max_wire_bytes: int = 10_485_760
    """Maximum size of a body as sent."""
    max_body_bytes: int = 20_971_520
    """Maximum size of a body after decompression."""
    max_header_bytes: int = 65_536
    """Maximum size of all headers of one response."""
    max_redirects: int = 10
    """Maximum redirects of one fetch."""
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
    """Media types that are read; others are Unreadable. A missing type is detected by sniffing."""
    allowed_ports: tuple[int, ...] = (80, 443)
    """Ports a fetch may connect to."""
    allowed_networks: tuple[str, ...] = ()
    """Networks that are allowed although they are not global, such as `127.0.0.0/8`."""
    host_map: Mapping[str, str] = field(default_factory=dict)
    """
    Host name, or `*.suffix`, to `address:port`, like curl's --resolve, for tests and the demo. An
    entry also allows that address, for that name only.
    """
    proxy: SecretUrl = NO_URL
    """Proxy for every fetch (`http://…`); the SSRF filter checks the target in any case."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Additional headers sent to every host; no secrets. See `origin_headers`."""
    origin_headers: Mapping[str, Secret] = field(default_factory=dict)
    """
    Origin (`https://example.com`) to `Name: value`, one per line, such as an Authorization header.
    Sent only to that scheme, host and port, and not after a redirect from another origin.
    """
    basic_auth: Mapping[str, Secret] = field(default_factory=dict)
    """
    Origin to `user:password`, sent to that origin only; a host without scheme means `https://`.
    """
    cookies: bool = False
    """Keep cookies during the redirects of one fetch."""
    verify_tls: bool = True
    """Reject invalid certificates."""
    concurrency: int = 64
    """Requests at once in one worker process; each is bounded by one fetch deadline."""

    def __post_init__(self) -> None:
        _mask(
            self,
            proxy=SecretUrl(self.proxy),
            origin_headers={key: Secret(text) for key, text in self.origin_headers.items()},
            basic_auth={key: Secret(text) for key, text in self.basic_auth.items()},
        )


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Storage of metadata, links and indexes."""

    engine: Literal["sqlite", "hbase", "memory"] = "sqlite"
    """`sqlite` in `data_dir`, `hbase` through its Thrift gateways, or `memory` for tests."""
    sqlite_shards: int = 16
    """Number of files; cannot change once there is data."""
    hbase_gateways: tuple[str, ...] = ("127.0.0.1:9090",)
    """`host:port` of each Thrift 1 gateway."""
    hbase_prefix: str = "aragog_"
    """Prefix of every table name."""
    hbase_timeout_ms: int = 5000
    """Limit for one call to a gateway; a slower call closes its connection."""
    hbase_pool_size: int = 8
    """Connections per process, over all gateways."""
    hbase_compression: Literal["NONE", "SNAPPY", "GZ", "LZ4", "ZSTD"] = "SNAPPY"
    """Compression of new tables."""
    max_field_name_bytes: int = 200
    """Maximum length of a field name in UTF-8."""
    max_field_bytes: int = 1_048_576
    """Maximum size of a field's value; larger data belongs in the content store."""
    inlinks: Literal["all", "external", "none"] = "all"
    """Inlinks to store: all, only those from other registered domains, or none."""
    history: tuple[str, ...] = ("product.price", "product.availability")
    """Fields whose previous values are kept."""
    history_length: int = 10
    """Number of values kept for each of them."""
    field_formats: Mapping[str, str] = field(default_factory=dict)
    """Field, or `prefix.*`, to its format: `text` (default), `integer`, `decimal`, `json`, `bytes`;
    extracted fields are `json` (docs/http.md)."""


@dataclass(frozen=True, slots=True)
class ContentSettings:
    """Storage of page content."""

    engine: Literal["folder", "s3"] = "folder"
    """`folder` in `data_dir`, or `s3`."""
    fsync: bool = False
    """Sync every put to disk; without it a power failure loses the last seconds."""
    s3_bucket: str = ""
    """An existing bucket; keys are hashes, so use a separate bucket."""
    s3_prefix: str = ""
    """Prefix of every key."""
    s3_endpoint: str = ""
    """Empty: AWS. boto3 finds the credentials in its usual places."""
    s3_region: str = ""
    """Empty: from the environment."""
    s3_connect_timeout_s: float = 5.0
    """Limit for opening one connection to S3."""
    s3_read_timeout_s: float = 20.0
    """Limit between two reads of one response of S3."""
    s3_attempts: int = 5
    """Attempts per operation; the delay between them doubles up to 20 s, with jitter."""
    s3_parallel: int = 8
    """Concurrent puts per process."""
    s3_multipart_bytes: int = 8_388_608
    """Bodies from this size are sent in parts of this size (S3 requires at least 5 MiB)."""
    s3_checksums: bool = True
    """Send and check CRCs; disable for older servers that reject them."""


@dataclass(frozen=True, slots=True)
class RefreshSettings:
    """When pages are fetched again. docs/refresh.md lists the intervals by type."""

    min_interval_s: float = 3600.0
    """The shortest interval."""
    max_interval_s: float = 7_776_000.0
    """The longest interval (90 days)."""
    batch: int = 500
    """Due URLs claimed at a time."""
    gone_confirmations: int = 3
    """404 or 410 responses, at increasing intervals, before refreshes of a page stop."""
    intervals: Mapping[str, str] = field(default_factory=dict)
    """Type or field to its usual interval, such as `recipe = "30d"`; units are s, m, h and d."""
    effort: float = 1.0
    """Weight of freshness: twice the value makes intervals about 1.4 times shorter."""
    unwatched: bool = True
    """Also refresh URLs that never had a watcher. A URL whose last watcher left is not."""
    smooth_s: float = 600.0
    """Overdue refreshes, for example after an outage, are spread over this time."""
    domain_share: float = 0.5
    """Maximum share of a domain's rate for refreshes; the rest is for new URLs."""
    changes_kept_s: float = 604_800.0
    """Retention of the change feed."""


@dataclass(frozen=True, slots=True)
class PipelineSettings:
    """Batches, spool and attempts of the pipeline."""

    batch_size: int = 25
    """URLs per message."""
    spool_max_bytes: int | None = None
    """
    Redis memory for bodies between two stages: fetching stops at half of it and resumes at a
    quarter. Empty: a quarter of `maxmemory`, else 1/64 of the memory of the Redis machine, at most
    128 MiB.
    """
    spool_ttl_s: float = 3600.0
    """
    Lifetime of a body: on `pinlater://` of one that no waiting message needs (at most 300 s), on
    other brokers of any body. A URL whose body expired is fetched again and loses an attempt.
    """
    max_attempts: int = 5
    """Fetches of one URL that fail for a temporary reason before it is given up."""
    retry_first_s: float = 30.0
    """Delay before the second attempt; it doubles for each further one, with jitter."""
    max_links_per_page: int = 1000
    """Outlinks stored per page."""
    page_max_cpu_s: float = 10.0
    """CPU time for the analysis of one page; a page that needs more is stored as Unreadable."""
    page_max_memory_bytes: int = 1_073_741_824
    """Additional memory for the analysis of one page."""
    extractors: tuple[str, ...] = ()
    """Extractors of your own to run on each page, by entry point (docs/extending.md)."""
    page_ready_task: str = ""
    """Name of a Celery task of your own that gets each batch of stored pages. Empty: none."""
    page_ready_queue: str = "page-ready"
    """Queue for messages to `page_ready_task`."""


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """
    Concurrency of one worker of each role, in batches; `python -m aragog.workers ROLE
    --concurrency N` overrides it.
    """

    fetch: int = 16
    """Threads, each with one batch. At most 64 concurrent requests per worker."""
    robots: int = 8
    """Threads."""
    canonicalize: int | None = None
    """Processes. Empty: half of the cores; fetch, store and Redis use the other half."""
    store: int = 2
    """Threads."""
    webhooks: int = 4
    """Threads."""


@dataclass(frozen=True, slots=True)
class WebhookSettings:
    """Webhooks that report changes."""

    allowed_hosts: tuple[str, ...] = ()
    """Hosts that the SSRF filter does not check, such as those of the own network."""
    timeout_s: float = 10.0
    """Limit for one POST: connect, send, and the head of the response."""
    first_retry_s: float = 10.0
    """Delay before the second attempt; it doubles for each further one, up to 6 h."""
    max_attempts: int = 16
    """Attempts per delivery; 16 last more than a day."""


@dataclass(frozen=True, slots=True)
class ServingSettings:
    """The HTTP API of the UrlStore (docs/http.md), its Thrift services, and Flower."""

    host: str = "127.0.0.1"
    """Address of the HTTP server. An address other than loopback requires `serving.tokens`."""
    http_port: int = 8100
    """Port of the HTTP/JSON API."""
    thrift_port: int = 8101
    """Port of the Thrift services, on `serving.host`; 0: none (docs/thrift.md)."""
    standby_gateways: tuple[str, ...] = ()
    """`host:port` of gateways of a replica of the HBase store. Reads over HTTP and Thrift that are
    late or fail are sent there too, at most 2 % of them (docs/thrift.md); empty: none."""
    flower_host: str = "127.0.0.1"
    """Address of Flower. An address other than loopback requires a login in Flower."""
    flower_port: int = 5555
    """Port of Flower."""
    flower_max_tasks: int = 10_000
    """Tasks that Flower keeps in memory, 5 KB each; Flower's default is 100,000."""
    allowed_hosts: tuple[str, ...] = ()
    """Host headers that the API and Flower accept, besides localhost and IP addresses;
    `.example.com` includes subdomains."""
    tokens: tuple[str, ...] = ()
    """Bearer tokens, hashed: `name:scopes:sha256`, scopes joined by `+`, and perhaps `:rate` in
    requests/s; see `aragog token`. Empty: no token is required, on loopback only."""
    field_writers: Mapping[str, str] = field(default_factory=dict)
    """Field, or `prefix.*`, to the names of the tokens that may write and delete it, joined by `+`
    (docs/http.md); a field without an entry is open to every token with scope write."""
    tls_cert_file: Path | None = None
    """PEM file with the certificate and its chain; with it HTTP and Thrift use TLS alone."""
    tls_key_file: Path | None = None
    """PEM file with the private key of `tls_cert_file`; empty: it is in the same file."""
    access_log_share: float = 0.001
    """Share of requests, up to 1, in the access log; responses with status 5xx are always in it."""
    cors_origins: tuple[str, ...] = ()
    """Origins (`https://app.example.com`) whose pages may use the API in a browser."""
    processes: int = 1
    """Processes of `aragog serve` that share the port. One per core serves most requests."""
    threads: int = 16
    """Threads per process for the store."""
    content_threads: int = 8
    """Threads per process for page content, so that a slow S3 delays no other read."""
    max_in_flight: int = 256
    """Concurrent store calls per process; further requests receive 503."""
    max_waiting: int = 1000
    """Requests per process that wait for a fetch; further ones are answered with what is stored."""
    max_connections: int = 1024
    """Open connections per process; further ones are closed."""
    max_body_bytes: int = 4_194_304
    """Maximum body of a request; a larger one receives 413."""
    max_header_bytes: int = 65_536
    """Maximum size of the request line and headers; larger ones receive 431."""
    deadline_ms: int = 1000
    """Limit for one request, which then receives 504."""
    content_deadline_ms: int = 10_000
    """Limit for one request of page content."""
    head_timeout_s: float = 10.0
    """Limit for receiving the headers of a request, and for receiving its body."""
    send_timeout_s: float = 30.0
    """A client that reads nothing of its response for this long is disconnected."""
    keep_alive_s: float = 75.0
    """Idle connections are closed after this time."""


@dataclass(frozen=True, slots=True)
class CrawlLogSettings:
    """The crawl log: a row for each fetch, in Parquet files (docs/operations.md)."""

    engine: Literal["off", "folder", "s3"] = "off"
    """Where the files go. `s3` uses endpoint, region and limits of `[content]`."""
    folder: Path | None = None
    """Empty: `data_dir`/crawl-log. All workers of `upkeep` need the same folder."""
    s3_bucket: str = ""
    """An existing bucket; not that of `content.s3_bucket`."""
    s3_prefix: str = "crawl-log/"
    """Prefix of every key."""
    span_s: int = 300
    """Time that one file covers. Rows wait in Redis until then, 400 bytes each."""


@dataclass(frozen=True, slots=True)
class LogSettings:
    """Logs of all processes."""

    level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "WARNING"
    """`INFO` has a line for each URL in each stage, with its request id."""
    format: Literal["console", "json"] = "console"
    """`json`: one object a line."""
    max_bytes: int = 52_428_800
    """A log of the standalone system that is larger is rotated."""
    kept: int = 3
    """Rotated logs to keep of each process: `fetch.log.1` is the newest."""


@dataclass(frozen=True, slots=True)
class StandaloneSettings:
    """The standalone system."""

    redis_max_memory_bytes: int | None = None
    """
    `maxmemory` of the private redis-server: above it enqueueing is refused, and nothing is lost.
    Empty: half of the machine's memory.
    """


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
