"""How and when pages are fetched: politeness, HTTP, the pipeline, its workers, refreshes."""

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
    """Requests per second to one registered domain, unless an override sets another rate."""
    limiter_urls: tuple[SecretUrl, ...] = ()
    """Redis servers on the first ring of the limiter; empty: `redis.url`. After that, the ring is
    changed with `aragog limiter`, and this setting counts for passwords only."""
    overrides_file: Path | None = None
    """TOML file with rates of single domains; changes apply within 5 s."""
    compare_with_reppy: float = 0.01
    """The share of fetched robots.txt that reppy reads as well, where it is installed; differences
    are counted (`robots_different`) and kept in `robots-differences` in the data folder."""
    blocked_hosts: tuple[str, ...] = ()
    """Hosts and domains that are never fetched, including all hosts below them; a change in the
    settings file applies within 5 s, like `blocked = true` in the overrides file."""
    wait_inline_ms: int = 1000
    """Tasks wait for a slot up to this far ahead; for a later slot the job is rescheduled."""
    horizon_s: float = 86_400.0
    """A pause of a domain (Retry-After) is this long at most."""
    slot_window_ms: int = 1000
    """A job that is later than this for its slot reserves a new one."""
    crawl_delay_cap_s: float = 30.0
    """The longest `Crawl-delay` that is applied."""
    obey_visit_time: bool = True
    """Fetch pages only at the times that `Visit-time` of robots.txt names."""
    max_latency_slowdown: float = 8.0
    """A domain whose responses take twice their usual time gets half as many requests, and so on
    up to this factor; no interval is made longer than 10 s. 1: latency changes no rate."""
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
        mask(self, limiter_urls=secret_urls(self.limiter_urls))


@dataclass(frozen=True, slots=True)
class FetchSettings:
    """HTTP requests of the crawl."""

    user_agent: str = ""
    """Sent with every request and matched in robots.txt; contains a contact URL or address; without
    one only loopback is fetched."""
    deadline_s: float = 30.0
    """Limit for the whole fetch of one URL, including redirects."""
    connect_timeout_s: float = 5.0
    """Limit for opening one connection, including TLS."""
    read_timeout_s: float = 10.0
    """Limit between two reads."""
    min_bytes_per_s: int = 100
    """Minimum rate of a body after its first 5 s."""
    max_wire_bytes: int = 10_485_760
    """Maximum size of a body as sent, with the lines between its chunks."""
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
    file_types: tuple[str, ...] = ("image/*", "application/pdf")
    """Media types of files of items (docs/own-fields.md#items); others are Unreadable."""
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
    """Proxy of URLs that no rule of `egress` matches: `http://`, `socks5://` or `socks5h://`, with
    its login. The SSRF filter checks the target (docs/fetching.md#ways-out)."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Additional headers sent to every host; no secrets. See `origin_headers`."""
    origin_headers: Mapping[str, Secret] = field(default_factory=dict)
    """
    Origin (`https://example.com`) to `Name: value`, one per line, such as an Authorization header.
    Sent only to that scheme, host and port, and not after a redirect from another origin.
    """
    basic_auth: Mapping[str, Secret] = field(default_factory=dict)
    """
    Origin to `user:password`, sent to that origin only; a host without scheme means
    `https://`.
    """
    sign_in: Mapping[str, SignInSettings] = field(default_factory=dict)
    """Origin of a site of your own to how crawls sign in there (docs/fetching.md#sign-in)."""
    cookies: bool = False
    """Keep cookies during the redirects of one fetch."""
    verify_tls: bool = True
    """Reject invalid certificates."""
    http2_hosts: tuple[str, ...] = ()
    """
    Hosts and domains to which HTTP/2 is offered over TLS, including all hosts below them; `*`: all.
    Each server chooses between HTTP/2 and HTTP/1.1. Empty: HTTP/1.1 only. Needs the extra `http2`.
    """
    concurrency: int = 128
    """Requests at once in one worker process; each is bounded by one fetch deadline."""

    def __post_init__(self) -> None:
        mask(
            self,
            proxy=SecretUrl(self.proxy),
            origin_headers={key: Secret(text) for key, text in self.origin_headers.items()},
            basic_auth={key: Secret(text) for key, text in self.basic_auth.items()},
        )


