"""Where a system keeps things: jobs and shared state, pages, the crawl log and logs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from aragog.runtime.secret import NO_URL, SecretUrl, mask, secret_urls


@dataclass(frozen=True, slots=True)
class BrokerSettings:
    """The job broker."""

    url: SecretUrl = NO_URL
    """
    Celery broker: `pinlater://`, `pinlater+postgresql://`, `redis://` or `amqp://`. Empty: the
    private redis-server.
    """
    shards: tuple[SecretUrl, ...] = ()
    """Additional servers for jobs (`redis://…` or `postgresql://…`), with `pinlater` only."""
    control: SecretUrl = NO_URL
    """
    The Redis server of broadcasts, events and replies, with `pinlater+postgresql://` only. Empty:
    that of `redis.url`.
    """
    claim_timeout_s: float = 60.0
    """Seconds after which a job of a killed worker runs again."""
    result_backend: SecretUrl = NO_URL
    """
    Where the outcomes of tasks go that a Celery caller waits for (`AsyncResult.get`), such as
    `redis://host:port/db`. Empty: nowhere; waiting for one is then an error.
    """

    def __post_init__(self) -> None:
        mask(
            self,
            url=SecretUrl(self.url),
            shards=secret_urls(self.shards),
            control=SecretUrl(self.control),
            result_backend=SecretUrl(self.result_backend),
        )


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


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Storage of metadata, links and indexes."""

    engine: Literal["sqlite", "postgres", "hbase", "memory"] = "sqlite"
    """`sqlite` in `data_dir`, `postgres`, `hbase` through its Thrift gateways, or `memory` for
    tests."""
    dsn: SecretUrl = NO_URL
    """
    The PostgreSQL of `postgres`: `postgresql://user:password@host:port/database`; libpq's own
    options pass (`sslmode`, several hosts). Empty: the private server in `data_dir`.
    """
    postgres_schema: str = "aragog"
    """The schema that holds the tables; lower-case letters, digits and underscores."""
    postgres_partitions: int = 8
    """Partitions of each large table, a power of two up to 256; applies when they are created."""
    postgres_pool_size: int = 8
    """Connections per process."""
    postgres_timeout_ms: int = 10_000
    """Limit for connecting, and for one call; a slower call closes its connection."""
    postgres_pooler: bool = False
    """A pooler that gives each transaction another connection (pgbouncer) is between: nothing is
    prepared, which takes the server 0.1 ms more a call."""
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
    max_record_bytes: int = 16_777_216
    """
    Maximum size of a record, and of a node or an edge of a graph: a write of an application that
    would exceed it is refused. What is fetched from a page is written whatever the record has.
    """
    max_record_fields: int = 2_000
    """Maximum number of fields of a record, and of properties of a node or an edge, likewise."""
    inlinks: Literal["all", "external", "none"] = "all"
    """Inlinks to store: all, only those from other registered domains, or none."""
    compactions: int = 4
    """
    Compactions of links that may run at one time, in all processes together: 1 to 64. One takes
    about 0.4 ms per page. While links wait, beat starts one more every three seconds. Keep it below
    the number of worker processes of `upkeep`, so that other upkeep is not delayed.
    """
    history: tuple[str, ...] = ("product.price", "product.availability")
    """Fields whose previous values are kept."""
    history_length: int = 10
    """Number of values kept for each of them."""
    indexed: tuple[str, ...] = ()
    """
    Fields by whose values pages are found (`UrlStore.pages.with_value`); every write indexes them,
    for a read and a row more. After a change run `aragog store repair`, which enters the pages that
    are stored already.
    """
    unique: tuple[str, ...] = ()
    """
    Fields whose values belong to one page at most: a `put` of a value that another page has is
    refused, and `with_value` finds its page. Not fields that are extracted from pages, and a fetch
    never sets one. After a change run `aragog store repair`, which enters stored values, and
    reports those that two pages have.
    """
    graphs: tuple[str, ...] = ()
    """
    Application graphs next to the pages (docs/extending.md), each in its own tables: up to 20
    lower-case letters, digits and underscores. After a change run `aragog store create-tables`.
    """
    graph_indexed: tuple[str, ...] = ()
    """
    `graph:property`: the properties by whose values nodes of a graph are found. After a change run
    `aragog store repair-graph`.
    """
    graph_unique: tuple[str, ...] = ()
    """`graph:property`: the same where a value belongs to one node at most."""
    graph_counted: tuple[str, ...] = ()
    """
    `graph:type`: the types of edges of a graph whose number is stored with each node. After a
    change run `aragog store repair-graph`.
    """
    graph_ordered: tuple[str, ...] = ()
    """
    `graph:type`: a graph's edge types that have an order in addition to their score, and sort by
    both. After a change run `aragog store repair-graph`.
    """
    graph_sorted: tuple[str, ...] = ()
    """
    `graph:property`: the properties by the beginnings of whose values nodes of a graph are found.
    After a change run `aragog store repair-graph`.
    """
    field_formats: Mapping[str, str] = field(default_factory=dict)
    """Field, or `prefix.*`, to its format: `text` (default), `integer`, `decimal`, `json`, `bytes`;
    extracted fields are `json` (docs/http.md)."""

    def __post_init__(self) -> None:
        mask(self, dsn=SecretUrl(self.dsn))

    @property
    def is_embedded(self) -> bool:
        """True if the tables are in this process: a read takes microseconds, and no network."""
        return self.engine in {"sqlite", "memory"}


