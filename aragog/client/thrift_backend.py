"""Calls operations over Thrift."""

from __future__ import annotations

import ssl
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import thriftpy2
from thriftpy2.protocol.cybin import TCyBinaryProtocol  # type: ignore[attr-defined]
from thriftpy2.thrift import TApplicationException
from thriftpy2.transport.memory import TCyMemoryBuffer  # type: ignore[attr-defined]

from aragog.api.error_table import OVER_QUOTA
from aragog.api.operations.operation import Operation
from aragog.api.operations.reading import GetManyRequest, GetRequest, HistoryRequest
from aragog.api.operations.values import PageRecord
from aragog.api.thrift_values import build_arguments, build_record, response_from_struct
from aragog.client.thrift_connections import ThriftConnection, ThriftConnectionPool
from aragog.errors import (
    AccessDenied,
    AragogError,
    BadInput,
    PermanentError,
    QuotaExceeded,
    ServiceUnavailable,
    TakenDown,
    ValueTaken,
    VersionConflict,
)
from aragog.urlstore.field_formats import FieldFormats

FILE = Path(__file__).parent.parent / "api" / "urlstore.thrift"
idl: Any = thriftpy2.load(str(FILE), module_name="aragog_urlstore_thrift")
_REPLY = 2


def encode_struct(value: Any) -> bytes:
    """Return a struct as bytes."""
    buffer = TCyMemoryBuffer()
    TCyBinaryProtocol(buffer).write_struct(value)
    data: bytes = buffer.getvalue()
    return data


def result_from_reply(
    result: Any, reply: TCyMemoryBuffer, arguments: Mapping[str, Any], server: str
) -> Any:
    """
    Return the result of a call, or None if the server raised NotFound.

    Args:
        result: an empty result struct for the call.
        reply: the reply message.
        arguments: the arguments that were sent.
        server: the server, for error messages.

    Raises:
        AragogError: the server raised a Thrift exception, or could not decode the call.
    """
    protocol = TCyBinaryProtocol(reply)
    _, message_kind, _ = protocol.read_message_begin()
    if message_kind != _REPLY:
        error = TApplicationException()
        error.read(protocol)
        raise BadInput(f"{server}: {error.message}")
    protocol.read_struct(result)
    for name, value in vars(result).items():
        if name != "success" and value is not None:
            if isinstance(value, idl.NotFound):
                return None
            raise _convert_error(value, arguments, server)
    return getattr(result, "success", None)


def _convert_error(raised: Any, arguments: Mapping[str, Any], server: str) -> AragogError:
    match type(raised).__name__:
        case "BadInput":
            return BadInput(raised.message)
        case "TakenDown":
            return TakenDown(raised.url)
        case "Conflict" if raised.url is not None:
            return ValueTaken(raised.property, raised.url)
        case "Conflict":
            expected = arguments["options"].if_version or ""
            return VersionConflict(arguments["url"], expected, raised.found_version)
        case "Unauthorized":
            return AccessDenied(raised.message)
        case "Unavailable" if raised.code == OVER_QUOTA.code:
            quota = {"limit": raised.limit, "most": raised.most, "used": raised.used}
            wait_s = raised.retry_after_ms / 1000
            return QuotaExceeded(server, raised.message, **quota, retry_after_s=wait_s)
        case "Unavailable":
            return ServiceUnavailable(server, raised.message, raised.retry_after_ms / 1000)
        case "DeadlineExceeded":
            return ServiceUnavailable(server, raised.message)
        case _:
            return PermanentError(f"{server}: {raised.message}")


def raise_item_error(result: Any) -> None:
    """Raise the error that the server returned for one URL in a batch."""
    if result.status == idl.ItemStatus.DAMAGED:
        raise PermanentError(result.message)
    raise BadInput(result.message)


def without_fields(record: PageRecord | TakenDown | None) -> PageRecord | TakenDown | None:
    """Remove the fields. Used if none were requested: in Thrift, an empty list means all fields."""
    if isinstance(record, PageRecord):
        record.fields.clear()
    return record


R = TypeVar("R")


