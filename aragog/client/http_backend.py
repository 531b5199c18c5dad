"""
Calls operations over HTTP with JSON.

The time limit applies to a whole request. The standard adapter in `requests` would apply it to each
read of the response.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote

import orjson
import requests
from urllib3.exceptions import HTTPError
from urllib3.util import Timeout

from aragog.api.error_table import OVER_QUOTA, TAKEN_DOWN, VALUE_TAKEN
from aragog.api.json_values import (
    STORED_MEMBERS,
    build_record,
    parse_fresh_json,
    request_members,
    response_from_json,
    to_query,
)
from aragog.api.operations import crawling, reading, writing
from aragog.api.operations.crawling import GetFreshRequest
from aragog.api.operations.operation import HttpRoute, Operation
from aragog.api.operations.options import validate_options
from aragog.api.operations.page_texts import ORIGINAL
from aragog.api.operations.reading import ContentRequest, GetManyRequest, GetRequest
from aragog.api.operations.values import ContentPart, FetchedPage, PageRecord
from aragog.api.operations.writing import DeleteFieldsRequest, PutRequest
from aragog.client.http_deadlines import DeadlineAdapter
from aragog.errors import (
    AccessDenied,
    BadInput,
    PermanentError,
    QuotaExceeded,
    ServiceUnavailable,
    TakenDown,
    ValueTaken,
    VersionConflict,
)
from aragog.runtime.secret import without_login, without_password
from aragog.urlstore.field_formats import FieldFormats, parse

R = TypeVar("R")
_TRANSIENT_STATUSES = {408, 421, 429, 502, 503, 504}
_PIECE_BYTES = 1 << 20
_EMPTY_FACTS: Mapping[str, Any] = {"facts": {}, **dict.fromkeys(STORED_MEMBERS)}
_NO_RESPONSE = "no response in time"


class _Response(NamedTuple):
    status: int
    body: bytes
    headers: Mapping[str, str]


class HttpBackend:
    """
    See `Backend`.

    Values are sent as base64, so their exact bytes arrive. In responses, values are decoded
    according to their fields' formats, so JSON may be escaped differently. Fields without a known
    format are read as text.

    Args:
        address: the server's address, such as `http://127.0.0.1:8100`.
        token: a bearer token.
        pool_size: number of connections to keep open.
        field_formats: the server's `store.field_formats`.
    """

    def __init__(
        self, address: str, *, token: str | None, pool_size: int,
        field_formats: Mapping[str, str] | None,
    ) -> None:  # fmt: skip
        self._address = address.rstrip("/")
        self._display_address = without_password(self._address)
        self._formats = FieldFormats(field_formats)
        self._session = requests.Session()
        self._session.trust_env = False  # ignore proxies and ~/.netrc
        adapter = DeadlineAdapter(pool_connections=1, pool_maxsize=pool_size)
        self._session.mount(self._address, adapter)
        if token is not None:
            self._session.headers["Authorization"] = f"Bearer {token}"
        self._special_calls = {
            "get": self._get,
            "get_fresh": self._get_fresh,
            "get_many": self._get_many,
            "content_part": self._get_content,
            "delete_fields": self._delete_fields,
        }
        """Operations whose HTTP requests need more than their options as JSON."""

    def call(self, operation: Operation[Any, R], request: Any, *, limit_s: float) -> R:
        special_call = self._special_calls.get(operation.name)
        result: R
        if special_call is not None:
            result = special_call(request, limit_s)  # type: ignore[operator]
            return result
        result = self._call_generic(operation, request, limit_s)
        return result

    def close(self) -> None:
        self._session.close()

    def _call_generic(self, operation: Operation[Any, Any], request: Any, limit_s: float) -> Any:
        response, route = self._send_operation(operation, request, limit_s)
        if response.status == 404 or not response.body:
            return None
        json = parse(response.body)
        json = json[route.member] if route.member else json
        return response_from_json(
            operation.response_type, json, self._formats, getattr(request, "field", "")
        )

    def _send_operation(
        self, operation: Operation[Any, Any], request: Any, limit_s: float
    ) -> tuple[_Response, HttpRoute]:
        if operation.http is None:
            raise BadInput(f"{operation.name}: cannot be called over HTTP; use Thrift")
        route = next(r for r in reversed(operation.routes) if _matches_fixed_options(r, request))
        members = (
            request_members(request) if route.has_body else to_query(request, route.selected_by)
        )
        path, headers, body = _fill_path(route, members), _condition_headers(request), None
        params: dict[str, Any] = {**members, **route.selects}
        if route.has_body:
            params = {name: members.pop(name) for name in route.in_query}
            body = orjson.dumps(members)
            headers["Content-Type"] = "application/json"
        try:
            response = self._request(
                route.method, path, limit_s, body, headers, params=params, allows_missing=True
            )
        except VersionConflict as error:
            raise VersionConflict(request.url, request.if_version or "", error.found) from error
        return response, route

    def _get_fresh(self, request: GetFreshRequest, limit_s: float) -> FetchedPage:
        response, _ = self._send_operation(crawling.get_fresh, request, limit_s)
        json = parse(response.body)
        if response.status == 404 and "state" not in json:
            raise _to_error(404, json, self._display_address)
        return parse_fresh_json(json, request.url, self._formats)

    def _get(self, request: GetRequest, limit_s: float) -> PageRecord | None:
        if request.include:
            page: PageRecord | None = self._call_generic(reading.get, request, limit_s)
            return page if page is None or request.facts else replace(page, **_EMPTY_FACTS)
        batch_request = GetManyRequest(
            [request.url], request.fields, facts=request.facts, purpose=request.purpose
        )
        record = self._get_many(batch_request, limit_s)[0]
        if isinstance(record, TakenDown):
            raise record
        return record

    def _get_many(
        self, request: GetManyRequest, limit_s: float
    ) -> list[PageRecord | TakenDown | None]:
        records: dict[str, PageRecord | TakenDown | None] = {}
        urls_left, fields = list(dict.fromkeys(request.urls)), request.fields
        while urls_left:
            body = {
                "urls": urls_left,
                "fields": None if fields is None else list(fields),
                "for": request.purpose,
            }
            results = self._request_json("POST", "/v1/urls:batchGet", limit_s, body)["results"]
            postponed = []
            for url, result in zip(urls_left, results, strict=True):
                if result["status"] in (200, 404):
                    json = result.get("record")
                    record = (
                        build_record(json, self._formats, facts=request.facts) if json else None
                    )
                    records[url] = record
                elif result["status"] == 403:
                    records[url] = TakenDown(url)
                elif result["status"] == 413:
                    postponed.append(url)
                else:
                    raise _to_error(result["status"], result)
            urls_left = postponed
        return [records[url] for url in request.urls]

    def _get_content(self, request: ContentRequest, limit_s: float) -> ContentPart | None:
        headers, start = {}, validate_options(request).offset_bytes
        if start or request.limit_bytes is not None:
            end = "" if request.limit_bytes is None else start + request.limit_bytes - 1
            headers["Range"] = f"bytes={start}-{end}"
        params = {"url": request.url}
        if request.at_ms is not None:
            params["at_ms"] = str(request.at_ms)
        if request.form != ORIGINAL:
            params["as"] = request.form
        if request.purpose is not None:
            params["for"] = request.purpose
        response = self._request(
            "GET", "/v1/content", limit_s, headers=headers, params=params, allows_missing=True
        )
        if response.status == 404:
            return None
        _, _, total = response.headers.get("Content-Range", "").partition("/")
        if response.status == 416:
            return ContentPart(request.url, b"", int(total), {})
        url = response.headers.get("Content-Location", request.url)
        meta = {"content_type": response.headers.get("Content-Type", "")}
        return ContentPart(url, response.body, int(total or len(response.body)), meta)

    def _delete_fields(self, request: DeleteFieldsRequest, limit_s: float) -> str:
        """Delete fields with `put`, because a DELETE has no version and fits only a few names."""
        write = PutRequest(request.url, {}, if_version=request.if_version, deleted=request.names)
        version: str = self._call_generic(writing.put, write, limit_s)
        return version

    def _request_json(
        self,
        method: str,
        path: str,
        limit_s: float,
        body: Any,
        headers: Mapping[str, str] | None = None,
        *,
        params: Mapping[str, str] | None = None,
    ) -> Any:
        all_headers = {"Content-Type": "application/json", **(headers or {})}
        data = orjson.dumps(body)
        return parse(self._request(method, path, limit_s, data, all_headers, params=params).body)

    def _request(
        self,
        method: str,
        path: str,
        limit_s: float,
        data: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        params: Mapping[str, str] | None = None,
        allows_missing: bool = False,
    ) -> _Response:
        """Return a successful response or, if `allows_missing`, one with status 404 or 416."""
        if limit_s <= 0:
            raise ServiceUnavailable(self._display_address, _NO_RESPONSE)
        try:
            response = self._session.request(
                method, self._address + path, params=params, data=data, headers=headers,
                timeout=Timeout(total=limit_s),  # type: ignore[arg-type] # requests passes it on
                allow_redirects=False, stream=True,
            )  # fmt: skip
            body = _read_body(response)
        except (requests.RequestException, HTTPError, OSError) as error:
            raise ServiceUnavailable(
                self._display_address, without_login(str(error), self._address)
            ) from error
        if response.ok or (allows_missing and response.status_code in (404, 416)):
            return _Response(response.status_code, body, response.headers)
        retry_after = response.headers.get("Retry-After")
        raise _to_error(
            response.status_code, _problem_members(body), self._display_address, retry_after
        )


def _fill_path(route: HttpRoute, members: dict[str, Any]) -> str:
    """Return the path with its placeholders filled in, and remove their options from `members`."""
    parts = route.path.split("/")
    for index, part in enumerate(parts):
        if part.startswith("{"):
            parts[index] = quote(str(members.pop(part[1:-1])), safe="")
    return "/".join(parts)


def _matches_fixed_options(route: HttpRoute, request: Any) -> bool:
    return all(getattr(request, name) == value for name, value in route.fixed.items())


def _condition_headers(request: Any) -> dict[str, str]:
    if_version = getattr(request, "if_version", None)
    if if_version is None:
        return {}
    if if_version == "*":
        return {"If-Match": "*"}
    return {"If-Match": f'"{if_version}"'} if if_version else {"If-None-Match": "*"}


def _read_body(response: requests.Response) -> bytes:
    pieces = []
    try:
        while piece := response.raw.read1(_PIECE_BYTES, decode_content=True):
            pieces.append(piece)
    except BaseException:
        response.close()  # otherwise the rest of the body would be read as the next response
        raise
    response.raw.release_conn()
    return b"".join(pieces)


def _problem_members(body: bytes) -> Mapping[str, Any]:
    """Return a problem's members. A response from a server other than aragog has none."""
    try:
        members = orjson.loads(body)
    except ValueError:
        return {}
    return members if isinstance(members, dict) else {}


def _to_error(
    status: int, members: Mapping[str, Any], server: str = "", retry_after: str | None = None
) -> Exception:
    detail = str(members.get("detail", f"status {status}"))
    if status == 412:
        return VersionConflict("", "", str(members.get("found_version", "an unknown version")))
    if status in _TRANSIENT_STATUSES:
        wait_s = float(retry_after) if retry_after and retry_after.isdigit() else 0.0
        if members.get("code") == OVER_QUOTA.code:
            limit, max_value, used = (members.get(name, 0) for name in ("limit", "most", "used"))
            return QuotaExceeded(server, detail, str(limit), int(max_value), int(used), wait_s)
        return ServiceUnavailable(server, detail, wait_s)
    if members.get("code") == TAKEN_DOWN.code:
        return TakenDown(str(members.get("url", "")))
    if members.get("code") == VALUE_TAKEN.code and "url" in members:
        return ValueTaken(str(members.get("property", "")), str(members["url"]))
    if status in (401, 403):
        return AccessDenied(detail)
    if status == 501:
        return BadInput(detail)
    return PermanentError(f"{server}: {detail}") if status >= 500 else BadInput(detail)
