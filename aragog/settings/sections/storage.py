"""Where pages are stored, and when they are fetched again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


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
    """Also refresh URLs that never had a watcher. A URL whose last watch ended is not refreshed."""
    smooth_s: float = 600.0
    """Overdue refreshes, for example after an outage, are spread over this time."""
    domain_share: float = 0.5
    """Maximum share of a domain's rate for refreshes; the rest is for new URLs."""
    changes_kept_s: float = 604_800.0
    """Retention of the change feed."""
