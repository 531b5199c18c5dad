"""The API's OpenAPI 3.1 document."""

from __future__ import annotations

import sys
import types
import typing
from collections.abc import Sequence
from typing import Any

from aragog.api.error_table import statuses
from aragog.api.operations.operation import Form, Pool
from aragog.api.operations.operation import Operation as AnyOperation
from aragog.api.operations.scopes import ANY, READ
from aragog.api.operations.table import OPERATIONS, Choice, operations_by_route
from aragog.api.server.http.openapi.examples import add_examples
from aragog.api.server.http.openapi.schemas import (
    SCHEMAS,
    body_schema,
    parameters,
    response_schema,
)

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


def _json_response(text: str, schema: str) -> dict[str, Any]:
    return {"description": text, "content": {"application/json": _ref(schema)}}


def _problem_response(text: str) -> dict[str, Any]:
    return {"description": text, "content": {"application/problem+json": _ref("Problem")}}


def _body_response(text: str) -> dict[str, Any]:
    return {"description": text, "content": {"*/*": {"schema": {}}}}


_PROBLEMS = {status: _problem_response(text) for status, text in statuses()}
_READ_SECURITY: list[dict[str, list[str]]] = [{"bearer": ["read"]}, {}]
_UNIQUE_WRITES = ("put", "put_node", "mutate")
"""Operations that write properties in `store.unique`."""
_CRAWL_OPERATIONS = ("delete_crawl",)
"""Operations that need a server with crawls, in pools other than BROKER, FETCH and EXPLAIN."""
SERVER = "Server"
_GROUPS = {
    "reading": "Read",
    "change_feed": "Read",
    "field_sizes": "Read: fields",
    "same_content": "Read: links",
    "item_reads": "Read: items",
    "writing": "Write",
    "crawling": "Fetch",
    "crawl_start": "Crawls: start",
    "crawls": "Crawls",
    "url_cancellation": "Crawls: cancel URLs",
    "link_templates": "Crawls",
    "job_queues": "Job queues",
    "job_administration": "Job queues: administration",
    "graph_nodes": "Graph: nodes",
    "graph_edges": "Graph: edges",
    "graph_lists": "Graph: lists",
    "administration": "Administration",
}
"""The title of each group of operations, by module."""


def _operation(
    name: str,
    summary: str,
    *parameters: dict[str, Any],
    responses: dict[str, Any],
    problems: str = "400 401 403 421 500 503 504",
    security: list[dict[str, list[str]]] | None = None,
    body: str | None = None,
    tag: str = SERVER,
) -> Operation:
    operation: Operation = {"operationId": name, "summary": summary, "tags": [tag]}
    if parameters:
        operation["parameters"] = list(parameters)
    if body is not None:
        operation["requestBody"] = {"required": True, "content": {"application/json": _ref(body)}}
    codes = [*problems.split(), *(["429"] if security else [])]
    shared = {code: {"$ref": f"#/components/responses/{_problem_name(code)}"} for code in codes}
    operation["responses"] = {**responses, **dict(sorted(shared.items()))}
    operation["security"] = [] if security is None else security
    return operation


def _problem_name(code: str) -> str:
    return f"Problem{code}"


_IF_MATCH = _header("If-Match", "Write only if the record still has this ETag.")


def _public_operation(
    name: str, summary: str, response: dict[str, Any], problems: str = "421"
) -> Operation:
    return _operation(name, summary, responses={"200": response}, problems=problems)


DOCUMENT: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {
        "title": "aragog",
        "version": "1",
        "description": (
            "The UrlStore over HTTP: metadata, links and content of URLs, in any spelling and "
            "through any alias. Errors are problem details (RFC 9457)."
        ),
        "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
    },
    "paths": {
        "/metrics": {
            "get": _operation(
                "getMetrics", "Metrics for Prometheus",
                responses={"200": {"description": "Text format 0.0.4.", "content": {
                    "text/plain": {"schema": {"type": "string"}}}}},
                security=_READ_SECURITY, problems="401 403 421 500 503 504",
            )
        },
        "/healthz": {
            "get": _public_operation("health", "The process responds",
                                     _json_response("Alive.", "State"))
        },
        "/readyz": {
            "get": _public_operation("ready", "The server accepts requests and its store responds",
                           _json_response("Ready.", "State"), problems="421 503")
        },
    },
    "components": {
        "schemas": SCHEMAS,
        "responses": {_problem_name(code): problem for code, problem in _PROBLEMS.items()},
        "securitySchemes": {"bearer": {
            "type": "http", "scheme": "bearer",
            "description": "A token created by `aragog token`. Scope `admin` includes the others. "
            "Without `serving.tokens`, no token is required.",
        }},
    },
}  # fmt: skip


