"""The API as an ASGI application, with the token scopes that its routes require."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from aragog.api.operations.field_writers import FieldWriters
from aragog.api.operations.operation import Parts
from aragog.api.operations.scopes import READ, WRITE
from aragog.api.operations.table import operations_by_route
from aragog.api.problems import Problem
from aragog.api.server.http.calls import StoreCalls
from aragog.api.server.http.compression import CompressedResponses
from aragog.api.server.http.fast_reads import FastReads
from aragog.api.server.http.middleware import RequestGuard
from aragog.api.server.http.observed import Observer
from aragog.api.server.http.read_batches import ReadBatches
from aragog.api.server.http.routes.changes import ChangesApi
from aragog.api.server.http.routes.lookup import Lookup
from aragog.api.server.http.routes.operations import Endpoint, OperationRoutes
from aragog.api.server.http.routes.status import PublishedRoutes, Status
from aragog.api.server.http.services import Services
from aragog.api.server.memory import SMALL_BYTES, MemoryLimit
from aragog.api.server.tokens import Tokens
from aragog.crawl.identity.published_files import Publication
from aragog.settings import ServingSettings
from aragog.urlstore.store import UrlStore

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
REQUEST_HEADERS = (
    "Authorization", "Content-Type", "If-Match", "If-None-Match", "If-Range", "Last-Event-ID",
    "Range", "Traceparent",
)  # fmt: skip
RESPONSE_HEADERS = ("Content-Range", "ETag", "Link", "Retry-After")
"""Response headers that scripts from the origins in `serving.cors_origins` may read."""


class Api:
    """
    The API for one UrlStore, as an ASGI application.

    Args:
        store: the store to read and write.
        settings: limits, deadlines and tokens.
        services: used in addition to the store. Routes whose service is missing return 501.
        tokens: the settings' tokens; pass them if the Thrift services share them.
    """

    def __init__(
        self,
        store: UrlStore,
        settings: ServingSettings,
        services: Services | None = None,
        tokens: Tokens | None = None,
    ) -> None:
        services = services or Services()
        self._calls = StoreCalls(store, settings, services.read, embedded=services.embedded)
        self._fetching = services.fetching
        self._tokens = tokens or Tokens(settings.tokens, settings.processes)
        self.parts = Parts(
            store=store,
            writers=FieldWriters(settings.field_writers),
            stopping=lambda: self._status.draining,
            **services.arguments(),
        )
        """The services that operations use. The process's other servers can share them."""
        self.unsent = MemoryLimit(settings.max_response_memory_bytes, "unread responses")
        """Limits the memory for large responses that clients have not read yet."""
        self._operations = OperationRoutes(self._calls, self.parts, self._tokens, self.unsent)
        self._changes = ChangesApi(
            self._calls, self._operations, max_readers=settings.max_in_flight
        )
        self._status = Status(self._calls, services.metrics)
        observer = Observer(settings)
        batches = ReadBatches(
            self._calls.read_store,
            self._calls.metadata_threads,
            self._calls.deadline_s,
            self.unsent,
        )
        hosts = (*settings.allowed_hosts, settings.host)
        self.fast_reads = FastReads(
            batches,
            self._tokens,
            hosts,
            observer,
            cors=bool(settings.cors_origins),
            traced=services.tracer is not None,
        )
        """Handles simple reads of records without the ASGI application."""
        guard = RequestGuard(CompressedResponses(self._build_router(services)), settings, observer)
        self.bodies = guard.bodies
        """Limits the memory for request bodies."""
        self._app: ASGIApp = guard
        if settings.cors_origins:
            self._app = CORSMiddleware(
                self._app,
                allow_origins=settings.cors_origins,
                allow_methods=METHODS,
                allow_headers=REQUEST_HEADERS,
                expose_headers=RESPONSE_HEADERS,
            )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)

    def drain(self) -> None:
        """Prepare to stop. Readiness checks now return 503, and waiting feed reads end."""
        self._status.draining = self._changes.draining = True

    def end_waits(self) -> None:
        """
        Respond to requests that are waiting for a fetch.

        This takes a lock, so signal handlers must not call it.
        """
        if self._fetching is not None:
            self._fetching.drain()

    @property
    def running_calls(self) -> int:
        """The number of store calls that are still running. After a drain, these are abandoned."""
        return self._calls.running

    def close(self) -> None:
        self._calls.close()

    def _build_router(self, services: Services) -> Router:
        status = self._status
        lookup = Lookup(self._calls, services, self._tokens)

        async def index_or_lookup(request: Request) -> Response:
            html = prefers_html(request.headers.getlist("accept"))
            return await (lookup.get(request) if html else status.index(request))

        paths: dict[str, dict[str, Endpoint]] = {"/metrics": {"GET": status.metrics}}
        for (path, method), operations in operations_by_route().items():
            paths.setdefault(path, {})[method] = self._operations.endpoint(operations)
        paths["/v1/changes"]["GET"] = self._changes.respond
        return Router(
            [
                *(self._route(path, methods) for path, methods in paths.items()),
                self._route("/", {"GET": index_or_lookup, "POST": lookup.post}, open_to_all=True),
                self._route("/docs", {"GET": status.docs}, open_to_all=True),
                self._route("/openapi.json", {"GET": status.openapi}, open_to_all=True),
                self._route("/healthz", {"GET": status.health}, open_to_all=True),
                self._route("/readyz", {"GET": status.ready}, open_to_all=True),
                *self._published_routes(services.publication),
            ],
            redirect_slashes=False,
            default=_unknown_path,
        )

    def _published_routes(self, publication: Publication | None) -> list[Route]:
        if publication is None:
            return []
        routes = PublishedRoutes(publication)
        return [
            self._route(path, {"GET": routes.respond}, open_to_all=True) for path in routes.paths
        ]

    def _route(
        self, path: str, methods: Mapping[str, Endpoint], *, open_to_all: bool = False
    ) -> Route:
        """Return the route for one path. Other methods get status 405."""
        allowed = sorted({*methods, "OPTIONS", *(["HEAD"] if "GET" in methods else [])})

        async def respond(request: Request) -> Response:
            request.scope["aragog.route"] = path
            method = "GET" if request.method == "HEAD" else request.method
            if method == "OPTIONS":
                return Response(None, 204, {"Allow": ", ".join(allowed)})
            endpoint = methods.get(method)
            if endpoint is None:
                raise Problem(
                    405, f"{method} is not supported by {path}", {"Allow": ", ".join(allowed)}
                )
            if open_to_all:
                request.scope["aragog.body"].lower_limit(SMALL_BYTES)
            else:
                header, scope = request.headers.get("authorization"), _required_scope(path, method)
                request.scope["aragog.token"] = self._tokens.check(header, scope)
            return await endpoint(request)

        # Without `methods`, Starlette passes every method to this endpoint.
        return Route(path, _Endpoint(respond, self.unsent))


