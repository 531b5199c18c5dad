"""Operations on crawls: start, list, pause, cancel, report and delete them, and cancel URLs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields
from typing import Annotated, Any, ClassVar

from aragog.api.operations.operation import Caller, HttpRoute, Pool, need, operation
from aragog.api.operations.options import Option
from aragog.api.operations.scopes import ADMIN, WRITE, Token
from aragog.api.operations.values import MOST_ITEMS
from aragog.crawl.pipeline.crawl_records import (
    MOST_NOTIFY_CHARS,
    OWN_NAMES,
    CrawlPhase,
    CrawlTerms,
)
from aragog.crawl.stages.crawl_control import CrawlControl
from aragog.crawl.stages.crawl_reports import FailedUrls, OpenDomain
from aragog.crawl.stages.crawl_status import CrawlStatus
from aragog.crawl.traps.trap_store import ClosedTemplate
from aragog.errors import AccessDenied
from aragog.pages.preferences import PURPOSES

MOST_DOMAINS = 1_000
HOUR_MS = 3_600_000
CRAWL_NAME = Option(
    "The name of a crawl.",
    pattern=r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}",
    rule="must be 1 to 64 letters, digits, '.', '-' and '_'",
)
Name = Annotated[str, CRAWL_NAME]
_STATES = {
    "running": CrawlPhase.RUNNING,
    "paused": CrawlPhase.PAUSED,
    "cancelled": CrawlPhase.CANCELLED,
}
MOST_COUNT = 2**53
MOST_EVERY_S = 366 * 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlView(CrawlTerms):
    """A crawl, and what became of its URLs."""

    name: str
    state: str
    """`running`, `done` (nothing waits), `paused`, `cancelled` or `ended`."""
    reason: str
    enqueued: int
    waiting: int
    repeated: int
    """URLs that were enqueued again after their pages had been stored for it."""
    bytes: int
    outcomes: Mapping[str, int]
    """URLs by outcome, among them `stored` and `cancelled`."""
    scope: tuple[str, ...] = ()
    """Its rules (docs/crawls.md)."""
    token: str = ""
    """The name of the token that started it."""
    created_at_ms: int = 0
    changed_at_ms: int = 0
    round: int = 0
    """How often it has begun again by its schedule."""
    next_round_ms: int = 0
    """When it begins again; 0: by no schedule."""
    notes: Mapping[str, int] = field(default_factory=dict)
    """Of what was stored: `unchanged`, and `duplicate` of another canonical URL."""


_SAME = {f.name for f in fields(CrawlView)} - {"state", "scope", "outcomes", "notes"}


def view_of(status: CrawlStatus) -> CrawlView:
    """A crawl as operations show it."""
    record, counts = status.record, status.counts
    values = {name: getattr(counts if hasattr(counts, name) else record, name) for name in _SAME}
    return CrawlView(
        **values,
        state=status.shown_state,
        scope=record.scope.rules,
        outcomes=dict(counts.outcomes),
        notes=dict(counts.notes),
    )


def _control(caller: Caller) -> CrawlControl:
    return need(caller.parts.crawls, "this server has no crawls")


def _own(caller: Caller, name: str) -> CrawlControl:
    """The control of a crawl that the caller may change; raises as `check_own`."""
    check_own(caller, name)
    return _control(caller)


@dataclass(eq=False, repr=False)
class NotYourCrawl(AccessDenied):
    """The crawl was started by another token, and the caller's does not have the scope `admin`."""

    MESSAGE: ClassVar[str] = "the crawl {name} was started by another token"
    name: str


def check_own(caller: Caller, name: str) -> None:
    """
    Return if the caller may change a crawl, or add URLs to it: its token started it.

    Raises:
        NotYourCrawl: another token started it, and this one does not have the scope `admin`.
    """
    token, control = caller.token, caller.parts.crawls
    if control is None or not isinstance(token, Token) or token.allows(ADMIN):
        return
    record = control.registry.read().records.get(name)
    if record is not None and record.token != str(token):
        raise NotYourCrawl(name)


