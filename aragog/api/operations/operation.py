"""
What an operation is: a call that other programs can make, whatever protocol carries it.

An operation is a function of a `Caller` and a typed request, with its properties beside it: the
scope that a token needs, whether it may be repeated, what it blocks on, and its names over HTTP and
Thrift. Servers, clients and documents are derived from these (docs/extending.md).
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
    # The types of parts: commands that only read do without the clients of a broker.
    from aragog.api.operations.batch_progress import Batches
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
    """The part an operation blocks on; each kind has its own threads, so none delays another."""

    STORE = auto()
    CONTENT = auto()
    FEED = auto()
    BROKER = auto()
    FETCH = auto()
    EXPLAIN = auto()
    """All parts of the system, one after the other."""


Enqueue = Callable[..., "Iterable[EnqueueResult]"]
"""Enqueues URLs as `aragog.client.Aragog.enqueue` does."""
Explain = Callable[[str], "Explanation"]
"""Explains a URL in any spelling; raises InvalidUrl if it cannot be normalized."""


class TakedownsChanged(Protocol):
    """Notifies the rest of the system that the takedowns changed."""

    def __call__(self, *, purge: bool) -> object: ...


def unshared(*, purge: bool) -> None:
    """There is no other part to tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherParts:
    """
    What operations use beside the store. Those of a part that is None raise `Unsupported`.

    Args:
        read: makes reads of the store, or of its standby; None: there is no standby.
        enqueue: enqueues URLs.
        fetching: fetches for callers who wait.
        batches: the progress of enqueued URLs.
        jobs: the job queues of other programs.
        crawls: controls crawls.
        texts: finds the main texts of pages.
        graphs: the graphs of applications.
        kinds: the names of the kinds of items in `extract`; None: they are not known here.
        explain: explains URLs.
        tracer: makes the spans of calls; None: tracing is off.
        takedowns_changed: called after each change of the takedowns, to tell producers, and with
            `purge` to remove what Redis and the broker hold of what was taken down.
    """

    read: ReadStore | None = None
    enqueue: Enqueue | None = None
    fetching: Fetching | None = None
    batches: Batches | None = None
    jobs: Jobs | None = None
    crawls: CrawlControl | None = None
    explain: Explain | None = None
    texts: PageTexts = dataclasses.field(default_factory=PageTexts)
    graphs: ApplicationGraphs = dataclasses.field(default_factory=no_graphs)
    kinds: frozenset[str] | None = None
    tracer: Tracer | None = None
    takedowns_changed: TakedownsChanged = unshared

    def arguments(self) -> dict[str, Any]:
        """These parts as arguments, for what has them among others."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(OtherParts)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts(OtherParts):
    """
    What operations use.

    Args:
        store: the store to read and write.
        writers: who may write which fields.
        stopping: true while the server stops: calls that wait end.
    """

    store: UrlStore
    writers: FieldWriters = dataclasses.field(default_factory=lambda: FieldWriters({}))
    stopping: Callable[[], bool] = lambda: False


@dataclass(frozen=True, slots=True)
class Caller:
    """Who makes a call, and the parts of the system that serve it."""

    parts: Parts
    token: str | None = None
    """The token's name, a `Token` behind a server; None: none is required."""
    admit: Callable[[int], None] | None = None
    """Called with the size of a content before it is read; raises if there is no room for it."""
    door: str = ""
    """`http` or `thrift`; empty: Python, without a server."""

    @property
    def store(self) -> UrlStore:
        """The store to write."""
        return self.parts.store

    def read(self, call: Callable[[UrlStore], T]) -> T:
        """A read of the store, or of its standby if the store is late."""
        result: T = self.read_marked(call)[0]
        return result

    def read_marked(self, call: Callable[[UrlStore], T]) -> tuple[T, bool]:
        """The same, and whether the standby answered."""
        return (self.parts.read or unhedged(self.parts.store))(call)


def need(part: T | None, what: str) -> T:
    """
    A part that the operation needs.

    Raises:
        Unsupported: this server does not have it.
    """
    if part is None:
        raise Unsupported(what)
    return part


class Form(StrEnum):
    """How an answer is represented over HTTP."""

    JSON = auto()
    RECORD = auto()
    """JSON with an ETag; 304 if the client has it."""
    FRESH = auto()
    """The same of a record that may be fetched first, and how old it is."""
    RECORDS = auto()
    """JSON with a status for each item, made from the store without objects in between."""
    CONTENT = auto()
    """The bytes as they are, or a range of them."""
    FEED = auto()
    """JSON, or events that the server sends."""


