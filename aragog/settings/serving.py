"""Settings for the API, Thrift, Flower and webhooks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from aragog.runtime.secret import NO_URL, SecretUrl, mask


@dataclass(frozen=True, slots=True)
class ServingSettings:
    """The HTTP API (docs/http.md), the Thrift services and Flower."""

    host: str = "127.0.0.1"
    """Address of the HTTP and Thrift servers. Any address but loopback requires
    `serving.tokens`."""
    http_port: int = 8100
    """Port of the HTTP API."""
    thrift_port: int = 8101
    """Port of the Thrift services (docs/thrift.md). 0: no Thrift."""
    standby_gateways: tuple[str, ...] = ()
    """`host:port` of the gateways of an HBase replica of the store. Reads that fail are also sent
    there, and so are slow ones, up to 2% of all reads (docs/thrift.md)."""
    standby_dsn: SecretUrl = NO_URL
    """URL of a PostgreSQL replica of the store. It is used in the same way."""
    standby_max_lag_s: float = 10.0
    """A PostgreSQL replica with a longer lag is not read."""
    flower_host: str = "127.0.0.1"
    """Address of Flower. Any address but loopback requires a login in Flower."""
    flower_port: int = 5555
    """Port of Flower."""
    flower_max_tasks: int = 10_000
    """Tasks that Flower keeps in memory, 5 KB each. (The default of Flower itself is 100,000.)"""
    allowed_hosts: tuple[str, ...] = ()
    """Host headers that the API and Flower accept, in addition to localhost and IP addresses.
    `.example.com` includes subdomains."""
    tokens: tuple[str, ...] = ()
    """Hashed tokens: `name:scopes:sha256`, with scopes joined by `+`, and optionally `:rate` in
    requests/s. `aragog token` creates them. If empty, no token is required; allowed only on
    loopback."""
    field_writers: Mapping[str, str] = field(default_factory=dict)
    """Maps a field, or `prefix.*`, to the names of the tokens that may write and delete it, joined
    by `+` (docs/http.md). Any token with the scope `write` may write fields without an entry."""
    quotas: Mapping[str, str] = field(default_factory=dict)
    """Maps a token to its limits: `urls_a_day=N`, `waiting_urls=N`, `bytes_a_day=N`, and
    `weight=W`, its share of a domain's slots relative to other tokens (docs/crawls.md). The setting
    must be the same on all machines."""
    tls_cert_file: Path | None = None
    """PEM file with the certificate and its chain. With it, HTTP and Thrift accept only TLS."""
    tls_key_file: Path | None = None
    """PEM file with the private key. Empty: the key is in `tls_cert_file`."""
    access_log_share: float = 0.001
    """Share of requests in the access log, up to 1. Responses with status 5xx are always logged."""
    cors_origins: tuple[str, ...] = ()
    """Origins (`https://app.example.com`) whose pages may use the API in a browser."""
    processes: int = 1
    """Processes of `aragog serve` that share the port. One per core serves the most requests."""
    threads: int = 16
    """Threads per process for the store."""
    read_cache_s: float = 0.0
    """How long each process caches records that it has read, and so does not see changes by other
    processes. It sees its own writes at once. 0: no cache (docs/thrift.md)."""
    read_cache_bytes: int = 67_108_864
    """Memory of that cache per process."""
    content_threads: int = 8
    """Threads per process for page content, so that a slow S3 does not delay other reads."""
    max_in_flight: int = 256
    """Concurrent calls of one kind (store, content, broker, fetch) per process. Further requests
    get 503."""
    max_waiting: int = 1000
    """Maximum requests per process that wait for a fetch. Further requests get what is stored."""
    max_connections: int = 1024
    """Open connections per process, separately for HTTP and Thrift. A further connection replaces
    the one that has been idle for the longest time, or is refused if all are busy."""
    max_connections_per_address: int = 512
    """The same limit for each IPv4 address or IPv6 /64 network. 0: no limit, for a server behind a
    proxy."""
    max_body_bytes: int = 4_194_304
    """Maximum size of a request's body. Larger requests get 413."""
    max_request_memory_bytes: int = 67_108_864
    """Memory per process for the bodies of requests. Further requests get 503 or Unavailable."""
    max_response_memory_bytes: int = 268_435_456
    """Memory per process for responses that clients have not read yet. Further large responses are
    replaced by 503 or Unavailable, and clients that do not read are disconnected."""
    max_header_bytes: int = 65_536
    """Maximum size of the request line and headers. Larger requests get 431."""
    deadline_ms: int = 1000
    """Time limit for a request. A request that exceeds it gets 504."""
    content_deadline_ms: int = 10_000
    """Time limit for a request for page content, and for one call to the broker."""
    head_timeout_s: float = 10.0
    """Time limit for receiving a request's headers, for receiving its body, and for a TLS
    handshake."""
    send_timeout_s: float = 30.0
    """A client that does not read its response for this long is disconnected."""
    keep_alive_s: float = 75.0
    """Idle connections are closed after this time."""

    def __post_init__(self) -> None:
        mask(self, standby_dsn=SecretUrl(self.standby_dsn))


@dataclass(frozen=True, slots=True)
class WebhookSettings:
    """Webhooks that report changes (docs/refresh.md#webhooks)."""

    allowed_hosts: tuple[str, ...] = ()
    """Hosts that the SSRF filter does not check, such as hosts in your own network."""
    timeout_s: float = 10.0
    """Time limit for one POST."""
    first_retry_s: float = 10.0
    """Delay before the second attempt. It doubles for each further attempt, up to 6 h."""
    max_attempts: int = 16
    """Maximum attempts per delivery. 16 attempts take more than a day."""