@dataclass(frozen=True, slots=True)
class RenderingSettings:
    """Pages that are rendered by a browser (docs/fetching.md#pages-that-need-javascript)."""

    hosts: tuple[str, ...] = ()
    """Hosts and domains whose pages are rendered, including all hosts below them. Empty: none."""
    content_types: tuple[str, ...] = ("text/html", "application/xhtml+xml")
    """Media types of the pages that are rendered."""
    browser: str = ""
    """Command or path of a Chromium. Empty: the first of chromium-headless-shell, chromium,
    chromium-browser and google-chrome."""
    sandbox: bool = True
    """Use Chromium's own sandbox, which needs a user other than root."""
    deadline_s: float = 20.0
    """Limit for one page: its scripts, its requests, and the waits for their slots."""
    max_requests: int = 50
    """Requests of one page; the others fail."""
    max_bytes: int = 20_971_520
    """Size of all that one page requests, after decompression."""
    max_memory_bytes: int = 1_073_741_824
    """Memory of each process of a browser; a page that needs more is not rendered."""
    pages_per_browser: int = 100
    """After how many pages a browser is replaced."""


@dataclass(frozen=True, slots=True)
class PreferencesSettings:
    """What this crawl is for, and how statements of sites about that are obeyed."""

    purposes: tuple[str, ...] = ()
    """
    What this crawl is for: `search`, `ai-input`, `ai-train`. What a site does not allow for one of
    them is not fetched (robots.txt) or not kept (headers, meta elements). Empty: statements are
    recorded and shown, and refuse nothing.
    """
    drafts: tuple[str, ...] = ("draft-ietf-aipref-attach", "content-signals")
    """Syntaxes that are drafts and are read: `draft-ietf-aipref-attach` (Content-Usage) and
    `content-signals` (Content-Signal)."""
    obey_unavailable_after: bool = True
    """Delete what is stored of a page when its `unavailable_after` has passed."""

    read_tdm_file: bool = False
    """
    Read /.well-known/tdmrep.json in a crawl for other uses, too, so that readers can ask for pages
    for `ai-input` and `ai-train`: one more request for each origin and day. A crawl for one of
    these always reads it. It refuses nothing by itself.
    """

    @property
    def asks_tdm_file(self) -> bool:
        """Whether sites are asked for tdmrep.json: it is about the use of pages by models."""
        return self.read_tdm_file or not {"ai-input", "ai-train"}.isdisjoint(self.purposes)


@dataclass(frozen=True, slots=True)
class IdentitySettings:
    """Who this crawler is, and how it proves that to sites (docs/standing.md)."""

    key: Path | None = None
    """Key file of `aragog identity new`. With it every request of the crawl is signed (Web Bot
    Auth); needs `identity.agent` and the extra `identity`. Webhooks are not signed with it."""
    agent: str = ""
    """URL of your public keys, sent as Signature-Agent, such as
    `https://bot.example.com/.well-known/http-message-signatures-directory`."""
    draft: str = "draft-ietf-webbotauth-httpsig-protocol-01"
    """Revision of the draft that Signature-Agent follows: revision 01 names the URL of the keys,
    `draft-ietf-webbotauth-httpsig-protocol-00` the origin of the well-known URL."""
    components: tuple[str, ...] = ("@method", "@authority", "@path", "@query")
    """What a signature covers besides Signature-Agent: of these, `@target-uri` and `user-agent`;
    `@query` counts for URLs that have one."""
    lifetime_s: float = 300.0
    """A signature expires after this time; at most a day."""
    contact: str = ""
    """Mail address or web page, shown on the page about the crawler."""
    description: str = ""
    """What the crawler does, in a sentence or two for that page."""
    networks: tuple[str, ...] = ()
    """Networks that requests come from, such as `203.0.113.0/28`, for the address list
    (draft-illyes-webbotauth-jafar), which also has the addresses of `egress.ways`. With neither,
    none is published."""
    serve: bool = False
    """`aragog serve` publishes the key directory, the page and the address list to everybody, at
    the path of `identity.agent`, /bot.html and /addresses.json; a proxy of that host passes these
    paths on."""