class ThriftBackend:
    """
    See `Backend`.

    Args:
        host, port: the server's address.
        token: a bearer token.
        tls: the TLS context, or None for plain TCP.
        pool_size: number of idle connections to keep.
        field_formats: the server's `store.field_formats`, to decode values.
    """

    def __init__(
        self, host: str, port: int, *, token: str | None, tls: ssl.SSLContext | None,
        pool_size: int, field_formats: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        self._where = f"{host}:{port}"
        self._token = token
        self._formats = FieldFormats(field_formats)
        self._pool = ThriftConnectionPool((host, port), tls, pool_size, self._authenticate)

    def call(self, operation: Operation[Any, R], request: Any, *, limit_s: float) -> R:
        response: Any
        if isinstance(request, GetRequest) and not request.include:
            batch_request = GetManyRequest(
                [request.url], request.fields, facts=request.facts, purpose=request.purpose
            )
            response = self._get_many(batch_request, limit_s)[0]
            if isinstance(response, TakenDown):
                raise response
        elif isinstance(request, GetManyRequest):
            response = self._get_many(request, limit_s)
        else:
            response = self._call_generic(operation, request, limit_s)
            if (
                isinstance(request, GetRequest)
                and request.fields is not None
                and not request.fields
            ):
                response = without_fields(response)
        result: R = response
        return result

    def close(self) -> None:
        self._pool.close()

    def _call_generic(self, operation: Operation[Any, Any], request: Any, limit_s: float) -> Any:
        if operation.thrift is None:
            raise BadInput(f"{operation.name}: cannot be called over Thrift; use HTTP")
        service, method = operation.thrift
        arguments_class = getattr(getattr(idl, service), f"{method}_args")
        arguments = build_arguments(operation, request, arguments_class)
        if not operation.waits:
            arguments.options.deadline_ms = _to_ms(limit_s)
        value = self._call(service, method, time.monotonic() + limit_s, arguments)
        response = response_from_struct(operation.response_type, value, self._formats)
        if isinstance(request, HistoryRequest):
            return [replace(past, field=request.field) for past in response]
        return response

    def _get_many(
        self, request: GetManyRequest, limit_s: float
    ) -> list[PageRecord | TakenDown | None]:
        deadline_at_s = time.monotonic() + limit_s
        records: dict[str, PageRecord | TakenDown | None] = {}
        remaining, fields = list(dict.fromkeys(request.urls)), request.fields
        while remaining:
            options = idl.BatchReadOptions(
                facts=request.facts,
                deadline_ms=_to_ms(deadline_at_s - time.monotonic()),
                purpose=request.purpose,
            )
            arguments = idl.UrlStore.getMany_args(remaining, list(fields or ()), options)
            results = self._call("UrlStore", "getMany", deadline_at_s, arguments)
            postponed = []
            for url, result in zip(remaining, results, strict=True):
                if result.status == idl.ItemStatus.LEFT_OUT:
                    postponed.append(url)
                elif result.status in (idl.ItemStatus.OK, idl.ItemStatus.NOT_FOUND):
                    record = build_record(result.record, self._formats) if result.record else None
                    records[url] = record
                elif result.status == idl.ItemStatus.TAKEN_DOWN:
                    records[url] = TakenDown(url)
                else:
                    raise_item_error(result)
            if len(postponed) == len(remaining):
                raise BadInput(f"{remaining[0]}: {results[0].message}")
            remaining = postponed
        should_clear_fields = fields is not None and not fields
        urls = request.urls
        return [
            without_fields(records[url]) if should_clear_fields else records[url] for url in urls
        ]

    def _call(self, service: str, method: str, deadline_at_s: float, arguments: Any) -> Any:
        """Make a call, and return its result. The connection is only reused after a full reply."""
        request = encode_struct(arguments)
        connection = None
        try:
            connection = self._pool.take(deadline_at_s)
            reply = connection.exchange(f"{service}:{method}".encode(), request, deadline_at_s)
        except (OSError, EOFError) as error:
            if connection is not None:
                connection.close()
            raise ServiceUnavailable(self._where, str(error) or "no response in time") from error
        self._pool.put_back(connection)
        result = getattr(getattr(idl, service), f"{method}_result")()
        return result_from_reply(result, reply, vars(arguments), self._where)

    def _authenticate(self, connection: ThriftConnection, deadline_at_s: float) -> None:
        if self._token is not None:
            request = encode_struct(idl.UrlStore.authenticate_args(self._token))
            reply = connection.exchange(b"authenticate", request, deadline_at_s)
            result_from_reply(idl.UrlStore.authenticate_result(), reply, {}, self._where)


def _to_ms(limit_s: float) -> int:
    return max(1, int(limit_s * 1000))
