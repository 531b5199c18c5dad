"""
The definition of an operation: a call that other programs can make over any protocol. An operation
is a function that takes a `Caller` and a typed request. Its properties are declared next to the
function. Servers, clients and documents are derived from these (docs/extending.md).
"""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum, auto
from functools import wraps
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Protocol, TypeVar, cast, overload

from aragog.api.operations.field_writers import FieldWriters
from aragog.api.operations.graphs import ApplicationGraphs, no_graphs
from aragog.api.operations.options import OptionField, option_fields
from aragog.api.operations.page_texts import PageTexts
from aragog.api.operations.scopes import READ, require_graph
from aragog.api.operations.steps import Steps
from aragog.api.operations.store_reads import ReadStore, unhedged
from aragog.errors import Unsupported
from aragog.observability.tracing.tracer import Tracer
from aragog.urlstore.store import UrlStore

if TYPE_CHECKING:
    # Only for types, so that commands that read the store do not load the broker's clients.
    from aragog.api.operations.batch_progress import BatchTracker
    from aragog.api.operations.fetching import Fetching
    from aragog.api.operations.jobs import Jobs
    from aragog.api.operations.values import Explanation
    from aragog.crawl.pipeline.enqueue_results import EnqueueResult
    from aragog.crawl.stages.crawl_control import CrawlControl

P = ParamSpec("P")
Q = TypeVar("Q")
Q_co = TypeVar("Q_co", covariant=True)
R = TypeVar("R")
T = TypeVar("T")


class Pool(StrEnum):
    """The component that an operation waits for. Each component has its own threads."""

    STORE = auto()
    CONTENT = auto()
    FEED = auto()
    BROKER = auto()
    FETCH = auto()
    EXPLAIN = auto()
    """All of the components, one after the other."""


Enqueue = Callable[..., "Iterable[EnqueueResult]"]
"""`aragog.client.Aragog.enqueue`."""
Explain = Callable[[str], "Explanation"]
"""Explains a URL in any spelling. Raises InvalidUrl if it cannot be normalized."""


class TakedownsChanged(Protocol):
    """Notifies the other aragog processes that the takedowns changed."""

    def __call__(self, *, purge: bool) -> object: ...


def no_notification(*, purge: bool) -> None:
    """Do nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherParts:
    """
    The services that operations use in addition to the store. If one is None, the operations that
    need it raise `Unsupported`.

    Args:
        read: reads from the store or its standby; None if there is no standby.
        enqueue: enqueues URLs.
        fetching: fetches for waiting callers.
        batches: the progress of enqueued URLs.
        jobs: the job queues of other programs.
        crawls: controls crawls.
        texts: extracts the main text of pages.
        graphs: applications' graphs.
        kinds: the kinds of items in `extract`; None if this process does not know them.
        explain: explains URLs.
        tracer: creates spans for calls; None if tracing is off.
        takedowns_changed: called after each change to the takedowns, to notify producers. With
            `purge`, it also removes the URLs' data from Redis and the broker.
    """

    read: ReadStore | None = None
    enqueue: Enqueue | None = None
    fetching: Fetching | None = None
    batches: BatchTracker | None = None
    jobs: Jobs | None = None
    crawls: CrawlControl | None = None
    explain: Explain | None = None
    texts: PageTexts = dataclasses.field(default_factory=PageTexts)
    graphs: ApplicationGraphs = dataclasses.field(default_factory=no_graphs)
    kinds: frozenset[str] | None = None
    tracer: Tracer | None = None
    takedowns_changed: TakedownsChanged = no_notification

    def arguments(self) -> dict[str, Any]:
        """Return these services as keyword arguments, for constructors that take them."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(OtherParts)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts(OtherParts):
    """
    The store and all other services that operations use.

    Args:
        store: the store to read and write.
        writers: decides who may write which fields.
        stopping: returns True while the server is stopping, which ends waiting calls.
    """

    store: UrlStore
    writers: FieldWriters = dataclasses.field(default_factory=lambda: FieldWriters({}))
    stopping: Callable[[], bool] = lambda: False


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of an operation, and the services that the operation can use."""

    parts: Parts
    token: str | None = None
    """The token's name (a `Token` on a server), or None if no token is required."""
    admit: Callable[[int], None] | None = None
    """Called with the content's size before it is read. Raises if there is not enough memory."""
    door: str = ""
    """`http` or `thrift`; empty for Python without a server."""

    @property
    def store(self) -> UrlStore:
        return self.parts.store

    def read(self, call: Callable[[UrlStore], T]) -> T:
        """Read from the store, or from its standby if the store is slow."""
        result: T = self.read_with_origin(call)[0]
        return result

    def read_with_origin(self, call: Callable[[UrlStore], T]) -> tuple[T, bool]:
        """Like `read`, but also returns whether the standby responded."""
        return (self.parts.read or unhedged(self.parts.store))(call)


