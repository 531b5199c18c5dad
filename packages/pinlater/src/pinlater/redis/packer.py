"""Encode Redis commands in one pass, and join what is sent at once."""

from __future__ import annotations

from typing import Any

from redis.exceptions import DataError

MOST_JOINED_BYTES = 1 << 20
"""
redis-py sends an argument of more than 6,000 bytes, and what precedes it, by a call each: 50 for
a batch's bodies, for each of which a thread releases the GIL.
"""


class Packer:
    """
    Encodes commands for connections (their option `command_packer`) in one pass.

    redis-py's own copies what it has for each argument.

    Args:
        most_bytes: a longer command is sent in several parts.
    """

    def __init__(self, most_bytes: int = MOST_JOINED_BYTES) -> None:
        self._most_bytes = most_bytes

    def pack(self, *args: Any) -> list[bytes]:
        """
        Return a command in parts, each to be sent at once: mostly one.

        Raises:
            redis.DataError: an argument is not text, bytes, an int or a float.
        """
        # Names such as "CONFIG GET" are two arguments.
        values = (*args[0].split(), *args[1:])
        parts, joined, size = [b"*%d\r\n" % len(values)], [], 0
        for value in values:
            encoded = value if type(value) is bytes else _encoded(value)
            size += len(encoded)
            if size > self._most_bytes:
                joined.append(b"".join(parts))
                parts, size = [], len(encoded)
            parts += (b"$%d\r\n" % len(encoded), encoded, b"\r\n")
        joined.append(b"".join(parts))
        return joined


def _encoded(value: Any) -> bytes:
    """An argument as Redis gets it."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return repr(value).encode()
    kind = type(value).__name__
    raise DataError(f"an argument of a command is a {kind}: pass text, bytes, an int or a float")