class _Endpoint:
    """
    Wraps a function as an ASGI application. The middleware handles errors.

    Args:
        endpoint: creates the response.
        unsent: counts the response until the client has read nearly all of it.
    """

    def __init__(self, endpoint: Endpoint, unsent: MemoryLimit) -> None:
        self._respond = endpoint
        self._unsent = unsent

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self._respond(Request(scope, receive, send))
        with self._unsent.holding(len(getattr(response, "body", b""))):
            await response(scope, receive, send)


_SCOPES_BY_ROUTE = {
    route: operations[0][0].required_scope for route, operations in operations_by_route().items()
}


def _required_scope(path: str, method: str) -> str:
    return _SCOPES_BY_ROUTE.get((path, method), READ if method == "GET" else WRITE)


async def _unknown_path(_scope: Scope, _receive: Receive, _send: Send) -> None:
    raise Problem(404, "unknown path; see /openapi.json")


HTML, JSON = "text/html", "application/json"


def prefers_html(header_values: Iterable[str]) -> bool:
    """
    Return True if a client explicitly accepts HTML and does not prefer JSON.

    Args:
        header_values: the values of its Accept headers. Ranges such as `*/*` do not count, since
            programs send them by default.
    """
    weights = dict(map(_parse_weight, ",".join(header_values).split(",")))
    html = weights.get(HTML, 0.0)
    return html > 0 and html >= weights.get(JSON, 0.0)


def _parse_weight(text: str) -> tuple[str, float]:
    """Return a media type and its weight, or 0.0 if the weight cannot be parsed."""
    kind, *parameters = (part.strip().lower() for part in text.split(";"))
    weight = next((part[2:] for part in parameters if part.startswith("q=")), "1")
    digits = weight.replace(".", "", 1)
    return kind, float(weight) if digits.isascii() and digits.isdecimal() else 0.0