def need(part: T | None, what: str) -> T:
    """
    Return a service that the operation needs.

    Raises:
        Unsupported: this server does not have the service. The message is `what`.
    """
    if part is None:
        raise Unsupported(what)
    return part


class Form(StrEnum):
    """How a response is represented over HTTP."""

    JSON = auto()
    RECORD = auto()
    """JSON with an ETag, or 304 if the client has the current version."""
    FRESH = auto()
    """Like `RECORD`, with the record's age."""
    RECORDS = auto()
    """JSON with a status for each item, built from stored data without intermediate objects."""
    CONTENT = auto()
    """Raw bytes, or a range of them."""
    FEED = auto()
    """JSON, or server-sent events."""


@dataclass(frozen=True, slots=True)
class HttpRoute:
    """
    An operation's HTTP method and path.

    Args:
        method, path: the method and path of requests. Options that are not in the path are in the
            query for GET, PUT and DELETE, and otherwise in a JSON object.
        status: the status of a successful response with a body. A response without a body has
            status 204.
        member: the JSON member that contains the response, if the response is not an object itself.
        missing: the problem returned if nothing is stored.
        form: how the response is represented.
        selects: query parameters and their values that select this operation among those on the
            same route. A route's first operation is the default.
        selected_by: parameters that select this operation if any of them is present.
        fixed: options that have a fixed value on this route.
        in_query: options that are in the query even though the request has a body.
        next_link: True if a response with a cursor has a Link header to the next page (RFC 8288).
        pending: the response member that is true while the work continues. The status is then 202.
        other_routes: other routes of the operation.
        text: what this route does, if it differs from the operation's first line.
    """

    method: str
    path: str
    status: int = 200
    member: str | None = None
    missing: str = "there is no record of this URL"
    form: Form = Form.JSON
    selects: Mapping[str, str] = dataclasses.field(default_factory=dict)
    selected_by: tuple[str, ...] = ()
    fixed: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    in_query: tuple[str, ...] = ()
    next_link: bool = False
    pending: str | None = None
    other_routes: tuple[HttpRoute, ...] = ()
    text: str = ""

    @property
    def has_body(self) -> bool:
        return self.method in ("POST", "PATCH") or bool(self.in_query)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation(Generic[P, R]):
    """
    One operation.

    `P` stands for the options, as a Python caller passes them. `R` is the response, or None if
    nothing is stored.
    """

    name: str
    request: type[Any]
    run: Callable[[Caller, Any], Any]
    """Returns the response, or `Steps` that return it for a waiting call."""
    response_type: Any
    """The type of the response."""
    scope: str
    pool: Pool
    repeatable: Callable[[Any], bool]
    """Returns True if a client that does not know the outcome may repeat this request."""
    waits: bool
    """True if a call may wait for as long as its caller requests, without occupying a thread."""
    runs_in_steps: bool
    """True if `run` returns `Steps`. A step occupies a thread only while it runs."""
    split_option: str | None
    """The option whose list clients split over several requests if it is too long."""
    http: HttpRoute | None
    thrift: tuple[str, str] | None
    """The service and method in Thrift, or None if Thrift does not offer the operation."""
    tool: bool
    """True if a language model may call it as a tool."""
    text: str

    @property
    def routes(self) -> tuple[HttpRoute, ...]:
        """The HTTP routes. Clients use the last route whose fixed options match."""
        return () if self.http is None else (self.http, *self.http.other_routes)

    @property
    def required_scope(self) -> str:
        """
        The scope that is checked before the request is read.

        If the request selects an application's graph, `scope@graph` is checked once the request
        has been read (`require_graph`).
        """
        return f"{self.scope}@" if self.in_graphs else self.scope

    @property
    def in_graphs(self) -> bool:
        return any(field.name == "graph" for field in self.fields)

    @property
    def fields(self) -> tuple[OptionField, ...]:
        return option_fields(self.request)  # type: ignore[arg-type] # classes are hashable


