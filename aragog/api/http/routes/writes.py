"""The API's write routes: write fields, delete records, and enqueue URLs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from aragog.api.auth.field_writers import FieldWriters
from aragog.api.http.calls import StoreCalls, json_response
from aragog.api.http.parameters import MOST_URLS, Query, json_object, request_id, strings
from aragog.api.http.services import Services
from aragog.api.problems import Problem
from aragog.errors import BadInput, VersionConflict
from aragog.pipeline.progress.url_batches import checked_id
from aragog.pipeline.stages.enqueue import LATEST_RUN_AFTER_MS
from aragog.urlstore.store import UrlStore

MOST_DEPTH = 100
ANY_VERSION = "*"
"""`If-Match: *`: the record must exist (RFC 9110, 13.1.1)."""


class Writes:
    """
    The write routes over one UrlStore.

    Args:
        calls: runs store calls.
        services: enqueue URLs and report their progress.
    """

    def __init__(self, calls: StoreCalls, services: Services) -> None:
        self._calls = calls
        self._writers = FieldWriters(calls.settings.field_writers)
        self._enqueue = services.enqueue
        self._batches = services.batches

    async def put(self, request: Request) -> Response:
        """`PUT /v1/urls`: write these fields and delete all others."""
        return await self._write(request, replace=True)

    async def patch(self, request: Request) -> Response:
        """`PATCH /v1/urls`: write these fields, delete those that are null, keep the others."""
        return await self._write(request, replace=False)

    async def _write(self, request: Request, *, replace: bool) -> Response:
        url, version = Query(request).required("url"), _expected_version(request)
        body = await json_object(request, exact=True)
        values = body.get("fields")
        if not isinstance(values, dict) or body.keys() != {"fields"}:
            raise BadInput('the body must be {"fields": {name: value}}')
        formats = self._calls.store.formats
        fields = {n: formats.from_json(n, v) for n, v in values.items() if v is not None}
        deleted = [name for name, value in values.items() if value is None]
        self._calls.store.fields.check_names(deleted)
        token = request.scope.get("aragog.token")
        self._writers.check(token, values)
        if replace:
            await self._calls.metadata(partial(self._writers.check_all, token), url)
        stored_version = await self._calls.metadata(
            _write, url, fields, deleted, replace=replace, if_version=version
        )
        return json_response({"version": stored_version})

    async def delete(self, request: Request) -> Response:
        """`DELETE /v1/urls`: delete some fields, or the record; a later fetch restores it."""
        query = Query(request)
        url, names = query.required("url"), query.names("fields")
        token, version = request.scope.get("aragog.token"), _expected_version(request)
        if names is not None and not names:
            raise BadInput("fields: name at least one, or leave it out to delete the record")
        if names is None:
            await self._calls.metadata(partial(self._writers.check_all, token), url)
        else:
            self._writers.check(token, names)
        await self._calls.metadata(_delete, url, names, if_version=version)
        return Response(None, 204)

    async def enqueue(self, request: Request) -> Response:
        """`POST /v1/enqueue`: enqueue up to 1,000 URLs, with a result for each."""
        body = await json_object(request)
        if self._enqueue is None:
            raise Problem(501, "this server does not enqueue")
        send, options = self._enqueue, _enqueue_options(body)
        urls, batch = strings(body, "urls", MOST_URLS), _batch_id(body)
        results = await self._calls.broker(lambda: list(send(urls, **options)))
        response: dict[str, Any] = {
            "results": [
                {
                    "input": result.input,
                    "status": result.status,
                    "url": result.url,
                    "reason": result.reason,
                }
                for result in results
            ]
        }
        if (batches := self._batches) is not None:
            after_ms = options.get("run_after", 0)
            response["batch"] = await self._calls.broker(
                lambda: batches.add(batch, results, after_ms)
            )
        return json_response(response, 202)

    async def progress(self, request: Request) -> Response:
        """`GET /v1/batches/{batch}`: how many of its URLs are left, and when they will be done."""
        if (batches := self._batches) is None:
            raise Problem(501, "this server has no batches")
        batch = checked_id(request.path_params["batch"])
        progress = await self._calls.broker(lambda: batches.progress(batch))
        if progress is None:
            raise Problem(404, "this batch is unknown, or older than three days")
        return json_response(progress)


def _write(
    store: UrlStore,
    url: str,
    fields: Mapping[str, bytes],
    deleted: Iterable[str],
    *,
    replace: bool,
    if_version: str | None,
) -> str:
    """
    Write before deleting, so that a refused write deletes nothing.

    A replacement deletes the values that were there before it, and none that another writer, who
    knows the new version already, has put meanwhile.
    """
    record = store.get(url, info=True) if replace else None
    version = store.put(url, fields, if_version=_checked(store, url, if_version))
    if record is None:
        gone = list(deleted)
        return store.delete_fields(url, gone) if gone else version
    gone = [name for name in record.fields if name not in fields]
    if not gone:
        return version
    return store.delete_fields(url, gone, at_ms=max(record.info[name].at_ms for name in gone))


def _delete(
    store: UrlStore, url: str, names: Sequence[str] | None, *, if_version: str | None
) -> None:
    version = _checked(store, url, if_version)
    if version is not None:
        # This takes the version, so that one of several conditional writers succeeds.
        store.put(url, {}, if_version=version)
    if names is None:
        store.remove(url)
    else:
        store.delete_fields(url, names)


def _checked(store: UrlStore, url: str, if_version: str | None) -> str | None:
    """The version to write on; for any, None once it is known that there is a record."""
    if if_version != ANY_VERSION:
        return if_version
    if store.get(url, ()) is None:
        raise VersionConflict(url, "any", "")
    return None


def _expected_version(request: Request) -> str | None:
    """The version in If-Match, "" for `If-None-Match: *`, None if neither is sent."""
    if request.headers.get("if-none-match", "").strip() == "*":
        return ""
    tag = request.headers.get("if-match", "").strip()
    if not tag:
        return None
    if tag == ANY_VERSION:
        return tag
    if not (tag.startswith('"') and tag.endswith('"') and len(tag) > 2):
        raise BadInput("If-Match: must be one ETag as this server sent it")
    return tag.strip('"').partition(".")[0]


def _batch_id(body: dict[str, Any]) -> str | None:
    batch = body.get("batch")
    if batch is not None and not isinstance(batch, str):
        raise BadInput("batch: must be an id as this route returned it")
    return None if batch is None else checked_id(batch)


def _enqueue_options(body: dict[str, Any]) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for name, most in (("priority", 9), ("depth", MOST_DEPTH), ("run_after", LATEST_RUN_AFTER_MS)):
        if (value := body.get(name)) is not None:
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
                raise BadInput(f"{name}: must be a whole number from 0 to {most}")
            options[name] = value
    if tracing_id := request_id(body):
        options["request_id"] = tracing_id
    for name in ("refresh", "sitemap"):
        if (value := body.get(name)) is not None:
            if not isinstance(value, bool):
                raise BadInput(f"{name}: must be true or false")
            options[name] = value
    return options