@dataclass(frozen=True, slots=True)
class HttpRoute:
    """
    Where an operation is over HTTP.

    Args:
        method, path: of its requests; options are in the query for GET, PUT and DELETE, in a JSON
            object otherwise, unless the path names them.
        status: of a success with an answer; one without an answer is 204.
        member: the member of the JSON object that holds an answer which is not an object.
        missing: the problem where nothing is there.
        form: how the answer is represented.
        selects: parameters of the query that choose this operation among those of its route, each
            with its value; the first operation of a route is the default.
        given: parameters of which any one that is present chooses this operation.
        fixed: options that the route says.
        in_query: options in the query of a request that has a body.
        next_link: an answer with a cursor has a Link header to what follows it (RFC 8288).
        pending: the member of an answer that is true while the work goes on; the status is then
            202.
        also: other routes of the operation.
        text: what this route does, where that is not the first line of the operation.
    """

    method: str
    path: str
    status: int = 200
    member: str | None = None
    missing: str = "there is no record of this URL"
    form: Form = Form.JSON
    selects: Mapping[str, str] = dataclasses.field(default_factory=dict)
    given: tuple[str, ...] = ()
    fixed: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    in_query: tuple[str, ...] = ()
    next_link: bool = False
    pending: str | None = None
    also: tuple[HttpRoute, ...] = ()
    text: str = ""

    @property
    def has_body(self) -> bool:
        """Whether requests have a JSON object as body."""
        return self.method in ("POST", "PATCH") or bool(self.in_query)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation(Generic[P, R]):
    """
    One operation.

    `P` are the options as a caller in Python gives them, `R` is the answer; None: nothing is there.
    """

    name: str
    request: type[Any]
    run: Callable[[Caller, Any], Any]
    """Returns the answer, or `Steps` that do, for a call that waits."""
    answer: Any
    """The type of the answer."""
    scope: str
    pool: Pool
    repeatable: Callable[[Any], bool]
    """Whether a client may send this request again when it does not know what became of it."""
    waits: bool
    """It waits for something without a thread; `wait_s` is how long at most."""
    in_steps: bool
    """`run` returns `Steps`: it needs a thread only now and then."""
    in_parts: str | None
    """The list that a client divides into several requests if it is longer than one takes."""
    http: HttpRoute | None
    thrift: tuple[str, str] | None
    """The service and the method in the Thrift contract; None when it has none."""
    tool: bool
    """Whether a language model may get it as a tool."""
    text: str

    @property
    def routes(self) -> tuple[HttpRoute, ...]:
        """All its routes over HTTP; the first is the one that clients use."""
        return () if self.http is None else (self.http, *self.http.also)

    @property
    def gate(self) -> str:
        """
        What a token needs before the request is read.

        A graph of an application may be chosen in the request: then `scope@graph` is checked after
        it was read (`require_graph`).
        """
        return f"{self.scope}@" if self.in_graphs else self.scope

    @property
    def in_graphs(self) -> bool:
        """Whether it can be made on a graph of an application."""
        return any(field.name == "graph" for field in self.fields)

    @property
    def fields(self) -> tuple[OptionField, ...]:
        """Its options."""
        return option_fields(self.request)  # type: ignore[arg-type] # classes are hashable


def _always(_request: Any) -> bool:
    return True


class Defined(Protocol[P, Q_co]):
    """The decorator that `operation` returns, which makes an operation of a function."""

    @overload
    def __call__(self, run: Callable[[Caller, Q_co], Steps[R]], /) -> Operation[P, R]: ...
    @overload
    def __call__(self, run: Callable[[Caller, Q_co], R], /) -> Operation[P, R]: ...


def _answer(run: Callable[..., Any]) -> Any:
    """The type of what a function returns, or of what its steps do."""
    answer = typing.get_type_hints(run)["return"]
    if typing.get_origin(answer) is Generator:
        return typing.get_args(answer)[-1]
    return answer


def _takes_graph(request: Any) -> bool:
    return any(field.name == "graph" for field in dataclasses.fields(request))


def _in_graph(run: Callable[[Caller, Any], Any], scope: str) -> Callable[[Caller, Any], Any]:
    """The function, which first checks that the token may use the graph of the request."""

    @wraps(run)
    def allowed_run(caller: Caller, request: Any) -> Any:
        require_graph(caller.token, scope, request.graph)
        return run(caller, request)

    return allowed_run


def operation(
    request: Callable[P, Q],
    *,
    http: HttpRoute | None,
    thrift: str | None,
    scope: str = READ,
    pool: Pool = Pool.STORE,
    repeatable: Callable[[Q], bool] = _always,
    waits: bool = False,
    in_parts: str | None = None,
    tool: bool = True,
) -> Defined[P, Q]:
    """
    Make a function of a caller and a request an operation of the table.

    Args:
        request: the class of its requests, a frozen dataclass whose fields have an `Option`.
        http: its route; None: it has none.
        thrift: its name there, `Service.method`; None: it has none.
        scope: what a token needs.
        pool: what it blocks on.
        repeatable: whether a client may repeat a request.
        waits: it waits as long as its caller says; the function is a generator of waits.
        in_parts: the list that may be longer than one request takes.
        tool: whether a language model may get it as a tool; not the calls of workers.
    """

    def define(run: Callable[[Caller, Q], Any]) -> Operation[P, Any]:
        service, _, method = (thrift or "").partition(".")
        return Operation(
            name=run.__name__,
            request=cast("type", request),
            run=_in_graph(run, scope) if _takes_graph(request) else run,
            answer=_answer(run),
            scope=scope,
            pool=pool,
            repeatable=repeatable,
            waits=waits,
            in_steps=inspect.isgeneratorfunction(run),
            in_parts=in_parts,
            http=http,
            thrift=(service, method) if thrift else None,
            tool=tool,
            text=(run.__doc__ or "").strip(),
        )

    return cast("Defined[P, Q]", define)