def _is_always_repeatable(_request: Any) -> bool:
    return True


class OperationDecorator(Protocol[P, Q_co]):
    """The decorator that `operation` returns. It turns a function into an operation."""

    @overload
    def __call__(self, run: Callable[[Caller, Q_co], Steps[R]], /) -> Operation[P, R]: ...
    @overload
    def __call__(self, run: Callable[[Caller, Q_co], R], /) -> Operation[P, R]: ...


def _return_type(run: Callable[..., Any]) -> Any:
    return_type = typing.get_type_hints(run)["return"]
    if typing.get_origin(return_type) is Generator:
        return typing.get_args(return_type)[-1]
    return return_type


def _takes_graph(request: Any) -> bool:
    return any(field.name == "graph" for field in dataclasses.fields(request))


def _with_graph_check(
    run: Callable[[Caller, Any], Any], scope: str
) -> Callable[[Caller, Any], Any]:
    """Wrap the function, to check first whether the token may use the request's graph."""

    @wraps(run)
    def checked_run(caller: Caller, request: Any) -> Any:
        require_graph(caller.token, scope, request.graph)
        return run(caller, request)

    return checked_run


def operation(
    request: Callable[P, Q],
    *,
    http: HttpRoute | None,
    thrift: str | None,
    scope: str = READ,
    pool: Pool = Pool.STORE,
    repeatable: Callable[[Q], bool] = _is_always_repeatable,
    waits: bool = False,
    split_option: str | None = None,
    tool: bool = True,
) -> OperationDecorator[P, Q]:
    """
    Turn a function of a caller and a request into an operation.

    Args:
        request: the class of its requests, a frozen dataclass whose fields have an `Option`.
        http: its route, or None if it is not available over HTTP.
        thrift: its Thrift name, `Service.method`, or None if it is not available over Thrift.
        scope: the scope that a token needs.
        pool: the component that it waits for.
        repeatable: returns True if a client may repeat a request.
        waits: True if a call waits as long as its caller requests. The function is then a generator
            (`Steps`).
        split_option: the option whose list clients may split over several requests.
        tool: True if a language model may call it as a tool; False for calls by workers.
    """

    def define(run: Callable[[Caller, Q], Any]) -> Operation[P, Any]:
        service, _, method = (thrift or "").partition(".")
        return Operation(
            name=run.__name__,
            request=cast("type", request),
            run=_with_graph_check(run, scope) if _takes_graph(request) else run,
            response_type=_return_type(run),
            scope=scope,
            pool=pool,
            repeatable=repeatable,
            waits=waits,
            runs_in_steps=inspect.isgeneratorfunction(run),
            split_option=split_option,
            http=http,
            thrift=(service, method) if thrift else None,
            tool=tool,
            text=(run.__doc__ or "").strip(),
        )

    return cast("OperationDecorator[P, Q]", define)
