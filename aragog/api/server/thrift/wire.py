"""
Decode requests and encode replies in Thrift's binary protocol.

thriftpy2 does the work, but trusts its input. A list that claims two billion elements of an unknown
type takes minutes of CPU time, and four million one-byte structs take gigabytes of memory. A
request is therefore validated first, in one pass.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from struct import Struct
from typing import Any, NamedTuple

from thriftpy2.protocol.cybin import TCyBinaryProtocol  # type: ignore[attr-defined]
from thriftpy2.transport.memory import TCyMemoryBuffer  # type: ignore[attr-defined]

from aragog.api.operations.values import MAX_ITEMS
from aragog.api.server.thrift.contract import CALL, EXCEPTION, REPLY, EncodedValue, Method, head

MAX_DEPTH = 8
MAX_VALUES = 20_000
"""Maximum number of fields and items in one request. A request with 1,000 jobs has 7,000."""
_CACHED_BYTES = 1024
_VERSION = 0x80010000
_HEAD = Struct(">IIi")
_I32 = Struct(">i")
_U32 = Struct(">I")
_FIELD = Struct(">bh")
_SIZES = {2: 1, 3: 1, 4: 8, 6: 2, 8: 4, 10: 8}
_STRING, _STRUCT, _MAP, _SET, _LIST = 11, 12, 13, 14, 15
_FIRST_STRING = b"\x0b\x00\x01"
_FIRST_STRINGS = b"\x0f\x00\x01\x0b"

UNKNOWN_METHOD, INVALID_MESSAGE_TYPE, PROTOCOL_ERROR = 1, 2, 7


class BadFrame(Exception):
    """A frame that is not a message in this protocol, so no reply is possible."""


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


def read_arguments(method: Method, frame: bytes, at: int) -> Any:
    """
    Read the arguments of a call.

    Raises:
        BadArguments: they are damaged, or a string is not UTF-8.
        TooManyItems: a list is longer than the contract allows.
    """
    try:
        parts = _after_strings(frame, at) if method.takes_many else _after_string(frame, at)
    except UnicodeDecodeError as error:
        raise BadArguments("a string is not UTF-8") from error
    if parts is None:
        return _read(method.arguments, frame[at:])
    first, rest = parts
    value = method.arguments()
    value.__dict__.update(cached_fields(method.arguments, rest), **{method.first: first})
    return value


def _after_string(frame: bytes, at: int) -> tuple[str, bytes] | None:
    """Return a call's first argument, and the rest. See `after_string`."""
    rest = after_string(frame, at)
    return None if rest is None else (frame[at + 7 : -len(rest)].decode(), rest)


def _after_strings(frame: bytes, at: int) -> tuple[list[str], bytes] | None:
    """Split arguments that start with a list of strings, in a third of the library's time."""
    if frame[at : at + 4] != _FIRST_STRINGS:
        return None
    strings: list[str] = []
    length_of = _U32.unpack_from
    try:
        (count,) = length_of(frame, at + 4)
        if count > MAX_ITEMS:
            return None  # the library reports the error
        at += 8
        for _ in range(count):
            begin = at + 4
            at = begin + length_of(frame, at)[0]
            strings.append(frame[begin:at].decode())
    except struct.error:
        return None
    rest = frame[at:]
    return (strings, rest) if 0 < len(rest) <= _CACHED_BYTES else None


def after_string(frame: bytes, at: int) -> bytes | None:
    """
    Return the bytes after a small call's first argument, if that argument is a string. Calls often
    differ only in this argument, the URL.
    """
    if frame[at : at + 3] != _FIRST_STRING or len(frame) - at > _CACHED_BYTES:
        return None
    return frame[at + 7 + int.from_bytes(frame[at + 3 : at + 7]) :] or None


def first_string(frame: bytes, at: int) -> bytes:
    """Return a call's first argument if it is a string (a URL or a queue), otherwise b""."""
    if frame[at : at + 3] != _FIRST_STRING:
        return b""
    return frame[at + 7 : at + 7 + int.from_bytes(frame[at + 3 : at + 7])]


@lru_cache(maxsize=1024)
def cached_fields(kind: Any, data: bytes) -> dict[str, Any]:
    """Return decoded fields, which calls with equal bytes share. They must not be modified."""
    return dict(_read(kind, data).__dict__)


def _read(kind: Any, data: bytes) -> Any:
    if _Validator(data).struct(0, 0) != len(data):
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
        head(REPLY, method_name),
        sequence_id,
        _FIELD.pack(_STRUCT, field),
        encode_struct(error),
        b"\x00",
    )


def refusal_reply(name: bytes, sequence_id: bytes, code: int, text: str) -> bytes:
    """Return the framed reply with a TApplicationException, for calls that cannot be handled."""
    message = text.encode()
    return frame(
        head(EXCEPTION, name), sequence_id, b"\x0b\x00\x01", _I32.pack(len(message)), message,
        b"\x08\x00\x02", _I32.pack(code), b"\x00",
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


class _Validator:
    """
    Validates the arguments of a call in one pass and finds their end.

    Raises:
        BadArguments: they are damaged, nested too deeply, or have too many values.
    """

    __slots__ = ("_data", "_remaining_values")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._remaining_values = MAX_VALUES

    def struct(self, at: int, depth: int) -> int:
        if depth > MAX_DEPTH:
            raise BadArguments("nested too deeply")
        data = self._data
        try:
            while kind := data[at]:
                self._count(1)
                at = self._value(at + 3, kind, depth)
        except IndexError:
            raise BadArguments("the message is incomplete") from None
        return at + 1

    def _value(self, at: int, kind: int, depth: int) -> int:
        """Return the end of a value of this type."""
        data = self._data
        if size := _SIZES.get(kind):
            end = at + size
        elif kind == _STRING:
            end = at + 4 + int.from_bytes(data[at : at + 4])
        elif kind == _STRUCT:
            return self.struct(at, depth + 1)
        elif kind in (_LIST, _SET):
            count = int.from_bytes(data[at + 1 : at + 5])
            end = self._items(at + 5, (data[at],), count, depth)
        elif kind == _MAP:
            kinds = (data[at], data[at + 1])
            end = self._items(at + 6, kinds, int.from_bytes(data[at + 2 : at + 6]), depth)
        else:
            raise BadArguments(f"unknown type {kind}")
        if end > len(data):
            raise BadArguments("the message is incomplete")
        return end

    def _items(self, at: int, kinds: tuple[int, ...], count: int, depth: int) -> int:
        if depth > MAX_DEPTH:
            raise BadArguments("nested too deeply")
        if count > len(self._data) - at:  # every item takes at least one byte
            raise BadArguments("a list has more items than its message")
        if count > MAX_ITEMS:
            raise TooManyItems("items of a list, set or map", count)
        self._count(count)
        for _ in range(count):
            for kind in kinds:
                at = self._value(at, kind, depth + 1)
        return at

    def _count(self, values: int) -> None:
        self._remaining_values -= values
        if self._remaining_values < 0:
            raise BadArguments(f"more than {MAX_VALUES} fields and items")
