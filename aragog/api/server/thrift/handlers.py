"""The methods of all Thrift services."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Any

from aragog.api.operations.operation import Caller, Operation, Parts
from aragog.api.operations.options import validate_options
from aragog.api.operations.reading import MAX_CONTENT_BYTES, ContentRequest
from aragog.api.operations.steps import Steps
from aragog.api.operations.table import OPERATIONS
from aragog.api.server.thrift.contract import CallHandler, idl
from aragog.api.server.thrift.encoded_reads import EncodedReads
from aragog.api.server.thrift.errors import Missing
from aragog.api.thrift_values import build_request, encode_value
from aragog.errors import BadInput


def services(parts: Parts) -> dict[str, dict[str, CallHandler]]:
    """
    Return each service's handlers by the method's name. They run in threads.

    Args:
        parts: the services that operations use.
    """
    handlers: dict[str, dict[str, CallHandler]] = defaultdict(dict)
    for operation in OPERATIONS.values():
        if operation.thrift is not None:
            service, method = operation.thrift
            handlers[service][method] = CallHandler(_create_handler(operation, parts))
    url_store = handlers["UrlStore"]
    reads = EncodedReads(parts.store, parts.read, url_store["get"].run)
    url_store["get"] = CallHandler(reads.get, reads.get_batch, reads.can_batch_get)
    url_store["getMany"] = CallHandler(reads.getMany)
    return handlers


def _create_handler(operation: Operation[Any, Any], parts: Parts) -> Callable[[Any], Any]:
    service, method = operation.thrift or ("", "")
    spec = getattr(getattr(idl, service), f"{method}_result").thrift_spec.get(0)

    def call(arguments: Any) -> Any:
        request = build_request(operation, arguments)
        if isinstance(request, ContentRequest):
            request = _limit_content(request)
        response = operation.run(_create_caller(parts, arguments), validate_options(request))
        return _encode_response(response, spec)

    def waiting_call(arguments: Any) -> Steps[Any]:
        request = validate_options(build_request(operation, arguments))
        steps: Generator[Any, None, Any] = operation.run(_create_caller(parts, arguments), request)
        return _encode_response((yield from steps), spec)

    return waiting_call if operation.runs_in_steps else call


def _create_caller(parts: Parts, arguments: Any) -> Caller:
    return Caller(parts, arguments.token, door="thrift")


def _encode_response(response: Any, spec: Any) -> Any:
    if spec is None:
        return None
    if response is None:
        raise Missing
    return encode_value(spec, response)


def _limit_content(request: ContentRequest) -> ContentRequest:
    limit = MAX_CONTENT_BYTES if request.limit_bytes is None else request.limit_bytes
    if limit > MAX_CONTENT_BYTES:
        max_bytes = MAX_CONTENT_BYTES
        raise BadInput(f"limit_bytes: must be a whole number from 1 to {max_bytes}, got {limit}")
    return replace(request, limit_bytes=limit)