@dataclass(frozen=True, slots=True)
class PipelineSettings:
    """Batches, spool and attempts of the pipeline."""

    batch_size: int = 25
    """URLs per message."""
    spool_max_bytes: int | None = None
    """
    Redis memory for bodies between two stages: from a quarter of it on workers fetch less at a
    time, and at three eighths they stop. Empty: a quarter of `maxmemory`, else 1/64 of the memory
    of the Redis machine, at most 128 MiB.
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
    max_files_per_page: int = 100
    """Files of its items that are fetched for one page (docs/own-fields.md#items)."""
    recognize_traps: bool = False
    """
    Stop following links whose kind of URL brings nothing new, such as the pages of an endless
    calendar (docs/crawls.md). Links may wait while such a kind is on trial.
    """
    page_max_cpu_s: float = 10.0
    """CPU time for the analysis of one page; a page that needs more is stored as Unreadable."""
    page_max_memory_bytes: int = 1_073_741_824
    """Additional memory for the analysis of one page."""
    sitemap_max_files: int = 50_000
    """Sitemaps of one site that are fetched for one call of `enqueue`; each is fetched once."""
    sitemap_max_urls: int = 10_000_000
    """URLs that these may list together; the rest is left out, and logged."""
    extractors: tuple[str, ...] = ()
    """Custom extractors to run on each page, by entry point (docs/extending.md)."""
    store_text: tuple[str, ...] = ()
    """
    Forms of each page's main text to store as fields: `text` (`page.text`), `markdown`
    (`page.markdown`). Each costs 25 ms of CPU a page. Empty: none; a text is found when it is read.
    """
    text_finder: str = "trafilatura"
    """What finds main texts: `trafilatura`, or an entry point (docs/extending.md)."""
    page_ready_task: str = ""
    """Name of your own Celery task that receives each batch of stored pages. Empty: none."""
    page_ready_queue: str = "page-ready"
    """Queue for messages to `page_ready_task`."""


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """
    Concurrency of one worker of each role, in batches; `python -m aragog.workers ROLE --concurrency
    N` overrides it.
    """

    fetch: int = 32
    """
    Threads, each with one batch; together they send `fetch.concurrency` requests at once. A process
    whose core is busy uses fewer of them.
    """
    robots: int = 8
    """
    Threads for robots.txt, in addition to those for pages in each process of `fetch`; on brokers
    other than pinlater in each of `upkeep`.
    """
    upkeep: int = 10
    """
    Threads: one for each kind of work that beat starts (refresh, robots.txt, webhooks, crawls, the
    crawl log, freeing, packs), one for watches, and the others for compactions of links.
    """
    canonicalize: int | None = None
    """Processes. Empty: half of the cores; fetch, store and Redis use the other half."""
    store: int = 2
    """Threads that write."""
    store_batches: int = 40
    """
    Batches that a process of `store` has at once while their bodies wait for a pack, about 25 pages
    each; with `content.layout = "objects"` as many as it has threads.
    """
    webhooks: int = 4
    """Threads."""
    render: int = 2
    """Threads, each with one page and a browser of its own."""


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
    withheld_intervals: Mapping[str, str] = field(default_factory=dict)
    """
    Status to the wait before a page that exists but is withheld is requested again, such as `403 =
    "14d"`; it doubles each further time, up to `max_interval_s`. The others of 401, 402, 403 and
    451 keep their defaults: 30 days, and 7 days for 403.
    """
    effort: float = 1.0
    """Weight of freshness: twice the value makes intervals about 1.4 times shorter."""
    unwatched: bool = True
    """Also refresh URLs that never had a watcher. A URL whose last watch ended is not refreshed."""
    smooth_s: float = 600.0
    """Overdue refreshes, for example after an outage, are spread over this time."""
    signals: bool = True
    """
    Read sitemaps and feeds again by what they bring, and refresh pages when they name a change, as
    far as their host's dates prove true (docs/refresh.md).
    """
    domain_share: float = 0.5
    """Maximum share of a domain's rate for refreshes; the rest is for new URLs."""
    changes_kept_s: float = 604_800.0
    """Retention of the change feed."""
    report_new_pages: bool = False
    """
    Also report the first fetch of pages that nobody watches, as `new`, and pages that became an
    alias, as `redirected`: `aragog table` needs both. It costs the feed 200 bytes a new page.
    """