def _operation_entry(choices_of_route: Sequence[Choice]) -> Operation:
    """Return the entry for a path and method, which several operations may share."""
    operation, route = choices_of_route[0]
    name = _camel_case("_".join([operation.name, *route.fixed]))
    body = body_schema(operation, route)
    request = f"{name[0].upper()}{name[1:]}Request"
    if body is not None:
        SCHEMAS[request] = body
    conditional = any(field.name == "if_version" for field in operation.fields)
    parameters_by_name = {
        parameter["name"]: parameter
        for choice in reversed(choices_of_route)
        for parameter in [
            *_build_parameters(choice, operation.scope),
            *_selecting_parameters(choices_of_route),
        ]
    }
    problems = {"400", "401", "403", "421", "500", "503", "504", *_FORM_PROBLEMS[route.form]}
    problems |= {"404"} if types.NoneType in typing.get_args(operation.response_type) else set()
    problems |= {"413", "415"} if body is not None else set()
    problems |= {"412"} if conditional else set()
    problems |= {"409"} if operation.name in _UNIQUE_WRITES else set()
    pools = {other.pool for other, _ in choices_of_route}
    optional = pools & {Pool.BROKER, Pool.FETCH, Pool.EXPLAIN}
    problems |= {"501"} if optional or operation.name in _CRAWL_OPERATIONS else set()
    return _operation(
        name,
        route.text or operation.text.partition("\n")[0],
        *parameters_by_name.values(),
        *_FORM_PARAMETERS[route.form],
        *([_IF_MATCH] if conditional else []),
        responses=_responses(choices_of_route),
        problems=" ".join(problems),
        security=_READ_SECURITY
        if operation.scope in (READ, ANY)
        else [{"bearer": [operation.scope]}, {}],
        body=None if body is None else request,
        tag=_GROUPS[_module_name(operation)],
    )


def _module_name(operation: AnyOperation[Any, Any]) -> str:
    return operation.run.__module__.rpartition(".")[2]


def _build_parameters(choice: Choice, scope: str) -> list[dict[str, Any]]:
    """
    Return an operation's parameters, including those that select it on a shared route.

    Args:
        choice: the operation and its route.
        scope: the scope that the route requires without these parameters.
    """
    operation, route = choice
    described_parameters = parameters(operation, route)
    for parameter in described_parameters:
        if parameter["name"] in route.selected_by and operation.scope != scope:
            parameter["description"] += f" Requires scope {operation.scope}."
    return described_parameters


def _selecting_parameters(choices_of_route: Sequence[Choice]) -> list[dict[str, Any]]:
    return [
        _parameter(
            name, f"{default} by default.", type="string",
            enum=[route.selects[name] for _, route in choices_of_route], default=default,
        )
        for name, default in choices_of_route[0][1].selects.items()
    ]  # fmt: skip


_FORM_PARAMETERS: dict[Form, list[dict[str, Any]]] = {form: [] for form in Form} | {
    Form.RECORD: [
        _header("If-None-Match", "The client's ETags; the response is 304 if one is current."),
        _header("If-Match", "ETags; the response is 412 if none is current."),
    ],
    Form.CONTENT: [_header("Range", "One byte range.")],
    Form.FEED: [
        _header("Last-Event-ID", "The cursor to resume from, for clients that read events.")
    ],
}
_FORM_PROBLEMS: dict[Form, tuple[str, ...]] = dict.fromkeys(Form, ()) | {
    Form.RECORD: ("412",),
    Form.CONTENT: ("412", "416"),
}


def _responses(choices_of_route: Sequence[Choice]) -> dict[str, Any]:
    operation, route = choices_of_route[0]
    schema = response_schema(operation, route)
    others = [response_schema(*choice) for choice in choices_of_route[1:]]
    if route.form is Form.JSON and any(other != schema for other in others):
        schema = {"anyOf": [schema, *others]}
    if schema is None or route.status == 204:
        return {"204": {"description": "Done."}}
    content: dict[str, Any] = {"application/json": {"schema": schema}}
    success = {"description": "The response.", "content": content}
    match route.form:
        case Form.RECORD:
            current = {"description": "The client already has the current version."}
            return {"200": _json_response("Found.", "FullRecord"), "304": current}
        case Form.RECORDS:
            return {"200": _json_response("One result per URL.", "BatchResults")}
        case Form.CONTENT:
            whole = _body_response("The body, with the content type that its origin declared.")
            return {"200": whole, "206": _body_response("The requested range of the body.")}
        case Form.FEED:
            content["text/event-stream"] = {"schema": {"type": "string"}}
    responses = {str(route.status): success}
    if route.pending:
        responses["202"] = {**success, "description": "The response so far; the work continues."}
    return responses


def _camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def _tag_descriptions() -> list[dict[str, str]]:
    """Return the groups of operations, each with its module's docstring."""
    texts = {
        _GROUPS[_module_name(operation)]: " ".join(
            (sys.modules[operation.run.__module__].__doc__ or "").split()
        )
        for operation in OPERATIONS.values()
    }
    groups = [{"name": name, "description": text} for name, text in texts.items()]
    return [*groups, {"name": SERVER, "description": "The server: liveness, readiness, metrics."}]


for (_path, _method), _choices in operations_by_route().items():
    DOCUMENT["paths"].setdefault(_path, {})[_method.lower()] = _operation_entry(_choices)
DOCUMENT["tags"] = _tag_descriptions()
add_examples(DOCUMENT)
