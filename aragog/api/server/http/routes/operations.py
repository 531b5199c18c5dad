"""HTTP routes for operations."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Generator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from aragog.api.json_values import build_request, check_known_names, fresh_json, from_query, to_json
from aragog.api.operations.operation import Caller, Form, HttpRoute, Operation, Parts
from aragog.api.operations.options import validate_options
from aragog.api.operations.scopes import WRITE
from aragog.api.operations.steps import run_steps_async
from aragog.api.operations.table import Choice
from aragog.api.operations.values import FetchedPage
from aragog.api.problems import Problem
from aragog.api.server.call_spans import call_span
from aragog.api.server.http.batch_get import read_urls
from aragog.api.server.http.calls import StoreCalls, json_response, tagged_response
from aragog.api.server.http.etags import expected_version
from aragog.api.server.http.parameters import Query, json_object, refuse_cross_site
from aragog.api.server.http.routes.contents import content_response
from aragog.api.server.memory import GrowingBytes, MemoryLimit
from aragog.api.server.tokens import Tokens
from aragog.errors import BadInput
from aragog.observability.tracing.context import HEADER, read
from aragog.urlstore.field_formats import FieldFormats

Endpoint = Callable[[Request], Awaitable[Response]]


class OperationRoutes:
    """
    Runs operations for HTTP requests.

    Args:
        calls: threads and deadlines.
        parts: the services that operations use.
        tokens: decides who may run which operation.
        unsent: counts the large responses of all connections.
    """

    def __init__(
        self, calls: StoreCalls, parts: Parts, tokens: Tokens, unsent: MemoryLimit
    ) -> None:
        self._calls = calls
        self._parts = parts
        self._tokens = tokens
        self._unsent = unsent

    def endpoint(self, choices: Sequence[Choice]) -> Endpoint:
        return partial(self._respond, choices, _query_names(choices))

    async def _respond(
        self, choices: Sequence[Choice], known_names: Collection[str], parse_request: Request
    ) -> Response:
        parameters = Query(parse_request).values()
        check_known_names(parameters, known_names, "unknown query parameter")
        operation, route = _choose_operation(choices, parameters)
        # The scope for the route's first operation was already checked.
        if operation.required_scope != choices[0][0].required_scope:
            header = parse_request.headers.get("authorization")
            self._tokens.check(header, operation.required_scope, counts=False)
        if route.method == "GET" and operation.scope == WRITE:
            refuse_cross_site(parse_request)
        operation_request = await self.parse_request(operation, route, parse_request, parameters)
        caller = parse_request.headers.get(HEADER, "")
        attributes = {"http.request.method": route.method, "http.route": route.path}
        span = call_span(self._parts.tracer, caller, f"{route.method} {route.path}", attributes)
        with span as context:
            return await self._run_and_respond(
                operation, route, parse_request, _with_trace(operation_request, context)
            )

    async def _run_and_respond(
        self,
        operation: Operation[Any, Any],
        route: HttpRoute,
        parse_request: Request,
        operation_request: Any,
    ) -> Response:
        if route.form is Form.RECORDS:
            return await self._records(operation_request)
        with GrowingBytes(self._unsent) as response_memory:
            result = await self.run(operation, operation_request, parse_request, response_memory)
            return self.build_response(operation, route, parse_request, operation_request, result)

    async def run(
        self,
        operation: Operation[Any, Any],
        operation_request: Any,
        parse_request: Request,
        response_memory: GrowingBytes | None = None,
    ) -> Any:
        """
        Run an operation in its pool's threads, within their deadline, and return its result.
        Content is counted in `response_memory` before it is read, and while the result waits for
        the event loop.

        Raises:
            Problem: 503, there is no memory for the content.
            BadInput: an option is invalid.
            Overloaded, TimeoutError: see `StoreCalls`.
        """
        checked_request = validate_options(operation_request)
        admit = None if response_memory is None else response_memory.require
        caller = Caller(self._parts, parse_request.scope.get("aragog.token"), admit, "http")
        if operation.runs_in_steps:
            steps: Generator[Any, None, Any] = operation.run(caller, checked_request)
            return await run_steps_async(steps, self._calls.runner(operation.pool))

        return await self._calls.runner(operation.pool)(
            lambda: operation.run(caller, checked_request)
        )

    async def parse_request(
        self, operation: Operation[Any, Any], route: HttpRoute, parse_request: Request,
        parameters: dict[str, str],
    ) -> Any:  # fmt: skip
        members: dict[str, Any] = dict(parse_request.path_params)
        if route.has_body:
            members |= await self._body(operation, route, parse_request)
            members |= {name: parameters.get(name) or None for name in route.in_query}
            operation_request = build_request(operation.request, members, self._parts.store.formats)
        else:
            operation_request = from_query(operation.request, parameters | members)
        implied_values = dict(route.fixed)
        if any(field.name == "if_version" for field in operation.fields):
            implied_values["if_version"] = expected_version(parse_request)
        return replace(operation_request, **implied_values) if implied_values else operation_request

    async def _body(
        self, operation: Operation[Any, Any], route: HttpRoute, parse_request: Request
    ) -> dict[str, Any]:
        by_format = any(field.option.by_format for field in operation.fields)
        body = await json_object(parse_request, exact=by_format)
        names_elsewhere = {"", *route.in_query, *parse_request.path_params}
        names = {field.http for field in operation.fields} - names_elsewhere
        check_known_names(body, names, "unknown member of the body")
        return body

    async def _records(self, operation_request: Any) -> Response:
        """Return a batch of records, like the operation `get_many`, but faster."""
        request_options, read = validate_options(operation_request), self._calls.read_store
        with GrowingBytes(self._unsent) as response_memory:
            results = await self._calls.metadata(
                lambda _: read_urls(
                    read,
                    request_options.urls,
                    request_options.fields,
                    response_memory,
                    request_options.purpose,
                )
            )
            response_memory.require_copy()
            return json_response({"results": results})

    def build_response(
        self,
        operation: Operation[Any, Any],
        route: HttpRoute,
        parse_request: Request,
        operation_request: Any,
        result: Any,
    ) -> Response:
        if result is None and operation.response_type is not type(None):
            raise Problem(404, route.missing)
        if result is None or route.status == 204:
            return Response(None, 204)
        if route.form is Form.CONTENT:
            return content_response(parse_request, result)
        if route.form is Form.FRESH:
            return _fresh_response(parse_request, result, self._parts.store.formats)
        body = to_json(result, self._parts.store.formats)
        if route.form is Form.RECORD:
            return tagged_response(parse_request, body, result.version)
        headers = {}
        if route.next_link and result.cursor:
            next_query = Query(parse_request).values() | dict(route.selects)
            next_query |= {"limit": str(operation_request.limit), "cursor": result.cursor}
            headers["Link"] = f'<{route.path}?{urlencode(next_query)}>; rel="next"'
        status = 202 if route.pending and getattr(result, route.pending) else route.status
        return json_response({route.member: body} if route.member else body, status, headers)


def _query_names(choices: Sequence[Choice]) -> frozenset[str]:
    names: set[str] = set()
    for operation, route in choices:
        route_names = (
            route.in_query if route.has_body else [field.http for field in operation.fields]
        )
        names.update(route_names, route.selects)
    return frozenset(name for name in names if name and f"{{{name}}}" not in choices[0][1].path)


def _with_trace(operation_request: Any, context: str) -> Any:
    """Let an enqueuing request join the call's trace, unless it has its own traceparent."""
    if getattr(operation_request, HEADER, None) != "" or read(context) is None:
        return operation_request
    return replace(operation_request, traceparent=context)


