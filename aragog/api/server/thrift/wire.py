"""
Decode requests and encode replies in Thrift's binary protocol.

thriftpy2 does this, but trusts its input. A list that claims to have two billion elements of an
unknown type takes minutes of CPU time, and four million one-byte structs take gigabytes of memory.
A request is therefore validated first, in one pass.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from struct import Struct
from typing import Any, NamedTuple

from thriftpy2.protocol.cybin import TCyBinaryProtocol  # type: ignore[attr-defined]
from thriftpy2.transport.memory import TCyMemoryBuffer  # type: ignore[attr-defined]

from aragog.api.operations.values import MAX_ITEMS
from aragog.api.server.thrift.contract import (
    CALL,
    EXCEPTION,
    REPLY,
    EncodedValue,
    Method,
    message_header,
)

MAX_DEPTH = 8
MAX_VALUES = 20_000
"""Maximum number of fields and items in one request. A request with 1,000 jobs has 7,000."""
_CACHED_BYTES = 1024
_VERSION = 0x80010000
_HEADER = Struct(">IIi")
_I32 = Struct(">i")
_U32 = Struct(">I")
_FIELD_HEADER = Struct(">bh")
_FIXED_SIZES = {2: 1, 3: 1, 4: 8, 6: 2, 8: 4, 10: 8}
_STRING, _STRUCT, _MAP, _SET, _LIST = 11, 12, 13, 14, 15
_FIRST_STRING = b"\x0b\x00\x01"
_FIRST_STRINGS = b"\x0f\x00\x01\x0b"

UNKNOWN_METHOD, INVALID_MESSAGE_TYPE, PROTOCOL_ERROR = 1, 2, 7


class BadFrame(Exception):
    """The frame is not a message in this protocol, so no reply is possible."""


class BadArguments(Exception):
    """The arguments of a call cannot be read."""


class TooManyItems(BadArguments):
    """A list, set or map is longer than the contract allows."""

    def __init__(self, name: str, count: int) -> None:
        super().__init__(f"{name}: must have at most {MAX_ITEMS} items, got {count}")


class MessageHead(NamedTuple):
    """The header of a request message."""

    name: bytes
    kind: int
    sequence_id: bytes
    """The sequence number, which the reply repeats."""
    arguments_offset: int


def read_head(frame: bytes) -> MessageHead:
    """
    Read the header of a request message.

    Raises:
        BadFrame: the frame is not a message.
    """
    if len(frame) < 12:
        raise BadFrame("the frame is too short for a message")
    version = int.from_bytes(frame[:4])
    length = int.from_bytes(frame[4:8])
    end = 8 + length
    if version & 0xFFFFFF00 != _VERSION or end + 4 > len(frame):
        raise BadFrame("the frame does not use the strict binary protocol")
    return MessageHead(frame[8:end], version & 0xFF, frame[end : end + 4], end + 4)


def read_arguments(method: Method, frame: bytes, offset: int) -> Any:
    """
    Read the arguments of a call.

    Raises:
        BadArguments: they are damaged, or a string is not UTF-8.
        TooManyItems: a list is longer than the contract allows.
    """
    try:
        split_arguments = (
            _after_strings(frame, offset) if method.takes_many else _after_string(frame, offset)
        )
    except UnicodeDecodeError as error:
        raise BadArguments("a string is not UTF-8") from error
    if split_arguments is None:
        return _read(method.arguments, frame[offset:])
    first_argument, other_arguments = split_arguments
    value = method.arguments()
    value.__dict__.update(
        cached_fields(method.arguments, other_arguments), **{method.first_argument: first_argument}
    )
    return value


def _after_string(frame: bytes, offset: int) -> tuple[str, bytes] | None:
    """Return a call's first argument, and the bytes after it. See `after_string`."""
    other_arguments = after_string(frame, offset)
    return (
        None
        if other_arguments is None
        else (frame[offset + 7 : -len(other_arguments)].decode(), other_arguments)
    )


def _after_strings(frame: bytes, offset: int) -> tuple[list[str], bytes] | None:
    """Split arguments that start with a list of strings. Takes a third of thriftpy2's time."""
    if frame[offset : offset + 4] != _FIRST_STRINGS:
        return None
    strings: list[str] = []
    unpack_length = _U32.unpack_from
    try:
        (count,) = unpack_length(frame, offset + 4)
        if count > MAX_ITEMS:
            return None  # the library reports the error
        offset += 8
        for _ in range(count):
            start = offset + 4
            offset = start + unpack_length(frame, offset)[0]
            strings.append(frame[start:offset].decode())
    except struct.error:
        return None
    other_arguments = frame[offset:]
    return (strings, other_arguments) if 0 < len(other_arguments) <= _CACHED_BYTES else None


def after_string(frame: bytes, offset: int) -> bytes | None:
    """
    Return the bytes after a small call's first argument, if that argument is a string. Calls often
    differ only in this argument, the URL.
    """
    if frame[offset : offset + 3] != _FIRST_STRING or len(frame) - offset > _CACHED_BYTES:
        return None
    return frame[offset + 7 + int.from_bytes(frame[offset + 3 : offset + 7]) :] or None


