"""Settings for servers and storage: jobs, shared state, pages, the crawl log and logs."""

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
    """URL of the Celery broker: `pinlater://`, `pinlater+postgresql://`, `redis://` or `amqp://`
    (docs/deployment.md#brokers). Empty: the private redis-server."""
    shards: tuple[SecretUrl, ...] = ()
    """Additional servers for jobs (`redis://…` or `postgresql://…`). Only with pinlater."""
    control: SecretUrl = NO_URL
    """Redis server for Celery's broadcasts, events and replies. Only with `pinlater+postgresql://`.
    Empty: `redis.url`."""
    claim_timeout_s: float = 60.0
    """Seconds after which a killed worker's job runs again."""
    result_backend: SecretUrl = NO_URL
    """Where task results are stored, such as `redis://host:port/db`. Set it if your programs wait
    for results (`AsyncResult.get`); without it, waiting is an error."""

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
    The Redis server for the spool, the in-flight set, the robots.txt cache and, by default, the
    limiter.
    """

    url: SecretUrl = NO_URL
    """`redis://host:port/db`, `unix:///path` or `sentinel://host:port/service`. Empty: the private
    redis-server in `data_dir`."""
    nodes: tuple[SecretUrl, ...] = ()
    """Additional Redis servers that share the spool and the in-flight set with `redis.url`. Change
    the list on all machines at once, while nothing is in flight."""
    prefix: str = "aragog:"
    """Prefix of every key."""

    def __post_init__(self) -> None:
        mask(self, url=SecretUrl(self.url), nodes=secret_urls(self.nodes))


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Storage of metadata, links and indexes (docs/store.md)."""

    engine: Literal["sqlite", "postgres", "hbase", "memory"] = "sqlite"
    """`sqlite` in `data_dir`, `postgres`, `hbase` through its Thrift gateways, or `memory` for
    tests."""
    dsn: SecretUrl = NO_URL
    """URL of the PostgreSQL server: `postgresql://user:password@host:port/database`, with options
    of libpq (`sslmode`, several hosts). Empty: a private server in `data_dir`."""
    postgres_schema: str = "aragog"
    """Schema that contains the tables: lower-case letters, digits and underscores."""
    postgres_partitions: int = 8
    """Partitions of each large table, a power of two up to 256. Applies when the tables are
    created."""
    postgres_pool_size: int = 8
    """Connections per process."""
    postgres_timeout_ms: int = 10_000
    """Time limit for connecting and for one call. A slower call closes its connection."""
    postgres_pooler: bool = False
    """Set this if pgbouncer in transaction mode is in front of the server. Statements are then not
    prepared, which costs the server 0.1 ms per call."""
    sqlite_shards: int = 16
    """Number of files. You cannot change it once there is data."""
    hbase_gateways: tuple[str, ...] = ("127.0.0.1:9090",)
    """`host:port` of each Thrift 1 gateway."""
    hbase_prefix: str = "aragog_"
    """Prefix of every table name."""
    hbase_timeout_ms: int = 5000
    """Time limit for one call to a gateway. A slower call closes its connection."""
    hbase_pool_size: int = 8
    """Connections per process, across all gateways."""
    hbase_compression: Literal["NONE", "SNAPPY", "GZ", "LZ4", "ZSTD"] = "SNAPPY"
    """Compression of new tables."""
    max_field_name_bytes: int = 200
    """Maximum length of a field name in UTF-8."""
    max_field_bytes: int = 1_048_576
    """Maximum size of a field's value. Larger data belongs in the content store."""
    max_record_bytes: int = 16_777_216
    """Maximum size of a record, and of a node or edge of a graph. If a write by your program would
    exceed it, the write is refused. Fetched pages are always written."""
    max_record_fields: int = 2_000
    """Maximum number of fields of a record, and of properties of a node or edge. Larger writes are
    refused, as for `max_record_bytes`."""
    inlinks: Literal["all", "external", "none"] = "all"
    """Which inlinks are kept: `all`, only those from other registered domains (`external`), or
    `none`."""
    compactions: int = 4
    """How many link compactions may run at the same time across all processes, from 1 to 64. A
    compaction takes about 0.4 ms per page. Keep this below the number of `upkeep` worker processes,
    so that other maintenance tasks are not delayed."""
    history: tuple[str, ...] = ("product.price", "product.availability")
    """Fields whose previous values are kept."""
    history_length: int = 10
    """Number of values kept for each of these fields."""
    indexed: tuple[str, ...] = ()
    """Fields by which you can look up pages (`UrlStore.pages.with_value`). Each write of such a
    field costs one more read and row. After a change, run `aragog store repair` to index stored
    pages."""
    unique: tuple[str, ...] = ()
    """Your own fields whose values may each belong to one page only. A `put` with another page's
    value is refused. Extracted fields cannot be unique. After a change, run `aragog store repair`,
    which also reports duplicates."""
    graphs: tuple[str, ...] = ()
    """Names of your own graphs (docs/extending.md#your-own-graphs): up to 20 lower-case letters,
    digits and underscores. After a change, run `aragog store create-tables`."""
    graph_indexed: tuple[str, ...] = ()
    """`graph:property`: properties by which you can look up nodes of a graph. After a change,
    run `aragog store repair-graph`."""
    graph_unique: tuple[str, ...] = ()
    """`graph:property`: the same, but each value may belong to one node only. After a change, run
    `aragog store repair-graph`."""
    graph_counted: tuple[str, ...] = ()
    """`graph:type`: edge types that are counted, with the count stored at each node. After a
    change, run `aragog store repair-graph`."""
    graph_ordered: tuple[str, ...] = ()
    """`graph:type`: edge types that sort by an order in addition to their score. After a change,
    run `aragog store repair-graph`."""
    graph_packed: tuple[str, ...] = ()
    """`graph:type`: edge types that are stored in one cell of up to 1 MiB for each source node, and
    can be listed only from that node. On HBase, taking such edges costs a fifth as much. Such a
    type cannot be in `graph_counted`. After a change, run `aragog store repair-graph` before any
    other call."""
    graph_sorted: tuple[str, ...] = ()
    """`graph:property`: properties whose values you can search by prefix. After a change, run
    `aragog store repair-graph`."""
    field_formats: Mapping[str, str] = field(default_factory=dict)
    """Maps a field, or `prefix.*`, to its format: `text` (default), `integer`, `decimal`, `json` or
    `bytes`. Extracted fields are `json` (docs/http.md)."""

    def __post_init__(self) -> None:
        mask(self, dsn=SecretUrl(self.dsn))

    @property
    def is_embedded(self) -> bool:
        """True if the tables are in this process, so that a read takes microseconds."""
        return self.engine in {"sqlite", "memory"}


