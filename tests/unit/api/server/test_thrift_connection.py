"""A connection's frames, and what waits in the kernel instead of in memory."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from aragog.api.server.memory import MemoryLimit
from aragog.api.server.thrift.connection import Connection, ThriftState

FRAME = b"\0\0\0\4ping"


class Transport:
    """Records whether the connection reads, and its replies."""

    def __init__(self) -> None:
        self.reads = True
        self.replies = 0

    def pause_reading(self) -> None:
        self.reads = False

    def resume_reading(self) -> None:
        self.reads = True

    def write(self, _data: bytes) -> None:
        self.replies += 1

    def set_write_buffer_limits(self, _high: int) -> None:
        """Its replies are read at once."""

    def get_extra_info(self, _name: str) -> tuple[str, int]:
        return ("127.0.0.1", 1)


class Gate:
    """Answers each frame at once."""

    max_frame_bytes = 1_000
    limits_s: ClassVar[dict[ThriftState, float]] = {}

    def __init__(self) -> None:
        self.requests = MemoryLimit(1_000_000, "frames")
        self.replies = MemoryLimit(1_000_000, "replies")

    def opened(self, _connection: Connection, _address: str) -> bool:
        return True

    def closed(self, _connection: Connection) -> None:
        pass

    def refusal(self, _connection: Connection, _begin: bytes) -> bytes:
        return b""

    def take(self, connection: Connection, _frame: bytes) -> None:
        connection.answer(b"pong")


def turn(loop: asyncio.AbstractEventLoop) -> None:
    """Run what the loop has to do now, once."""
    loop.call_soon(loop.stop)
    loop.run_forever()


def test_a_client_with_thousands_of_small_frames_is_read_no_further_before_their_replies():
    """Each read took up the work on the frames anew: memory and the others' waits grew."""
    transport, loop = Transport(), asyncio.new_event_loop()
    connection = Connection(Gate())
    connection.connection_made(transport)

    loop.call_soon(connection.data_received, FRAME * 5_000)
    loop.call_soon(connection.data_received, FRAME * 5_000)
    turn(loop)
    begun = transport.replies

    assert 0 < begun < 500
    assert not transport.reads
    while not transport.reads:
        before = transport.replies
        turn(loop)
        assert transport.replies - before <= begun
    assert transport.replies == 10_000
    loop.close()
