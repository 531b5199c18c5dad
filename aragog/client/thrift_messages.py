"""Messages of the Thrift client: arguments as bytes, replies as values and errors. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import thriftpy2
from thriftpy2.protocol.cybin import TCyBinaryProtocol  # type: ignore[attr-defined]
from thriftpy2.thrift import TApplicationException
from thriftpy2.transport.memory import TCyMemoryBuffer  # type: ignore[attr-defined]

from aragog.api.values import PageRecord
from aragog.errors import (
    AccessDenied,
    AragogError,
    BadInput,
    PermanentError,
    ServiceUnavailable,
    TakenDown,
    VersionConflict,
)

FILE = Path(__file__).parent.parent / "api" / "urlstore.thrift"
idl: Any = thriftpy2.load(str(FILE), module_name="aragog_urlstore_thrift")
_REPLY = 2


def encode_struct(value: Any) -> bytes:
    """A struct as bytes."""
    buffer = TCyMemoryBuffer()
    TCyBinaryProtocol(buffer).write_struct(value)
    data: bytes = buffer.getvalue()
    return data


def value_of(result: Any, reply: TCyMemoryBuffer, arguments: Mapping[str, Any], where: str) -> Any:
    """
    The value of a call; None for NotFound.

    Args:
        result: an empty result struct of the call.
        reply: the message.
        arguments: what was sent.
        where: the server, for messages.

    Raises:
        AragogError: the server raised an exception of the contract, or could not read the call.
    """
    protocol = TCyBinaryProtocol(reply)
    _, message_kind, _ = protocol.read_message_begin()
    if message_kind != _REPLY:
        error = TApplicationException()
        error.read(protocol)
        raise BadInput(f"{where}: {error.message}")
    protocol.read_struct(result)
    for name, value in vars(result).items():
        if name != "success" and value is not None:
            if isinstance(value, idl.NotFound):
                return None
            raise _ours(value, arguments, where)
    return getattr(result, "success", None)


def _ours(raised: Any, arguments: Mapping[str, Any], where: str) -> AragogError:
    """The error of this project for an exception of the contract."""
    match type(raised).__name__:
        case "BadInput":
            return BadInput(raised.message)
        case "TakenDown":
            return TakenDown(raised.url)
        case "Conflict":
            expected = arguments["options"].if_version or ""
            return VersionConflict(arguments["url"], expected, raised.found_version)
        case "Unauthorized":
            return AccessDenied(raised.message)
        case "Unavailable":
            return ServiceUnavailable(where, raised.message, raised.retry_after_ms / 1000)
        case "DeadlineExceeded":
            return ServiceUnavailable(where, raised.message)
        case _:
            return PermanentError(f"{where}: {raised.message}")


def refuse(result: Any) -> None:
    """Raise the error of one URL of a batch."""
    if result.status == idl.ItemStatus.DAMAGED:
        raise PermanentError(result.message)
    raise BadInput(result.message)


def without_fields(record: PageRecord | TakenDown | None) -> PageRecord | TakenDown | None:
    """The record for a caller who asked for no fields: to the contract, none means all."""
    if isinstance(record, PageRecord):
        record.fields.clear()
    return record