@dataclass(frozen=True, slots=True)
class ContentSettings:
    """Storage of page content."""

    engine: Literal["folder", "s3"] = "folder"
    """`folder` in `data_dir`, or `s3`."""
    layout: Literal["packs", "objects"] = "packs"
    """
    How new content is stored: in `packs`, WARC files with some hundred pages each, or in `objects`,
    one a page. Both are read in any case; `aragog store pack` moves objects into packs.
    """
    pack_compression: Literal["zstd", "gzip"] = "zstd"
    """Of each record: `.warc.zst`, or `.warc.gz` for programs that read no other (pywb)."""
    pack_bytes: int = 8_388_608
    """A pack is put when it has this size."""
    pack_wait_s: float = 2.0
    """
    Or this long after its first page; at once for a page that somebody waits for, and when no other
    URL is in flight.
    """
    dictionaries: bool = True
    """
    Upkeep rewrites packs of few hosts by host, each with a dictionary of what its pages have in
    common: a quarter to a half fewer bytes; for zstd only.
    """
    takedown_hours: float = 24.0
    """
    What was taken down or removed is unreadable at once; after this time, none of its bytes is left
    in the folder or bucket, old versions of objects included.
    """
    keep_versions: int = 0
    """Earlier versions of each page that packs keep (`aragog content URL --at DATE`)."""
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
    s3_checksums: bool | None = None
    """
    Send and check CRCs. Empty: on AWS only. Some servers reject them, and some store the frame in
    which they come as a part of the body; every read is checked by a SHA-256 in any case.
    """

    @property
    def sends_checksums(self) -> bool:
        """`s3_checksums`, or its default for the endpoint."""
        return not self.s3_endpoint if self.s3_checksums is None else self.s3_checksums


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
    """Time that one file covers. Rows wait in Redis until then, about 500 bytes each."""


@dataclass(frozen=True, slots=True)
class LogSettings:
    """Logs of all processes."""

    level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "WARNING"
    """`INFO` has a line for each URL in each stage, with its request id."""
    format: Literal["console", "json"] = "console"
    """`json`: one object per line."""
    max_bytes: int = 52_428_800
    """A log of the standalone system that is larger is rotated."""
    kept: int = 3
    """Rotated logs to keep of each process: `fetch.log.1` is the newest."""


@dataclass(frozen=True, slots=True)
class TracingSettings:
    """
    Traces by OpenTelemetry (docs/operations.md#traces).

    The `OTEL_` variables of the environment say where spans are sent.
    """

    enabled: bool = False
    """Send spans of URLs, by OTLP over HTTP; needs the extra `otel`."""
    sample_ratio: float = 0.01
    """Share of URLs that are traced, up to 1. Where the caller has a span, that decides."""


@dataclass(frozen=True, slots=True)
class StandaloneSettings:
    """The standalone system."""

    redis_max_memory_bytes: int | None = None
    """
    `maxmemory` of the private redis-server: from 80 % of it on enqueueing is refused. Empty: half
    of the machine's memory.
    """
