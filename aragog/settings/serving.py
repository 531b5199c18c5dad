"""The API, Thrift, Flower and webhooks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from aragog.runtime.secret import NO_URL, SecretUrl, mask


@dataclass(frozen=True, slots=True)
class ServingSettings:
    """The HTTP API of the UrlStore (docs/http.md), its Thrift services, and Flower."""

    host: str = "127.0.0.1"
    """Address of the HTTP and Thrift servers; other than loopback it requires `serving.tokens`."""
    http_port: int = 8100
    """Port of the HTTP/JSON API."""
    thrift_port: int = 8101
    """Port of the Thrift services (docs/thrift.md); 0: none."""
    standby_gateways: tuple[str, ...] = ()
    """`host:port` of gateways of a replica of the HBase store. Reads over HTTP and Thrift that fail
    are sent there too, and late ones, at most 2 % of all reads (docs/thrift.md); empty: none."""
    standby_dsn: SecretUrl = NO_URL
    """The same for a PostgreSQL store: how to connect to a replica of it; empty: none."""
    standby_max_lag_s: float = 10.0
    """A PostgreSQL replica that is further behind answers no reads."""
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
    quotas: Mapping[str, str] = field(default_factory=dict)
    """Token to what it may use: some of `urls_a_day=N`, `waiting_urls=N`, `bytes_a_day=N` and
    `weight=W`, its share of a domain's slots relative to other tokens (docs/crawls.md). It must be
    the
    same on all machines, because workers follow links."""
    tls_cert_file: Path | None = None
    """PEM file with the certificate and its chain; with it HTTP and Thrift use only TLS."""
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
    read_cache_s: float = 0.0
    """Plain reads of records may be so old: each process keeps what it has read for this time. It
    sees its own writes at once, and those of other processes when this time is over; 0: no cache
    (docs/thrift.md)."""
    read_cache_bytes: int = 67_108_864
    """Memory of that cache in each process."""
    content_threads: int = 8
    """Threads per process for page content, so that a slow S3 delays no other read."""
    max_in_flight: int = 256
    """Concurrent calls of one kind (store, content, broker, fetch) per process; further requests
    receive 503."""
    max_waiting: int = 1000
    """Requests per process that wait for a fetch; further ones are answered with what is stored."""
    max_connections: int = 1024
    """Open connections per process, of HTTP and of Thrift each. A further one closes the connection
    that has been idle for the longest time, and is refused if none is idle."""
    max_connections_per_address: int = 512
    """The same for the connections of one IP address, or of one /64 network of IPv6; 0: no limit,
    for a server behind a proxy."""
    max_body_bytes: int = 4_194_304
    """Maximum body of a request; a larger one receives 413."""
    max_request_memory_bytes: int = 67_108_864
    """Bodies over HTTP, and large frames over Thrift, that a process holds at once, complete or
    not; further requests receive 503 or Unavailable."""
    max_response_memory_bytes: int = 268_435_456
    """What a process holds over HTTP and Thrift together until its clients have read it. Further
    large responses are replaced by 503 or Unavailable, and clients that do not read are
    disconnected."""
    max_header_bytes: int = 65_536
    """Maximum size of the request line and headers; larger ones receive 431."""
    deadline_ms: int = 1000
    """Limit for one request, which then receives 504."""
    content_deadline_ms: int = 10_000
    """Limit for one request of page content, and for one call of the broker."""
    head_timeout_s: float = 10.0
    """Limit for receiving a request's headers, for receiving its body, and for a TLS
    handshake."""
    send_timeout_s: float = 30.0
    """A client that reads nothing of its response for this long is disconnected."""
    keep_alive_s: float = 75.0
    """Idle connections are closed after this time."""

    def __post_init__(self) -> None:
        mask(self, standby_dsn=SecretUrl(self.standby_dsn))


@dataclass(frozen=True, slots=True)
class WebhookSettings:
    """Webhooks that report changes."""

    allowed_hosts: tuple[str, ...] = ()
    """Hosts that the SSRF filter does not check, such as those of your own network."""
    timeout_s: float = 10.0
    """Limit for one POST: connect, send, and the head of the response."""
    first_retry_s: float = 10.0
    """Delay before the second attempt; it doubles for each further one, up to 6 h."""
    max_attempts: int = 16
    """Attempts per delivery; 16 last more than a day."""
