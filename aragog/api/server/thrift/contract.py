"""The contract `urlstore.thrift` as Python classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from struct import Struct
from typing import Any, NamedTuple

import thriftpy2
from thriftpy2.thrift import TType

from aragog.api.operations.operation import Pool
from aragog.api.operations.table import OPERATIONS

FILE = Path(__file__).parents[2] / "urlstore.thrift"
idl: Any = thriftpy2.load(str(FILE), module_name="aragog_urlstore_thrift")

CALL, REPLY, EXCEPTION, ONEWAY = 1, 2, 3, 4

_OPERATIONS = {operation.thrift: operation for operation in OPERATIONS.values() if operation.thrift}
_SERVICES = {service.encode() for service, _ in _OPERATIONS}
_SESSION_METHODS = frozenset(["ping", "authenticate"])
_I32 = Struct(">i")
_VERSION_1 = 0x80010000


class CallHandler(NamedTuple):
    """Runs the calls of one method."""

    run: Callable[[Any], Any]
    """Takes an argument struct, and returns a value, `EncodedValue` or `Steps`."""
    run_batch: Callable[[Sequence[Any]], list[Any]] | None = None
    """
    Handles several calls together and returns a value or an exception for each. None if calls are
    only handled one at a time.
    """
    can_batch: Callable[[Mapping[str, Any]], bool] | None = None
    """
    Takes the arguments after the URL. Returns True if calls with equal arguments can share a read.
    """


@dataclass(frozen=True, slots=True)
class Method:
    """One method of a service."""

    service: str
    name: str
    scope: str
    pool: Pool
    arguments: Any
    """The class of its argument struct."""
    first_argument: str
    """The name of its first argument."""
    takes_many: bool
    """True if its first argument is a list of strings, and False if it is a string."""
    result: Any
    """The class of its result struct. The struct's field 0 is the value."""
    reply_head: bytes
    """The start of every reply, up to the sequence number."""
    handler: CallHandler


class EncodedValue(bytes):
    """An encoded value, including its field header."""

    __slots__ = ()


def methods(services: Mapping[str, Mapping[str, CallHandler]]) -> dict[bytes, Method]:
    """
    Return every method by its name in messages, such as `UrlStore:get`.

    Args:
        services: each service's handlers by the method's name.
    """
    result: dict[bytes, Method] = {}
    for service, handlers in services.items():
        kind = getattr(idl, service)
        for name in kind.thrift_services:
            if name in _SESSION_METHODS:
                continue
            operation = _OPERATIONS[service, name]
            arguments = getattr(kind, f"{name}_args")
            first_type, first_argument, *_ = arguments.thrift_spec[1]
            method = Method(
                service,
                name,
                operation.required_scope,
                operation.pool,
                arguments,
                first_argument,
                first_type == TType.LIST,
                getattr(kind, f"{name}_result"),
                message_header(REPLY, name.encode()),
                handlers[name],
            )
            result[f"{service}:{name}".encode()] = method
            if service == "UrlStore":
                result[name.encode()] = method
    return result


def session_method(name: bytes) -> bytes | None:
    """Return `ping` or `authenticate` if the name means that call on any service, else None."""
    service, colon, call = name.rpartition(b":")
    is_known_service = not colon or service in _SERVICES
    return call if is_known_service and call.decode("latin-1") in _SESSION_METHODS else None


def message_header(kind: int, name: bytes) -> bytes:
    """Return a message header without the sequence number."""
    version = (_VERSION_1 | kind) - 2**32
    return _I32.pack(version) + _I32.pack(len(name)) + name
