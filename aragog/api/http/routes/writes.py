"""The routes that write fields and delete records: conditions are in headers, as HTTP has them."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from aragog.api import writing
from aragog.api.http.calls import json_response
from aragog.api.http.parameters import Query, json_object
from aragog.api.http.routes.operations import OperationRoutes
from aragog.errors import BadInput
from aragog.urlstore.store import UrlStore

_MEMBERS = {"fields", "at_ms", "provenance"}


class Writes:
    """
    The write routes over one UrlStore.

    Args:
        store: whose formats the values have.
        operations: makes the writes.
    """

    def __init__(self, store: UrlStore, operations: OperationRoutes) -> None:
        self._store = store
        self._operations = operations

    async def put(self, request: Request) -> Response:
        """`PUT /v1/urls`: write these fields and delete all others."""
        return await self._write(request, replace=True)

    async def patch(self, request: Request) -> Response:
        """`PATCH /v1/urls`: write these fields, delete those that are null, keep the others."""
        return await self._write(request, replace=False)

    async def _write(self, request: Request, *, replace: bool) -> Response:
        url, version = Query(request).required("url"), _expected_version(request)
        body: dict[str, Any] = await json_object(request, exact=True)
        values = body.get("fields")
        if not isinstance(values, dict) or body.keys() - _MEMBERS:
            raise BadInput('the body must be {"fields": {name: value}}')
        read = self._store.formats.from_json
        made = writing.PutRequest(
            url,
            {name: read(name, value) for name, value in values.items() if value is not None},
            at_ms=body.get("at_ms"),
            provenance=body.get("provenance"),
            if_version=version,
            deleted=[name for name, value in values.items() if value is None],
            replace=replace,
        )
        written = await self._operations.run(writing.put, made, request)
        return json_response({"version": written})

    async def delete(self, request: Request) -> Response:
        """`DELETE /v1/urls`: delete some fields, or the record; a later fetch restores it."""
        query = Query(request)
        url, names = query.required("url"), query.names("fields")
        version = _expected_version(request)
        if names is not None and not names:
            raise BadInput("fields: name at least one, or leave it out to delete the record")
        if names is None:
            removal = writing.RemoveRequest(url, if_version=version)
            await self._operations.run(writing.remove, removal, request)
        else:
            deletion = writing.DeleteFieldsRequest(url, names, if_version=version)
            await self._operations.run(writing.delete_fields, deletion, request)
        return Response(None, 204)


def _expected_version(request: Request) -> str | None:
    """The version in If-Match, "" for `If-None-Match: *`, None if neither is sent."""
    if request.headers.get("if-none-match", "").strip() == "*":
        return ""
    tag = request.headers.get("if-match", "").strip()
    if not tag:
        return None
    if tag == writing.ANY_VERSION:
        return tag
    if not (tag.startswith('"') and tag.endswith('"') and len(tag) > 2):
        raise BadInput("If-Match: must be one ETag as this server sent it")
    return tag.strip('"').partition(".")[0]