@dataclass(frozen=True, slots=True)
class StartCrawlRequest:
    """A crawl to start, or to change and continue; what is left out stays as it was."""

    name: Name
    _: KW_ONLY
    scope: Annotated[
        Sequence[str] | None,
        Option(
            "Rules for its URLs: `host:`, `domain:`, `prefix:` or `pattern:` and a value, with `-` "
            "in front for those that are left out. Without any, links stay within the registered "
            "domain of their page.",
            most_items=200,
        ),
    ] = None
    depth: Annotated[int | None, Option("Link hops to follow.", least=0, most=100)] = None
    nofollow: Annotated[bool | None, Option("Follow links that are marked `nofollow`.")] = None
    priority: Annotated[int | None, Option("0 (most urgent) to 9.", least=0, most=9)] = None
    purposes: Annotated[
        Sequence[str] | None, Option("What it is for.", most_items=5, choices=PURPOSES)
    ] = None
    max_urls: Annotated[int | None, Option("The most URLs.", least=1, most=MOST_COUNT)] = None
    max_urls_per_host: Annotated[
        int | None, Option("The most URLs of one host.", least=1, most=MOST_COUNT)
    ] = None
    max_bytes: Annotated[
        int | None,
        Option("It ends once its pages have so many bytes.", least=1, most=MOST_COUNT),
    ] = None
    until_ms: Annotated[
        int | None, Option("When it ends, ms since the epoch.", least=1, most=MOST_COUNT)
    ] = None
    rate: Annotated[
        float | None,
        Option(
            "The most requests a second to a domain; the domain's own rate stays the bound.",
            least=0.0001,
            most=10_000,
        ),
    ] = None
    every_s: Annotated[
        int | None,
        Option(
            "It begins again so often, from its seeds, with conditional requests; 0: not any more.",
            least=0,
            most=MOST_EVERY_S,
        ),
    ] = None
    notify: Annotated[
        str | None,
        Option(
            "The address that is told when it is done or ends, signed like webhooks; empty: none.",
            most_bytes=MOST_NOTIFY_CHARS,
        ),
    ] = None
    notify_secret: Annotated[
        str | None, Option("The secret of these signatures; it is not shown.", most_bytes=200)
    ] = None
    notify_error_rate: Annotated[
        float | None,
        Option("Tell it too when this share of a day's URLs has failed.", least=0, most=1),
    ] = None


@operation(
    StartCrawlRequest,
    http=HttpRoute("POST", "/v1/crawls/{name}"),
    thrift="Fetcher.startCrawl",
    scope=WRITE,
    pool=Pool.BROKER,
)
def start_crawl(caller: Caller, request: StartCrawlRequest) -> CrawlView:
    """
    Start a crawl, or change and continue the one of this name.

    Enqueue its URLs with `crawl`; those of one with `every_s` are kept as its seeds. One that was
    cancelled or has ended starts again; what waited for it then stays cancelled. A token may change
    the crawls that it started, `admin` all.
    """
    control = _own(caller, request.name)
    options: dict[str, Any] = {
        f.name: value
        for f in fields(request)
        if f.name != "name" and (value := getattr(request, f.name)) is not None
    }
    if "purposes" in options:
        options["purposes"] = " ".join(options["purposes"])
    return view_of(control.start(request.name, options, token=str(caller.token or "")))


@dataclass(frozen=True, slots=True)
class CrawlsRequest:
    """All crawls."""


@operation(
    CrawlsRequest,
    http=HttpRoute("GET", "/v1/crawls", member="crawls"),
    thrift="Fetcher.listCrawls",
    pool=Pool.BROKER,
)
def list_crawls(caller: Caller, _request: CrawlsRequest) -> list[CrawlView]:
    """All crawls: those that always exist (`enqueued`, `refresh`), then the others by name."""
    return [view_of(status) for status in _control(caller).all()]


@dataclass(frozen=True, slots=True)
class CrawlRequest:
    """One crawl."""

    name: Name


def _has(control: CrawlControl, name: str) -> bool:
    return name in OWN_NAMES.values() or name in control.registry.read().records


@operation(
    CrawlRequest,
    http=HttpRoute("GET", "/v1/crawls/{name}", missing="there is no crawl of this name"),
    thrift="Fetcher.getCrawl",
    pool=Pool.BROKER,
)
def get_crawl(caller: Caller, request: CrawlRequest) -> CrawlView | None:
    """A crawl, and what became of its URLs; None if no crawl has this name."""
    control = _control(caller)
    return view_of(control.status(request.name)) if _has(control, request.name) else None


@dataclass(frozen=True, slots=True)
class CrawlDomain:
    """What became of the URLs of a registered domain."""

    domain: str
    outcomes: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class CrawlHour:
    """What became of URLs within an hour."""

    at_ms: int
    outcomes: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class CrawlReportView:
    """What a crawl came to."""

    crawl: CrawlView
    domains: tuple[CrawlDomain, ...] = field(default=())
    """Those with the most URLs, up to 1,000."""
    hours: tuple[CrawlHour, ...] = field(default=())
    """Of the last 90 days, in order."""
    failures: tuple[FailedUrls, ...] = ()
    """What fails and why: the most frequent first, up to 1,000."""
    open: tuple[OpenDomain, ...] = ()
    """Domains of which URLs wait for it, the slowest first, up to 1,000."""
    open_domains: int = 0
    """How many there are."""
    seconds_left: float | None = None
    """Until the last open domain is done, by its rate."""
    traps: tuple[ClosedTemplate, ...] = ()
    """Templates of its hosts of which no link is followed, up to 1,000."""


@operation(
    CrawlRequest,
    http=HttpRoute("GET", "/v1/crawls/{name}/report", missing="there is no crawl of this name"),
    thrift="Fetcher.crawlReport",
    pool=Pool.BROKER,
)
def crawl_report(caller: Caller, request: CrawlRequest) -> CrawlReportView | None:
    """
    What a crawl came to; None if no crawl has this name.

    Outcomes by domain and by hour, what fails, what holds its open domains back, and the time left
    by their rates.
    """
    control = _control(caller)
    if not _has(control, request.name):
        return None
    report = control.report(request.name)
    largest = sorted(report.domains.items(), key=_most_urls)[:MOST_DOMAINS]
    return CrawlReportView(
        view_of(report.status),
        tuple(CrawlDomain(domain, dict(counts)) for domain, counts in largest),
        tuple(CrawlHour(hour * HOUR_MS, dict(counts)) for hour, counts in report.hours.items()),
        report.failures,
        report.open,
        report.open_domains,
        report.seconds_left,
        tuple(report.closed[:MOST_DOMAINS]),
    )


