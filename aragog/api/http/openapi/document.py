"""The API's OpenAPI 3.1 document."""

from __future__ import annotations

import types
import typing
from typing import Any

from aragog.api.auth.tokens import READ
from aragog.api.http.openapi.derived import answer_schema, body_schema, parameters
from aragog.api.http.openapi.schemas import REQUEST_ID, SCHEMAS
from aragog.api.operation import HttpRoute, Pool
from aragog.api.operation import Operation as AnyOperation
from aragog.api.operations import OPERATIONS

Operation = dict[str, Any]


def _parameter(name: str, text: str, *, required: bool = False, **schema: Any) -> dict[str, Any]:
    return {
        "name": name,
        "in": "query",
        "required": required,
        "description": text,
        "schema": schema or {"type": "string"},
    }


def _header(name: str, text: str) -> dict[str, Any]:
    return {"name": name, "in": "header", "description": text, "schema": {"type": "string"}}


def _ref(schema: str) -> dict[str, Any]:
    return {"schema": {"$ref": f"#/components/schemas/{schema}"}}


def _json(text: str, schema: str) -> dict[str, Any]:
    return {"description": text, "content": {"application/json": _ref(schema)}}


def _problem(text: str) -> dict[str, Any]:
    return {"description": text, "content": {"application/problem+json": _ref("Problem")}}


def _body(text: str) -> dict[str, Any]:
    return {"description": text, "content": {"*/*": {"schema": {}}}}


_PROBLEMS = {
    "400": _problem("The request is malformed; `detail` gives the reason."),
    "401": _problem("No bearer token, or an unknown one."),
    "403": _problem("The token lacks the scope, or the URL was taken down."),
    "404": _problem("Nothing is known of the URL."),
    "412": _problem("The record has another version than `If-Match`."),
    "413": _problem("The body is longer than serving.max_body_bytes."),
    "415": _problem("The body is not declared to be JSON."),
    "416": _problem("The range begins after the end of the content."),
    "421": _problem("The server does not serve this Host."),
    "429": _problem("The token exceeds its rate; see `Retry-After`."),
    "500": _problem("A defect of the server; its log has the traceback."),
    "501": _problem("This server has no such service."),
    "503": _problem("Too many requests at once, or the store does not respond."),
    "504": _problem("Not answered within the deadline."),
}
_URL = _parameter(
    "url", "Any spelling or alias of the URL, percent-encoded.", required=True,
    type="string", minLength=1,
)  # fmt: skip
_FIELDS = _parameter("fields", "Field names, separated by commas; default: all.")
_READ, _WRITE = [{"bearer": ["read"]}, {}], [{"bearer": ["write"]}, {}]


def _operation(
    name: str,
    summary: str,
    *parameters: dict[str, Any],
    responses: dict[str, Any],
    problems: str = "400 401 403 421 500 503 504",
    security: list[dict[str, list[str]]] | None = None,
    body: str | None = None,
) -> Operation:
    operation: Operation = {"operationId": name, "summary": summary}
    if parameters:
        operation["parameters"] = list(parameters)
    if body is not None:
        operation["requestBody"] = {"required": True, "content": {"application/json": _ref(body)}}
    codes = [*problems.split(), *(["429"] if security else [])]
    operation["responses"] = {**responses, **{code: _PROBLEMS[code] for code in sorted(codes)}}
    operation["security"] = [] if security is None else security
    return operation


def _read(name: str, summary: str, *parameters: dict[str, Any], schema: str) -> Operation:
    return _operation(
        name, summary, _URL, *parameters,
        responses={"200": _json("Found.", schema)}, security=_READ,
        problems="400 401 403 404 421 500 503 504",
    )  # fmt: skip


_MATCH = _header("If-Match", "The ETag of the record that the write is meant for.")
_CHANGED = "400 401 403 412 413 415 421 500 503 504"
_VERSION = {"200": _json("Written.", "Version")}


def _records() -> dict[str, Operation]:
    read = _read(
        "getUrl",
        "Fields and facts of a URL, its aliases, number of inlinks and last fetch",
        _FIELDS,
        _parameter(
            "include",
            "Some of `aliases,inlinks,fetch`; default: all; empty: none, which is cheaper.",
        ),
        _parameter(
            "max_age",
            "Fetch the page first if it is older: seconds, and of single fields "
            "`name:seconds`, separated by commas. Requires scope write.",
        ),
        _parameter(
            "max_wait_ms",
            "How long to wait for that fetch, at most 60,000; also for an unknown URL.",
            type="integer",
            minimum=0,
            default=0,
        ),
        _parameter(
            "request_id",
            "Names that fetch in the logs of all stages, if this request begins it.",
            type="string",
            pattern=REQUEST_ID["pattern"],
        ),
        _header("If-None-Match", "ETags of the client; the response is 304 if one is current."),
        schema="FullRecord",
    )
    read["responses"]["501"] = _PROBLEMS["501"]
    read["responses"]["304"] = {"description": "The client has the current version."}
    return {
        "get": read,
        "put": _operation(
            "putUrl", "Write fields and delete all others", _URL, _MATCH,
            body="Fields", responses=_VERSION, security=_WRITE, problems=_CHANGED,
        ),
        "patch": _operation(
            "patchUrl", "Write fields, delete those that are null, keep the others", _URL, _MATCH,
            body="Fields", responses=_VERSION, security=_WRITE, problems=_CHANGED,
        ),
        "delete": _operation(
            "deleteUrl", "Delete some fields, or the record", _URL,
            _MATCH, _parameter("fields", "Field names, separated by commas; default: the record."),
            responses={"204": {"description": "Deleted."}}, security=_WRITE,
            problems="400 401 403 412 421 500 503 504",
        ),
    }  # fmt: skip


