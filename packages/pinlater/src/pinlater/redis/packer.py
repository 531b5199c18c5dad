"""Encode Redis commands in one pass, so that each takes few sends."""

from __future__ import annotations

from typing import Any

from redis.exceptions import DataError

MAX_SEND_BYTES = 1 << 20
"""
Maximum bytes in one send. redis-py uses a separate send for each argument above 6,000 bytes, so a
batch of 50 bodies would take 50 sends, and each releases the GIL.
"""


class Packer:
    """
    Encodes commands for connections (their option `command_packer`).

    redis-py's own packer copies its buffer for each argument.

    Args:
        max_bytes: longer commands are sent in several parts.
    """

    def __init__(self, max_bytes: int = MAX_SEND_BYTES) -> None:
        self._max_bytes = max_bytes

    def pack(self, *args: Any) -> list[bytes]:
        """
        Return a command as parts, usually one. Each part is one send.

        Raises:
            redis.DataError: an argument is not a string, bytes, an int or a float.
        """
        # Names such as "CONFIG GET" are two arguments.
        values = (*args[0].split(), *args[1:])
        parts, sends, size = [b"*%d\r\n" % len(values)], [], 0
        for value in values:
            encoded = value if type(value) is bytes else _encode(value)
            size += len(encoded)
            if size > self._max_bytes:
                sends.append(b"".join(parts))
                parts, size = [], len(encoded)
            parts += (b"$%d\r\n" % len(encoded), encoded, b"\r\n")
        sends.append(b"".join(parts))
        return sends


def _encode(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return repr(value).encode()
    type_name = type(value).__name__
    raise DataError(
        f"an argument of a command is a {type_name}: pass text, bytes, an int or a float"
    )