def _most_urls(item: tuple[str, Counter[str]]) -> tuple[int, str]:
    return -item[1].total(), item[0]


@dataclass(frozen=True, slots=True)
class CrawlStateRequest:
    """What a crawl shall do."""

    name: Name
    state: Annotated[
        str,
        Option("`paused`, `running` (resume it) or `cancelled`.", choices=tuple(_STATES)),
    ]


@operation(
    CrawlStateRequest,
    http=HttpRoute("POST", "/v1/crawls/{name}/state"),
    thrift="Fetcher.setCrawlState",
    scope=WRITE,
    pool=Pool.BROKER,
)
def set_crawl_state(caller: Caller, request: CrawlStateRequest) -> CrawlView:
    """
    Pause, resume or cancel a crawl. It holds in every process within about two seconds.

    Stored pages stay, and what other crawls want goes on.
    """
    control = _own(caller, request.name)
    change = {"paused": control.pause, "running": control.resume, "cancelled": control.cancel}
    return view_of(change[request.state](request.name))


@dataclass(frozen=True, slots=True)
class TryScopeRequest:
    """A URL that may belong to a crawl."""

    name: Name
    url: Annotated[str, Option("The URL, in any spelling.", is_url=True)]
    page_url: Annotated[
        str | None, Option("The page that links to it; none: it is a seed.", is_url=True)
    ] = None


@dataclass(frozen=True, slots=True)
class ScopeDecision:
    """Whether a URL belongs to a crawl."""

    accepted: bool
    rule: str
    """The rule that decided."""


@operation(
    TryScopeRequest,
    http=HttpRoute("GET", "/v1/crawls/{name}/scope"),
    thrift="Fetcher.tryScope",
    pool=Pool.BROKER,
)
def try_scope(caller: Caller, request: TryScopeRequest) -> ScopeDecision:
    """Whether a URL belongs to a crawl, and the rule that decides."""
    decision = _control(caller).decide(request.name, request.url, request.page_url)
    return ScopeDecision(decision.accepted, decision.rule)


@dataclass(frozen=True, slots=True)
class DeletedCrawl:
    """What the deletion of a crawl did."""

    deleted: int
    """Pages that were deleted."""
    kept: Mapping[str, int]
    """Pages that stay, by reason."""


@operation(
    CrawlRequest,
    http=HttpRoute("DELETE", "/v1/crawls/{name}"),
    thrift="Fetcher.deleteCrawl",
    scope=ADMIN,
    pool=Pool.CONTENT,
)
def delete_crawl(caller: Caller, request: CrawlRequest) -> DeletedCrawl:
    """
    Cancel a crawl, delete its pages that nobody else has, and forget it.

    It reads all nodes of the store: a deletion that takes longer than the deadline continues, and
    the call may be repeated until the crawl is unknown.
    """
    done = _control(caller).delete(request.name)
    return DeletedCrawl(done.deleted, done.kept)


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelRequest:
    """URLs that wait and shall not be fetched."""

    urls: Annotated[Sequence[str], Option("These URLs.", most_items=MOST_ITEMS, is_url=True)] = ()
    hosts: Annotated[Sequence[str], Option("All URLs of these hosts.", most_items=100)] = ()
    domains: Annotated[
        Sequence[str],
        Option("All URLs of these domains, and of the hosts below them.", most_items=100),
    ] = ()
    patterns: Annotated[
        Sequence[str],
        Option("Whole normalized URLs that match; `*` stands for any characters.", most_items=50),
    ] = ()
    dry_run: Annotated[bool, Option("Only count what waits of them.")] = False


@dataclass(frozen=True, slots=True)
class CancelAnswer:
    """What a cancellation was about."""

    waiting: int | None = None
    """How many URLs wait, in a dry run."""


@operation(
    CancelRequest,
    http=HttpRoute("POST", "/v1/cancel"),
    thrift="Fetcher.cancelUrls",
    scope=ADMIN,
    pool=Pool.BROKER,
)
def cancel_urls(caller: Caller, request: CancelRequest) -> CancelAnswer:
    """
    Cancel URLs that wait, whoever enqueued them; stored pages stay.

    What is enqueued later is fetched. A dry run reads what waits, and may take minutes.
    """
    control = _control(caller)
    kinds = {
        "url": request.urls,
        "host": request.hosts,
        "domain": request.domains,
        "pattern": request.patterns,
    }
    given = {kind: values for kind, values in kinds.items() if values}
    if not given:
        control.cancel_urls("url", ())  # refuses it
    if request.dry_run:
        return CancelAnswer(sum(control.waiting(kind, values) for kind, values in given.items()))
    for kind, values in given.items():
        control.cancel_urls(kind, values)
    return CancelAnswer()