def first_string(frame: bytes, offset: int) -> bytes:
    """Return a call's first argument if it is a string (a URL or a queue), otherwise b""."""
    if frame[offset : offset + 3] != _FIRST_STRING:
        return b""
    return frame[offset + 7 : offset + 7 + int.from_bytes(frame[offset + 3 : offset + 7])]


@lru_cache(maxsize=1024)
def cached_fields(kind: Any, data: bytes) -> dict[str, Any]:
    """Return decoded fields, which calls with equal bytes share. They must not be modified."""
    return dict(_read(kind, data).__dict__)


def _read(kind: Any, data: bytes) -> Any:
    if _ArgumentsValidator(data).check_struct(0, 0) != len(data):
        raise BadArguments("the frame has data after its message")
    value = kind()
    try:
        TCyBinaryProtocol(TCyMemoryBuffer(data), strict_decode=True).read_struct(value)
    except UnicodeDecodeError as error:
        raise BadArguments("a string is not UTF-8") from error
    except Exception as error:
        raise BadArguments("the arguments cannot be read") from error
    return value


def reply(method: Method, sequence_id: bytes, value: Any) -> bytes:
    """Return the framed reply with a call's result."""
    if not isinstance(value, EncodedValue):
        result = method.result()
        if value is not None:
            result.success = value
        return frame(method.reply_head, sequence_id, encode_struct(result))
    return frame(method.reply_head, sequence_id, value, b"\x00")


def exception_reply(method_name: bytes, sequence_id: bytes, field: int, error: Any) -> bytes:
    """Return the framed reply with a declared exception. `field` is its position in `throws`."""
    return frame(
        message_header(REPLY, method_name),
        sequence_id,
        _FIELD_HEADER.pack(_STRUCT, field),
        encode_struct(error),
        b"\x00",
    )


def refusal_reply(name: bytes, sequence_id: bytes, code: int, text: str) -> bytes:
    """Return the framed reply with a TApplicationException, for calls that cannot be handled."""
    message = text.encode()
    return frame(
        message_header(EXCEPTION, name), sequence_id, b"\x0b\x00\x01", _I32.pack(len(message)),
        message, b"\x08\x00\x02", _I32.pack(code), b"\x00",
    )  # fmt: skip


def frame(*parts: bytes) -> bytes:
    """Return the parts of a message as one frame."""
    return b"".join((_I32.pack(sum(map(len, parts))), *parts))


def is_call(kind: int) -> bool:
    """Return True for a message that expects a reply."""
    return kind == CALL


def encode_struct(value: Any) -> bytes:
    """Return a struct as bytes."""
    buffer = TCyMemoryBuffer()
    TCyBinaryProtocol(buffer).write_struct(value)
    data: bytes = buffer.getvalue()
    return data


class _ArgumentsValidator:
    """
    Validates the arguments of a call in one pass and finds their end.

    Raises:
        BadArguments: they are damaged, nested too deeply, or have too many values.
    """

    __slots__ = ("_data", "_remaining_values")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._remaining_values = MAX_VALUES

    def check_struct(self, offset: int, depth: int) -> int:
        if depth > MAX_DEPTH:
            raise BadArguments("nested too deeply")
        data = self._data
        try:
            while kind := data[offset]:
                self._count(1)
                offset = self._check_value(offset + 3, kind, depth)
        except IndexError:
            raise BadArguments("the message is incomplete") from None
        return offset + 1

    def _check_value(self, offset: int, kind: int, depth: int) -> int:
        """Return the end of a value of this type."""
        data = self._data
        if size := _FIXED_SIZES.get(kind):
            end = offset + size
        elif kind == _STRING:
            end = offset + 4 + int.from_bytes(data[offset : offset + 4])
        elif kind == _STRUCT:
            return self.check_struct(offset, depth + 1)
        elif kind in (_LIST, _SET):
            count = int.from_bytes(data[offset + 1 : offset + 5])
            end = self._check_items(offset + 5, (data[offset],), count, depth)
        elif kind == _MAP:
            kinds = (data[offset], data[offset + 1])
            end = self._check_items(
                offset + 6, kinds, int.from_bytes(data[offset + 2 : offset + 6]), depth
            )
        else:
            raise BadArguments(f"unknown type {kind}")
        if end > len(data):
            raise BadArguments("the message is incomplete")
        return end

    def _check_items(self, offset: int, kinds: tuple[int, ...], count: int, depth: int) -> int:
        if depth > MAX_DEPTH:
            raise BadArguments("nested too deeply")
        if count > len(self._data) - offset:  # every item takes at least one byte
            raise BadArguments("a list has more items than its message")
        if count > MAX_ITEMS:
            raise TooManyItems("items of a list, set or map", count)
        self._count(count)
        for _ in range(count):
            for kind in kinds:
                offset = self._check_value(offset, kind, depth + 1)
        return offset

    def _count(self, values: int) -> None:
        self._remaining_values -= values
        if self._remaining_values < 0:
            raise BadArguments(f"more than {MAX_VALUES} fields and items")
