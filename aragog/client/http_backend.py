"""Calls over HTTP/JSON, by requests."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import orjson
import requests
from urllib3.exceptions import HTTPError
from urllib3.util import Timeout

from aragog.client.http_deadline import DeadlineAdapter
from aragog.client.store_client import FetchedPage, FieldWrite
from aragog.errors import (
    AccessDenied,
    BadInput,
    PermanentError,
    ServiceUnavailable,
    VersionConflict,
)
from aragog.fetcher.outcome import FetchRecord
from aragog.options import given
from aragog.pipeline.stages.enqueue import EnqueueArguments, EnqueueResult, EnqueueStatus
from aragog.urlstore.pages.field_formats import FieldFormats, parse
from aragog.urlstore.records import Record

_STORED = ("content_hash", "content_bytes", "due_at_ms")
_PASSING = {408, 421, 429, 502, 503, 504}
_PIECE_BYTES = 1 << 20
_LATE = "no answer in time"


class _Response(NamedTuple):
    """The parts of a response that the client uses."""

    status: int
    body: bytes


class HttpBackend:
    """
    See `Backend`.

    Values are written as base64, so their bytes arrive as they are. They are read by their formats:
    JSON may come back with other escapes, and a field whose format is not known here as text.

    Args:
        address: of the server, such as `http://127.0.0.1:8100`.
        token: a bearer token.
        pool_size: connections that are kept open.
        field_formats: the server's `store.field_formats`.
    """

    def __init__(
        self, address: str, *, token: str | None, pool_size: int,
        field_formats: Mapping[str, str] | None,
    ) -> None:  # fmt: skip
        self._address = address.rstrip("/")
        self._formats = FieldFormats(field_formats)
        self._session = requests.Session()
        self._session.trust_env = False  # no proxy between services, and no ~/.netrc
        adapter = DeadlineAdapter(pool_connections=1, pool_maxsize=pool_size)
        self._session.mount(self._address, adapter)
        if token is not None:
            self._session.headers["Authorization"] = f"Bearer {token}"

    def get_many(
        self, urls: Sequence[str], fields: Sequence[str] | None, *, facts: bool, limit_s: float
    ) -> list[Record | None]:
        records: dict[str, Record | None] = {}
        left = list(dict.fromkeys(urls))
        while left:
            body = {"urls": left, "fields": None if fields is None else list(fields)}
            results = self._json("POST", "/v1/urls:batchGet", limit_s, body)["results"]
            later = []
            for url, result in zip(left, results, strict=True):
                if result["status"] in (200, 404):
                    record = result.get("record")
                    records[url] = self._record(record, facts=facts) if record else None
                elif result["status"] == 413:
                    later.append(url)
                else:
                    raise _problem(result["status"], result)
            left = later
        return [records[url] for url in urls]

    def put(self, write: FieldWrite, *, limit_s: float) -> str:
        if write.at_ms is not None:
            raise BadInput("at_ms: cannot be written over HTTP; use Thrift")
        headers, expected = {}, write.if_version
        if expected is not None:
            headers = {"If-Match": f'"{expected}"'} if expected else {"If-None-Match": "*"}
        values = {n: {"base64": base64.b64encode(v).decode()} for n, v in write.fields.items()}
        try:
            response = self._json(
                "PATCH", "/v1/urls", limit_s, {"fields": values}, headers,
                params={"url": write.url},
            )  # fmt: skip
        except VersionConflict as error:
            raise VersionConflict(write.url, expected or "", error.found) from error
        version: str = response["version"]
        return version

    def delete_fields(self, url: str, names: Sequence[str], *, limit_s: float) -> None:
        if any("," in name for name in names):
            raise BadInput("names: a name with a comma cannot be deleted over HTTP; use Thrift")
        self._ask("DELETE", "/v1/urls", limit_s, params={"url": url, "fields": ",".join(names)})

    def remove(self, url: str, *, limit_s: float) -> None:
        self._ask("DELETE", "/v1/urls", limit_s, params={"url": url})

    def content(self, url: str, *, limit_s: float) -> bytes | None:
        response = self._ask("GET", "/v1/content", limit_s, params={"url": url}, missing=True)
        return None if response.status == 404 else response.body

    def watch(self, url: str, owner: str, *, limit_s: float) -> None:
        self._ask("PUT", "/v1/watches", limit_s, params={"url": url, "owner": owner})

    def unwatch(self, url: str, owner: str, *, limit_s: float) -> None:
        self._ask("DELETE", "/v1/watches", limit_s, params={"url": url, "owner": owner})

    def fetch(
        self, url: str, fields: Sequence[str] | None, *, max_wait_ms: int, max_age_s: float,
        request_id: str, limit_s: float,
    ) -> FetchedPage:  # fmt: skip
        body = {
            "url": url,
            "fields": None if fields is None else list(fields),
            "max_wait_ms": max_wait_ms,
            "max_age": max_age_s,
            "request_id": request_id,
        }
        raw = self._json("POST", "/v1/fetch", limit_s, body)
        return FetchedPage(
            url=raw["url"],
            state=raw["state"],
            record=self._record(raw["record"], facts=True) if raw["record"] else None,
            age_s=_plain(raw["age_s"]),
            fetching=raw["fetching"],
            reason=raw["reason"],
            report=_report(raw["fetch"]),
        )

    def enqueue(
        self, urls: Sequence[str], request: EnqueueArguments, *, limit_s: float
    ) -> list[EnqueueResult]:
        options = given(request)
        body = {"urls": list(urls), **options}
        results = self._json("POST", "/v1/enqueue", limit_s, body)["results"]
        return [
            EnqueueResult(
                result["input"], EnqueueStatus(result["status"]), result["url"], result["reason"]
            )
            for result in results
        ]

    def close(self) -> None:
        self._session.close()

    def _json(
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
        return parse(self._ask(method, path, limit_s, data, all_headers, params=params).body)

    def _ask(
        self,
        method: str,
        path: str,
        limit_s: float,
        data: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        params: Mapping[str, str] | None = None,
        missing: bool = False,
    ) -> _Response:
        """A response of success, or 404 if it may be `missing`."""
        if limit_s <= 0:
            raise ServiceUnavailable(self._address, _LATE)
        try:
            response = self._session.request(
                method, self._address + path, params=params, data=data, headers=headers,
                timeout=Timeout(total=limit_s),  # type: ignore[arg-type] # requests passes it on
                allow_redirects=False, stream=True,
            )  # fmt: skip
            body = _body(response)
        except (requests.RequestException, HTTPError, OSError) as error:
            raise ServiceUnavailable(self._address, str(error)) from error
        if response.ok or (missing and response.status_code == 404):
            return _Response(response.status_code, body)
        retry_after = response.headers.get("Retry-After")
        raise _problem(response.status_code, _members(body), self._address, retry_after)

    def _record(self, raw: Mapping[str, Any], *, facts: bool) -> Record:
        read = self._formats.from_json
        record = Record(
            raw["url"],
            raw["canonical_url"],
            {name: read(name, value) for name, value in raw["fields"].items()},
            _plain(raw["facts"]) if facts else {},
            raw["version"],
            from_standby=raw.get("from_standby", False),
        )
        if not facts:
            return record
        # Servers before these members do not send them.
        stored: dict[str, Any] = {name: raw.get(name) for name in _STORED}
        return replace(record, **stored)


def _body(response: requests.Response) -> bytes:
    """The whole body."""
    pieces = []
    try:
        while piece := response.raw.read1(_PIECE_BYTES, decode_content=True):
            pieces.append(piece)
    except BaseException:
        response.close()  # what is left of the body must not begin the next response
        raise
    response.raw.release_conn()
    return b"".join(pieces)


def _members(body: bytes) -> Mapping[str, Any]:
    """The members of a problem; none if the response is not one of this server's."""
    try:
        members = orjson.loads(body)
    except ValueError:
        return {}
    return members if isinstance(members, dict) else {}


def _problem(
    status: int, members: Mapping[str, Any], where: str = "", retry_after: str | None = None
) -> Exception:
    """The error for a problem of the server."""
    detail = str(members.get("detail", f"status {status}"))
    if status == 412:
        return VersionConflict("", "", str(members.get("found_version", "another one")))
    if status in _PASSING:
        wait_s = float(retry_after) if retry_after and retry_after.isdigit() else 0.0
        return ServiceUnavailable(where, detail, wait_s)
    if status in (401, 403) and "was taken down" not in detail:
        return AccessDenied(detail)
    return PermanentError(f"{where}: {detail}") if status >= 500 else BadInput(detail)


def _report(raw: Any) -> FetchRecord | None:
    return None if raw is None else FetchRecord.read(_plain(raw))


def _plain(raw: Any) -> Any:
    """JSON as plain Python values; decimal numbers, which `parse` keeps apart, become floats."""
    if isinstance(raw, dict):
        return {name: _plain(value) for name, value in raw.items()}
    if isinstance(raw, list):
        return [_plain(value) for value in raw]
    text = getattr(raw, "text", None)
    return raw if text is None else float(text)
