"""Operations that list, pause, cancel, report on and delete crawls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated, ClassVar

from aragog.api.operations.operation import Caller, HttpRoute, Pool, need, operation
from aragog.api.operations.options import Option
from aragog.api.operations.scopes import ADMIN, WRITE, Token
from aragog.crawl.pipeline.crawl_records import (
    BUILT_IN_NAMES,
    CrawlOptions,
    CrawlPhase,
)
from aragog.crawl.pipeline.token_use import IMPLICIT_CRAWL_PREFIX, implicit_crawl_name
from aragog.crawl.stages.crawl_control import CrawlControl
from aragog.crawl.stages.crawl_reports import FailedUrls, OpenDomain
from aragog.crawl.stages.crawl_status import CrawlStatus
from aragog.crawl.traps.trap_store import ClosedTemplate
from aragog.errors import AccessDenied

MAX_DOMAINS = 1_000
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


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlView(CrawlOptions):
    """A crawl, with the outcomes of its URLs."""

    name: str
    state: str
    """`running`, `done` (no pending URLs and no held links), `paused`, `cancelled` or `ended`."""
    reason: str
    enqueued: int
    waiting: int
    repeated: int
    """URLs that were enqueued again after their pages had been stored for the crawl."""
    bytes: int
    outcomes: Mapping[str, int]
    """Number of URLs by outcome, including `stored` and `cancelled`."""
    scope: tuple[str, ...] = ()
    """The crawl's rules (docs/crawls.md)."""
    token: str = ""
    """The name of the token that started the crawl."""
    created_at_ms: int = 0
    changed_at_ms: int = 0
    round: int = 0
    """How many times the schedule has restarted the crawl."""
    next_round_ms: int = 0
    """When the schedule restarts the crawl, or 0 without a schedule."""
    notes: Mapping[str, int] = field(default_factory=dict)
    """
    How many stored pages were `unchanged`, or a `duplicate` of another canonical URL, and how many
    links were not enqueued. `trap` links lead into link traps and were dropped. `held` links may
    still be followed.
    """


_COPIED_FIELDS = {f.name for f in fields(CrawlView)} - {"state", "scope", "outcomes", "notes"}


def to_view(status: CrawlStatus) -> CrawlView:
    """Convert a crawl's status for responses."""
    record, counts = status.record, status.counts
    values = {
        name: getattr(counts if hasattr(counts, name) else record, name) for name in _COPIED_FIELDS
    }
    return CrawlView(
        **values,
        state=status.display_state,
        scope=record.scope.rules,
        outcomes=dict(counts.outcomes),
        notes=dict(counts.notes),
    )


def get_control(caller: Caller) -> CrawlControl:
    """Return this server's crawl control. Raises `Unsupported` if it has none."""
    return need(caller.parts.crawls, "this server has no crawls")


def control_for_change(caller: Caller, name: str) -> CrawlControl:
    """Return the crawl control. Raises `NotYourCrawl` if the caller may not change the crawl."""
    check_owner(caller, name)
    return get_control(caller)


@dataclass(eq=False, repr=False)
class NotYourCrawl(AccessDenied):
    """Another token started the crawl, and the caller's token does not have the scope `admin`."""

    MESSAGE: ClassVar[str] = "the crawl {name} was started by another token"
    name: str


def check_owner(caller: Caller, name: str) -> None:
    """
    Check that the caller may change a crawl or add URLs to it.

    Raises:
        NotYourCrawl: another token started the crawl, and this one does not have the scope `admin`.
    """
    token, control = caller.token, caller.parts.crawls
    if control is None or not isinstance(token, Token) or token.allows(ADMIN):
        return
    record = control.registry.read().records.get(name)
    belongs_to_other = (
        record.token != str(token) if record else name.startswith(IMPLICIT_CRAWL_PREFIX)
    )
    if belongs_to_other and name != implicit_crawl_name(token):
        raise NotYourCrawl(name)


def get_token_crawl(token: str | None, control: CrawlControl | None) -> str:
    """
    Return a token's default crawl, or "" without a token. The crawl is started when it is first
    used, and again after it was cancelled.
    """
    if control is None or not isinstance(token, Token):
        return ""
    name = implicit_crawl_name(token)
    record = control.registry.crawls().records.get(name)
    if record is None or record.has_ended:
        control.registry.start(name, {}, token=str(token))
    return name


@dataclass(frozen=True, slots=True)
class CrawlsRequest:
    """No options, because all crawls are listed."""


@operation(
    CrawlsRequest,
    http=HttpRoute("GET", "/v1/crawls", member="crawls"),
    thrift="Fetcher.listCrawls",
    pool=Pool.BROKER,
)
def list_crawls(caller: Caller, _request: CrawlsRequest) -> list[CrawlView]:
    """List all crawls, the built-in ones (`enqueued`, `refresh`) first, then the others by name."""
    return [to_view(status) for status in get_control(caller).all()]


@dataclass(frozen=True, slots=True)
class CrawlRequest:
    """The name of a crawl."""

    name: Name


def _crawl_exists(control: CrawlControl, name: str) -> bool:
    return name in BUILT_IN_NAMES.values() or name in control.registry.read().records