def _fresh_response(parse_request: Request, page: FetchedPage, formats: FieldFormats) -> Response:
    """Return the record with its age, or a 404 problem with the age."""
    body = fresh_json(page, formats)
    if page.record is None:
        detail = page.reason or "there is no record of this URL yet"
        raise Problem(404, detail, {"Retry-After": "1"} if page.fetching else None, body)
    return tagged_response(parse_request, body, page.record.version)


def _choose_operation(choices: Sequence[Choice], parameters: dict[str, str]) -> Choice:
    """
    Return the operation that the query selects. If a parameter only selects the operation, removes
    it from `parameters`.
    """
    for name, default in choices[0][1].selects.items():
        value = parameters.pop(name, "") or default
        choices_by_value = {choice[1].selects[name]: choice for choice in choices}
        if value not in choices_by_value:
            raise BadInput(f"{name}: must be {' or '.join(choices_by_value)}")
        return choices_by_value[value]
    for operation, route in choices:
        if present := [name for name in route.selected_by if name in parameters]:
            _refuse_empty_lists(operation, present, parameters)
            return operation, route
    return next(choice for choice in choices if not choice[1].selected_by)


def _refuse_empty_lists(
    operation: Operation[Any, Any], present: Sequence[str], parameters: dict[str, str]
) -> None:
    """Refuse an empty list that selects an operation. It could mean everything or nothing."""
    for field in operation.fields:
        if (
            field.origin is Sequence
            and field.http in present
            and not parameters[field.http].strip(",")
        ):
            raise BadInput(f"{field.http}: must not be empty; omit it to select all")
