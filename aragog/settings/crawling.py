"""Settings for how and when pages are fetched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from aragog.runtime.secret import NO_URL, Secret, SecretUrl, mask, secret_urls
from aragog.settings.sign_in import SignInSettings


@dataclass(frozen=True, slots=True)
class PolitenessSettings:
    """Rate limits and robots.txt."""

    qps: float = 10.0
    """Requests per second to one registered domain, unless an override sets a different rate."""
    limiter_urls: tuple[SecretUrl, ...] = ()
    """The limiter's Redis servers when it is first used. Empty: `redis.url`. Later, change them
    with `aragog limiter`; this setting then only provides passwords."""
    overrides_file: Path | None = None
    """TOML file with the rates of individual domains. Changes apply within 5 s."""
    compare_with_reppy: float = 0.01
    """Share of fetched robots.txt files that reppy also reads, if it is installed. Differences are
    counted (`robots_different`) and kept in `robots-differences` in the data folder."""
    blocked_hosts: tuple[str, ...] = ()
    """Hosts and domains that are never fetched, including their subdomains. Changes in the settings
    file apply within 5 s."""
    wait_inline_ms: int = 1000
    """A task waits for a slot that is at most this far ahead. For a later slot, the job is
    rescheduled."""
    horizon_s: float = 86_400.0
    """Maximum pause of a domain (Retry-After)."""
    slot_window_ms: int = 1000
    """A job that misses its slot by more than this gets a new slot."""
    crawl_delay_cap_s: float = 30.0
    """Maximum `Crawl-delay` that is applied."""
    obey_visit_time: bool = True
    """Fetch pages only at the times in `Visit-time` of robots.txt."""
    max_latency_slowdown: float = 8.0
    """If a domain takes twice as long as usual to respond, it gets half as many requests, and so on
    up to this factor. Intervals never exceed 10 s. 1: latency does not change the rate."""
    robots_fresh_s: float = 86_400.0
    """Rules older than this are refreshed in the background (RFC 9309 recommends at most 24 h)."""
    robots_usable_s: float = 604_800.0
    """Rules older than this are not used."""
    robots_error_s: float = 600.0
    """Delay before robots.txt is requested again after an error."""
    robots_domain_max_bytes: int = 16_777_216
    """Redis memory for the rules of all hosts of one registered domain. When it is full, the oldest
    rules are removed."""
    obey_noindex: bool = False
    """Do not store the content of pages with `noindex` (meta robots, X-Robots-Tag)."""
    obey_nofollow: bool = True
    """Do not follow links with `nofollow`."""

    def __post_init__(self) -> None:
        mask(self, limiter_urls=secret_urls(self.limiter_urls))


@dataclass(frozen=True, slots=True)
class FetchSettings:
    """HTTP requests of the crawl."""

    user_agent: str = ""
    """Sent with every request, and compared with the names in robots.txt. It must contain a web
    page or email address as a contact; without one, only loopback is fetched."""
    deadline_s: float = 30.0
    """Time limit for the whole fetch of one URL, including redirects."""
    connect_timeout_s: float = 5.0
    """Time limit for opening one connection, including TLS."""
    read_timeout_s: float = 10.0
    """Maximum time between two reads."""
    min_bytes_per_s: int = 100
    """Minimum transfer rate of a body after its first 5 s."""
    max_wire_bytes: int = 10_485_760
    """Maximum size of a body as sent over the network, including chunk headers."""
    max_body_bytes: int = 20_971_520
    """Maximum size of a body after decompression."""
    max_header_bytes: int = 65_536
    """Maximum size of all headers of one response."""
    max_redirects: int = 10
    """Maximum number of redirects of one fetch."""
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
    """Media types that are read; others are Unreadable. If a response has no type, it is detected
    from the bytes."""
    file_types: tuple[str, ...] = ("image/*", "application/pdf")
    """Media types of files that belong to items (docs/own-fields.md#items); others are
    Unreadable."""
    allowed_ports: tuple[int, ...] = (80, 443)
    """Ports that a fetch may connect to."""
    allowed_networks: tuple[str, ...] = ()
    """Private networks that a fetch may connect to, such as `127.0.0.0/8`."""
    host_map: Mapping[str, str] = field(default_factory=dict)
    """Maps a host name, or `*.suffix`, to `address:port`, like curl's --resolve, for tests and the
    demo. The address is then allowed for that name only."""
    proxy: SecretUrl = NO_URL
    """Proxy for URLs that no rule of `egress` matches: `http://`, `socks5://` or `socks5h://`, with
    its login (docs/fetching.md#egress-routes)."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Additional headers that are sent to every host. Do not put secrets here; use
    `origin_headers`."""
    origin_headers: Mapping[str, Secret] = field(default_factory=dict)
    """Headers for individual origins, such as an Authorization header. Maps an origin
    (`https://example.com`) to `Name: value`, one per line. They are not sent to other origins, nor
    after a redirect from another origin."""
    basic_auth: Mapping[str, Secret] = field(default_factory=dict)
    """Maps an origin to `user:password`, which is sent to that origin only. A host without a scheme
    means `https://`."""
    sign_in: Mapping[str, SignInSettings] = field(default_factory=dict)
    """How crawls sign in to your own sites, by origin (docs/fetching.md#sign-in)."""
    cookies: bool = False
    """Keep cookies during the redirects of one fetch."""
    verify_tls: bool = True
    """Reject invalid certificates."""
    http2_hosts: tuple[str, ...] = ()
    """Hosts and domains that are offered HTTP/2, including their subdomains; `*` means all. The
    server chooses the version. Empty: HTTP/1.1 only. Needs the `http2` extra."""
    concurrency: int = 128
    """Concurrent requests of one worker process."""

    def __post_init__(self) -> None:
        mask(
            self,
            proxy=SecretUrl(self.proxy),
            origin_headers={key: Secret(text) for key, text in self.origin_headers.items()},
            basic_auth={key: Secret(text) for key, text in self.basic_auth.items()},
        )


@dataclass(frozen=True, slots=True)
class RenderingSettings:
    """Pages that a browser renders (docs/fetching.md#pages-that-need-javascript)."""

    hosts: tuple[str, ...] = ()
    """Hosts and domains whose pages are rendered, including their subdomains."""
    content_types: tuple[str, ...] = ("text/html", "application/xhtml+xml")
    """Media types of pages that are rendered."""
    browser: str = ""
    """Command or path of Chromium. Empty: the first of chromium-headless-shell, chromium,
    chromium-browser and google-chrome that is installed."""
    sandbox: bool = True
    """Use Chromium's sandbox, which needs a user other than root."""
    deadline_s: float = 20.0
    """Time limit for one page, including its requests and their waits for slots."""
    max_requests: int = 50
    """Maximum number of requests for one page; further requests fail."""
    max_bytes: int = 20_971_520
    """Maximum size of all responses for one page, after decompression."""
    max_memory_bytes: int = 1_073_741_824
    """Maximum memory of each browser process. A page that needs more is not rendered."""
    pages_per_browser: int = 100
    """The browser is replaced after this many pages."""


@dataclass(frozen=True, slots=True)
class PreferencesSettings:
    """What this crawl is for, and how aragog obeys sites' preferences for it (docs/standing.md)."""

    purposes: tuple[str, ...] = ()
    """Purposes of this crawl: `search`, `ai-input`, `ai-train`. If a site does not allow one of
    them, its pages are not fetched (robots.txt) or not kept (headers, meta elements). Empty: the
    statements of sites are recorded and shown, but nothing is refused."""
    drafts: tuple[str, ...] = ("draft-ietf-aipref-attach", "content-signals")
    """Draft standards that are read: `draft-ietf-aipref-attach` (Content-Usage) and
    `content-signals` (Content-Signal)."""
    obey_unavailable_after: bool = True
    """Delete a stored page when its `unavailable_after` has passed."""
    read_tdm_file: bool = False
    """Read /.well-known/tdmrep.json even if this crawl is not for `ai-input` or `ai-train`, so that
    readers can later ask for pages for these purposes. Costs one request per origin and day. Crawls
    for these purposes always read it."""

    @property
    def asks_tdm_file(self) -> bool:
        """True if tdmrep.json is requested. It states whether models may use a site's pages."""
        return self.read_tdm_file or not {"ai-input", "ai-train"}.isdisjoint(self.purposes)


@dataclass(frozen=True, slots=True)
class IdentitySettings:
    """Who this crawler is, and how it proves this to sites (docs/standing.md)."""

    key: Path | None = None
    """Key file that `aragog identity new` created. With it, every request of the crawl is signed
    (Web Bot Auth). Needs `identity.agent` and the `identity` extra. Webhooks are not signed with
    it."""
    agent: str = ""
    """URL of your public keys, sent as Signature-Agent, such as
    `https://bot.example.com/.well-known/http-message-signatures-directory`."""
    draft: str = "draft-ietf-webbotauth-httpsig-protocol-01"
    """Revision of the draft that Signature-Agent follows. With revision 01, it is the URL of the
    keys. With `draft-ietf-webbotauth-httpsig-protocol-00`, it is only that URL's origin."""
    components: tuple[str, ...] = ("@method", "@authority", "@path", "@query")
    """Parts of the request that are signed in addition to Signature-Agent. You can also add
    `@target-uri` and `user-agent`. `@query` only applies to URLs with a query."""
    lifetime_s: float = 300.0
    """A signature expires after this time, at most a day."""
    contact: str = ""
    """Email address or web page, for the page about the crawler."""
    description: str = ""
    """What the crawler does, in one or two sentences, for the page about the crawler."""
    networks: tuple[str, ...] = ()
    """Networks from which requests come, such as `203.0.113.0/28`, for the address list
    (draft-illyes-webbotauth-jafar). The addresses in `egress.ways` are added to the list. If both
    are empty, no list is published."""
    serve: bool = False
    """Let `aragog serve` publish the public keys (at the path of `identity.agent`), the page about
    the crawler (/bot.html) and the address list (/addresses.json) without a token. A proxy for that
    host must pass these paths on."""


@dataclass(frozen=True, slots=True)
class PipelineSettings:
    """Batches, the spool and attempts."""

    batch_size: int = 25
    """URLs per message."""
    spool_max_bytes: int | None = None
    """Redis memory for bodies between two stages. When a quarter of it is in use, workers fetch
    less at a time; when three eighths are in use, they pause. Empty: a quarter of `maxmemory`, or
    else 1/64 of the Redis machine's memory; at most 128 MiB."""
    spool_ttl_s: float = 3600.0
    """How long a body is kept. On `pinlater://`, a body is kept as long as a job needs it; other
    bodies are kept for this time, but at most 300 s. If a URL's body has expired, the URL is
    fetched again, which counts as an attempt."""
    max_attempts: int = 5
    """Maximum number of attempts to fetch one URL if its failures are temporary."""
    retry_first_s: float = 30.0
    """Delay before the second attempt. It doubles for each further attempt, with jitter."""
    max_links_per_page: int = 1000
    """Maximum number of outlinks stored per page."""
    max_files_per_page: int = 100
    """Maximum number of item files that are fetched for one page (docs/own-fields.md#items)."""
    recognize_traps: bool = False
    """Stop following links to pages without new content, such as those of an endless calendar
    (docs/crawls.md). Some links wait until a sample of such pages has been fetched."""
    page_max_cpu_s: float = 10.0
    """CPU time limit for analyzing one page. A page that needs more is stored as Unreadable."""
    page_max_memory_bytes: int = 1_073_741_824
    """Limit on the additional memory for analyzing one page."""
    sitemap_max_files: int = 50_000
    """Maximum number of a site's sitemaps that are fetched for one call to `enqueue`."""
    sitemap_max_urls: int = 10_000_000
    """Maximum total number of URLs in these sitemaps. Further URLs are left out; this is logged."""
    extractors: tuple[str, ...] = ()
    """Your own extractors to run on each page, named by entry point (docs/extending.md)."""
    store_text: tuple[str, ...] = ()
    """Forms of the main text to store as fields: `text` (`page.text`), `markdown`
    (`page.markdown`). Each costs 25 ms of CPU per page. Empty: the text is computed when somebody
    reads it."""
    text_finder: str = "trafilatura"
    """Extractor of the main text: `trafilatura`, or an entry point
    (docs/extending.md#main-text)."""
    page_ready_task: str = ""
    """Name of your own Celery task that receives each batch of stored pages (docs/extending.md)."""
    page_ready_queue: str = "page-ready"
    """Queue for messages to `page_ready_task`."""


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """
    The number of threads or processes of one worker of each role. `python -m aragog.workers ROLE
    --concurrency N` overrides it.
    """

    fetch: int = 32
    """Threads, each with one batch. Together, they have up to `fetch.concurrency` requests in
    progress. A busy process uses fewer threads."""
    robots: int = 8
    """Threads for robots.txt in each `fetch` process, in addition to those for pages. With brokers
    other than pinlater, they are in each `upkeep` process."""
    upkeep: int = 10
    """Threads: one for each kind of work that beat starts (refresh, robots.txt, webhooks, crawls,
    the crawl log, freeing memory, packs), one for watches, and the others for compactions of
    links."""
    canonicalize: int | None = None
    """Processes. Empty: half as many as cores; fetch, store and Redis use the other half."""
    store: int = 2
    """Threads that write."""
    store_batches: int = 40
    """Batches that a `store` process holds while their bodies wait for a pack, about 25 pages each.
    With `content.layout = "objects"`, it holds one per thread."""
    webhooks: int = 4
    """Threads."""
    render: int = 2
    """Threads, each with one page and its own browser."""


@dataclass(frozen=True, slots=True)
class RefreshSettings:
    """When pages are fetched again (docs/refresh.md)."""

    min_interval_s: float = 3600.0
    """The shortest interval."""
    max_interval_s: float = 7_776_000.0
    """The longest interval (90 days)."""
    batch: int = 500
    """Number of due URLs that are claimed at a time."""
    gone_confirmations: int = 3
    """Number of 404 or 410 responses, at increasing intervals, after which a page is no longer
    refreshed."""
    intervals: Mapping[str, str] = field(default_factory=dict)
    """Maps a type or field to its usual interval, such as `recipe = "30d"`. Units are s, m, h and
    d."""
    withheld_intervals: Mapping[str, str] = field(default_factory=dict)
    """How long to wait before a withheld page is requested again, by status, such as
    `403 = "14d"`. The time doubles after each further response with such a status, up to
    `max_interval_s`. Defaults: 30 days for 401, 402 and 451, and 7 days for 403."""
    effort: float = 1.0
    """How much effort to spend on keeping pages fresh. If you double it, intervals become about 1.4
    times shorter."""
    unwatched: bool = True
    """Also refresh URLs that never had a watcher. URLs whose last watch ended are never
    refreshed."""
    smooth_s: float = 600.0
    """Overdue refreshes, for example after an outage, are spread over this time."""
    signals: bool = True
    """Read sitemaps and feeds again, and refresh pages when they report a change, if the host's
    dates prove reliable (docs/refresh.md#signals-of-change)."""
    domain_share: float = 0.5
    """Maximum share of a domain's rate for refreshes. The rest is for new URLs."""
    changes_kept_s: float = 604_800.0
    """How long the change feed keeps changes."""
    report_new_pages: bool = False
    """Also report the first fetch of pages that nobody watches (`new`), and pages that became an
    alias (`redirected`). `aragog table` needs both. Costs the feed 200 bytes per new page."""