@operation(
    CrawlRequest,
    http=HttpRoute("GET", "/v1/crawls/{name}", missing="there is no crawl with this name"),
    thrift="Fetcher.getCrawl",
    pool=Pool.BROKER,
)
def get_crawl(caller: Caller, request: CrawlRequest) -> CrawlView | None:
    """Return a crawl with the outcomes of its URLs, or None if no crawl has this name."""
    control = get_control(caller)
    return to_view(control.status(request.name)) if _crawl_exists(control, request.name) else None


@dataclass(frozen=True, slots=True)
class CrawlDomain:
    """The outcomes of a registered domain's URLs."""

    domain: str
    outcomes: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class CrawlHour:
    """The outcomes of URLs within an hour."""

    at_ms: int
    outcomes: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class CrawlReportView:
    """The report on a crawl."""

    crawl: CrawlView
    domains: tuple[CrawlDomain, ...] = field(default=())
    """The domains with the most URLs, up to 1,000."""
    hours: tuple[CrawlHour, ...] = field(default=())
    """The last 90 days by hour, in order."""
    failures: tuple[FailedUrls, ...] = ()
    """Failures by reason, the most frequent first, up to 1,000."""
    open: tuple[OpenDomain, ...] = ()
    """Domains with pending URLs of this crawl, the slowest first, up to 1,000."""
    open_domains: int = 0
    """The total number of open domains."""
    seconds_left: float | None = None
    """Estimated seconds until the last open domain is finished, at its current rate."""
    traps: tuple[ClosedTemplate, ...] = ()
    """URL templates of link traps, up to 1,000. Links that match them are not followed."""
    achieved_rate: float = 0.0
    """How many URLs per second the crawl has requested since it was started."""
    recent_rate: float = 0.0
    """How many URLs per second it has requested since the beginning of the previous hour (UTC)."""


@operation(
    CrawlRequest,
    http=HttpRoute("GET", "/v1/crawls/{name}/report", missing="there is no crawl with this name"),
    thrift="Fetcher.crawlReport",
    pool=Pool.BROKER,
)
def crawl_report(caller: Caller, request: CrawlRequest) -> CrawlReportView | None:
    """
    Report on a crawl, or return None if no crawl has this name.

    The report contains outcomes by domain and by hour, failures, what delays the open domains, and
    the estimated time left.
    """
    control = get_control(caller)
    if not _crawl_exists(control, request.name):
        return None
    report = control.report(request.name)
    largest = sorted(report.domains.items(), key=_url_count_key)[:MAX_DOMAINS]
    return CrawlReportView(
        to_view(report.status),
        tuple(CrawlDomain(domain, dict(counts)) for domain, counts in largest),
        tuple(CrawlHour(hour * HOUR_MS, dict(counts)) for hour, counts in report.hours.items()),
        report.failures,
        report.open,
        report.open_domains,
        report.seconds_left,
        tuple(report.closed[:MAX_DOMAINS]),
        report.achieved.total,
        report.achieved.recent,
    )


def _url_count_key(item: tuple[str, Counter[str]]) -> tuple[int, str]:
    return -item[1].total(), item[0]


@dataclass(frozen=True, slots=True)
class CrawlStateRequest:
    """The requested state of a crawl."""

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
    Pause, resume or cancel a crawl. This takes effect in every process within about two seconds.

    Stored pages are kept, and URLs that other crawls want are still fetched.
    """
    control = control_for_change(caller, request.name)
    change = {"paused": control.pause, "running": control.resume, "cancelled": control.cancel}
    return to_view(change[request.state](request.name))


@dataclass(frozen=True, slots=True)
class TryScopeRequest:
    """A URL to test against a crawl's scope."""

    name: Name
    url: Annotated[str, Option("The URL, in any spelling.", is_url=True)]
    page_url: Annotated[
        str | None,
        Option("The page that links to it. Default: none, so the URL is a seed.", is_url=True),
    ] = None


@dataclass(frozen=True, slots=True)
class ScopeDecision:
    """Whether a URL belongs to a crawl."""

    accepted: bool
    rule: str
    """The deciding rule."""


@operation(
    TryScopeRequest,
    http=HttpRoute("GET", "/v1/crawls/{name}/scope"),
    thrift="Fetcher.tryScope",
    pool=Pool.BROKER,
)
def try_scope(caller: Caller, request: TryScopeRequest) -> ScopeDecision:
    """Decide whether a URL belongs to a crawl, and return the deciding rule."""
    decision = get_control(caller).decide(request.name, request.url, request.page_url)
    return ScopeDecision(decision.accepted, decision.rule)


@dataclass(frozen=True, slots=True)
class DeletedCrawl:
    """The result of deleting a crawl."""

    deleted: int
    """Number of pages deleted."""
    kept: Mapping[str, int]
    """Number of pages kept, by reason."""


@operation(
    CrawlRequest,
    http=HttpRoute("DELETE", "/v1/crawls/{name}"),
    thrift="Fetcher.deleteCrawl",
    scope=WRITE,
    pool=Pool.CONTENT,
)
def delete_crawl(caller: Caller, request: CrawlRequest) -> DeletedCrawl:
    """
    Cancel a crawl, delete the pages that belong only to it, and forget the crawl.

    This reads all nodes of the store. If it takes longer than the deadline, the deletion continues;
    repeat the call until it reports that there is no such crawl. A token may delete the crawls that
    it started; `admin` may delete all.
    """
    result = control_for_change(caller, request.name).delete(request.name)
    return DeletedCrawl(result.deleted, result.kept)