@dataclass(frozen=True, slots=True)
class ContentSettings:
    """Storage of page content (docs/store.md#content-in-packs)."""

    engine: Literal["folder", "s3"] = "folder"
    """`folder` in `data_dir`, or `s3`."""
    layout: Literal["packs", "objects"] = "packs"
    """How new content is stored: in `packs`, which are WARC files with a few hundred pages each, or
    in `objects`, one per page. Both can always be read. `aragog store pack` moves objects into
    packs."""
    pack_compression: Literal["zstd", "gzip"] = "zstd"
    """Compression of the records in packs: `zstd`, or `gzip` for programs that cannot read zstd,
    such as pywb."""
    pack_bytes: int = 8_388_608
    """A pack is written when it reaches this size."""
    pack_wait_s: float = 2.0
    """A pack is also written this long after its first page. It is written at once for a page for
    which somebody is waiting, or if no other URL is in flight."""
    dictionaries: bool = True
    """Compress pages with a dictionary that upkeep trains on earlier pages, if they are from few
    hosts. This saves a quarter to a half of the bytes. Only with zstd."""
    takedown_hours: float = 24.0
    """Content that was taken down or removed is unreadable at once. After this time, none of its
    bytes is left in the folder or bucket, including old versions of objects."""
    keep_versions: int = 0
    """Number of earlier versions of each page that are kept in packs (`aragog content URL --at
    DATE`)."""
    fsync: bool = False
    """Sync every write to disk. Without this, a power failure may lose the last seconds."""
    s3_bucket: str = ""
    """An existing bucket that only aragog uses."""
    s3_prefix: str = ""
    """Prefix of every key."""
    s3_endpoint: str = ""
    """URL of the S3 server. Empty: AWS. boto3 looks for the credentials in its usual places."""
    s3_region: str = ""
    """Empty: from the environment."""
    s3_connect_timeout_s: float = 5.0
    """Time limit for opening one connection to S3."""
    s3_read_timeout_s: float = 20.0
    """Maximum time between two reads of one response from S3."""
    s3_attempts: int = 5
    """Maximum attempts per operation. The delay between them doubles up to 20 s, with jitter."""
    s3_parallel: int = 8
    """Concurrent writes per process."""
    s3_multipart_bytes: int = 8_388_608
    """Bodies of this size or more are sent in parts of this size (S3 requires at least 5 MiB)."""
    s3_checksums: bool | None = None
    """Send and check CRCs. Empty: on AWS only, because some servers reject them, and some store the
    checksum framing as part of the body. In any case, every read is checked with a SHA-256."""

    @property
    def sends_checksums(self) -> bool:
        """The value of `s3_checksums`, or its default for the endpoint."""
        return not self.s3_endpoint if self.s3_checksums is None else self.s3_checksums


@dataclass(frozen=True, slots=True)
class CrawlLogSettings:
    """A row for each fetch, in Parquet files (docs/operations.md#the-crawl-log)."""

    engine: Literal["off", "folder", "s3"] = "off"
    """`off`, `folder` or `s3`. `s3` uses the endpoint, region and limits of `[content]`."""
    folder: Path | None = None
    """Empty: `data_dir`/crawl-log. All `upkeep` workers need the same folder."""
    s3_bucket: str = ""
    """An existing bucket other than `content.s3_bucket`."""
    s3_prefix: str = "crawl-log/"
    """Prefix of every key."""
    span_s: int = 300
    """Time span of one file. Until the file is written, its rows are in Redis, about 500 bytes
    each."""


@dataclass(frozen=True, slots=True)
class LogSettings:
    """Logs of all processes (docs/operations.md#logs)."""

    level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "WARNING"
    """With `INFO`, each stage writes a line for each URL, with its request ID."""
    format: Literal["console", "json"] = "console"
    """`console`, or `json` for one object per line."""
    max_bytes: int = 52_428_800
    """The standalone system rotates a log that is larger than this."""
    kept: int = 3
    """Rotated logs to keep per process. `fetch.log.1` is the newest."""


@dataclass(frozen=True, slots=True)
class TracingSettings:
    """
    OpenTelemetry traces (docs/operations.md#traces).

    The environment variables `OTEL_…` set where spans are sent.
    """

    enabled: bool = False
    """Send spans of URLs, as OTLP over HTTP. Needs the `otel` extra."""
    sample_ratio: float = 0.01
    """Share of URLs that are traced, up to 1. If the caller has a trace, the caller's sampling
    decision is used instead."""


@dataclass(frozen=True, slots=True)
class StandaloneSettings:
    """The standalone system."""

    redis_max_memory_bytes: int | None = None
    """`maxmemory` of the private redis-server. When it is 80% full, enqueueing is refused. Empty:
    half of the machine's memory."""