def _public(name: str, summary: str, response: dict[str, Any], problems: str = "421") -> Operation:
    return _operation(name, summary, responses={"200": response}, problems=problems)


def _for_each_url(
    name: str, summary: str, status: str, *, body: str, result: str, security: Any,
    problems: str = "",
) -> Operation:  # fmt: skip
    return _operation(
        name, summary, body=body, responses={status: _json("A result for each URL.", result)},
        security=security, problems=f"400 401 403 413 415 421 500 {problems} 503 504",
    )  # fmt: skip


_WHOLE: dict[str, Any] = {"type": "integer", "minimum": 1, "default": 100}
"""More than 1,000 counts as 1,000."""

DOCUMENT: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {
        "title": "aragog",
        "version": "1",
        "description": (
            "The UrlStore over HTTP: metadata, links and content of URLs, by any spelling and "
            "through any alias. Errors are problem details (RFC 9457)."
        ),
        "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
    },
    "paths": {
        "/v1/urls": _records(),
        "/v1/urls:batchGet": {
            "post": _for_each_url(
                "batchGetUrls", "Up to 1,000 records, with a result for each URL", "200",
                body="BatchGet", result="BatchResults", security=_READ,
            )
        },
        "/v1/links": {
            "get": _read(
                "getLinks", "Links from a URL, or to it; the Link header names the next page",
                _parameter("direction", "out (default) or in.", type="string",
                           enum=["out", "in"], default="out"),
                _parameter("limit", "Maximum number of links, up to 1,000.", **_WHOLE),
                _parameter("cursor", "The cursor of the previous response."),
                schema="Links",
            )
        },
        "/v1/history": {
            "get": _read(
                "getHistory", "Earlier values of a field, newest first",
                _parameter("field", "The name of the field.", required=True), schema="History",
            )
        },
        "/v1/content": {
            "get": _operation(
                "getContent", "The page's content as it was fetched", _URL,
                _header("Range", "One range of bytes."),
                responses={"200": _body("The body, of the type that its origin declared."),
                         "206": _body("The range of the body.")},
                security=_READ, problems="400 401 403 404 416 421 500 503 504",
            )
        },
        "/v1/changes": {
            "get": _operation(
                "getChanges", "What changed on pages fetched again; also as server-sent events",
                _parameter("cursor", "The cursor of the previous response; `now`: the feed's end."),
                _parameter("owner", "Only changes of pages that this owner watches."),
                _parameter("host", "Only pages of this host."),
                _parameter("limit", "Maximum number of changes, up to 1,000.", **_WHOLE),
                _parameter("wait_ms", "How long to wait for a change; 30,000 at most.",
                           type="integer", minimum=0, default=0),
                responses={"200": {"description": "The changes after the cursor.", "content": {
                    "application/json": _ref("Changes"),
                    "text/event-stream": {"schema": {"type": "string"}},
                }}},
                security=_READ,
            )
        },
        "/v1/fetch": {
            "post": _operation(
                "fetch", "Fetch a URL now, politely; callers of the same URL cause one fetch",
                body="Fetch",
                responses={"200": _json("What is stored now.", "Fetched"),
                         "202": _json("What is stored now; the fetch continues.", "Fetched")},
                security=_WRITE, problems="400 401 403 413 415 421 500 501 503 504",
            )
        },
        "/metrics": {
            "get": _operation(
                "getMetrics", "Metrics for Prometheus",
                responses={"200": {"description": "Text format 0.0.4.", "content": {
                    "text/plain": {"schema": {"type": "string"}}}}},
                security=_READ, problems="401 403 421 500 503 504",
            )
        },
        "/healthz": {"get": _public("health", "The process responds", _json("Alive.", "State"))},
        "/readyz": {
            "get": _public("ready", "The server accepts requests and its store responds",
                           _json("Ready.", "State"), problems="421 503")
        },
    },
    "components": {
        "schemas": SCHEMAS,
        "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
    },
}  # fmt: skip


def _derived(operation: AnyOperation[Any, Any], route: HttpRoute) -> Operation:
    """The entry of an operation whose representation is its options and its answer as JSON."""
    name = _camel(operation.name)
    answer, body = answer_schema(operation, route), body_schema(operation, route)
    if body is not None:
        SCHEMAS[f"{name[0].upper()}{name[1:]}Request"] = body
    responses: dict[str, Any] = {"204": {"description": "Done."}}
    if answer is not None:
        content = {"application/json": {"schema": answer}}
        responses = {str(route.status): {"description": "The answer.", "content": content}}
    missing = "404" if types.NoneType in typing.get_args(operation.answer) else ""
    needed = "413 415" if body is not None else ""
    unsupported = "501" if operation.pool is not Pool.STORE else ""
    return _operation(
        name,
        operation.text.partition("\n")[0],
        *parameters(operation, route),
        responses=responses,
        problems=f"400 401 403 {missing} {needed} 421 500 {unsupported} 503 504",
        security=_READ if operation.scope == READ else _WRITE,
        body=None if body is None else f"{name[0].upper()}{name[1:]}Request",
    )


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


for _entry in OPERATIONS.values():
    if _entry.http is not None and not _entry.http.own_code:
        _path = DOCUMENT["paths"].setdefault(_entry.http.path, {})
        _path[_entry.http.method.lower()] = _derived(_entry, _entry.http)
