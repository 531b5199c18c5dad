"""Routes whose representation is their operation's request and answer as JSON."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from aragog.api.http.calls import StoreCalls, json_response
from aragog.api.http.parameters import Query, json_object
from aragog.api.json_values import from_query, request_of, to_json
from aragog.api.operation import Caller, HttpRoute, Operation, Parts
from aragog.api.problems import Problem
from aragog.api.steps import finished_async
from aragog.options import checked


class OperationRoutes:
    """
    Makes operations for requests.

    Args:
        calls: threads and deadlines.
        parts: what operations use.
    """

    def __init__(self, calls: StoreCalls, parts: Parts) -> None:
        self._calls = calls
        self._parts = parts

    async def answer(self, operation: Operation[Any, Any], request: Request) -> Response:
        """The response to a request for an operation."""
        route = operation.http
        if route is None:
            raise Problem(501, f"{operation.name} cannot be called over HTTP")
        result = await self.run(operation, await self._request(operation, route, request), request)
        if result is None and operation.answer is not type(None):
            raise Problem(404, route.missing)
        if result is None:
            return Response(None, 204)
        body = to_json(result, self._parts.store.formats)
        return json_response({route.member: body} if route.member else body, route.status)

    async def run(self, operation: Operation[Any, Any], made: Any, request: Request) -> Any:
        """
        The answer of an operation, in threads of its kind and within their deadline.

        Raises:
            BadInput: an option is invalid.
            Overloaded, TimeoutError: as `StoreCalls`.
        """
        accepted = checked(made)
        caller = Caller(self._parts, request.scope.get("aragog.token"))
        if operation.waits:
            steps: Generator[Any, None, Any] = operation.run(caller, accepted)
            return await finished_async(steps, self._calls.runner(operation.pool))
        return await self._calls.runner(operation.pool)(lambda: operation.run(caller, accepted))

    async def _request(
        self, operation: Operation[Any, Any], route: HttpRoute, request: Request
    ) -> Any:
        members: dict[str, Any] = dict(request.path_params)
        if route.method in ("POST", "PATCH"):
            by_format = any(field.option.by_format for field in operation.fields)
            members |= await json_object(request, exact=by_format)
            return request_of(operation.request, members, self._parts.store.formats)
        query = Query(request)
        return from_query(operation.request, query.texts() | members)
