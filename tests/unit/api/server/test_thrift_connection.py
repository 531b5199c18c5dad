"""Frames of a connection, and which of them wait in the kernel instead of in memory."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from aragog.api.server.memory import MemoryLimit
from aragog.api.server.thrift.connection import Connection, ThriftState

FRAME = b"\0\0\0\4ping"


class Transport:
    """Records whether reading is paused, and counts replies."""

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
        """Does nothing: replies are read immediately."""

    def get_extra_info(self, _name: str) -> tuple[str, int]:
        return ("127.0.0.1", 1)


class Gate:
    """Replies to each frame immediately."""

    max_frame_bytes = 1_000
    limits_s: ClassVar[dict[ThriftState, float]] = {}

    def __init__(self) -> None:
        self.requests = MemoryLimit(1_000_000, "frames")
        self.replies = MemoryLimit(1_000_000, "replies")

    def on_open(self, _connection: Connection, _address: str) -> bool:
        return True

    def on_close(self, _connection: Connection) -> None:
        pass

    def refuse_frame(self, _connection: Connection, _begin: bytes) -> bytes:
        return b""

    def handle_frame(self, connection: Connection, _frame: bytes) -> None:
        connection.send_reply(b"pong")


def turn(loop: asyncio.AbstractEventLoop) -> None:
    """Runs one iteration of the loop."""
    loop.call_soon(loop.stop)
    loop.run_forever()


def test_reading_pauses_while_thousands_of_small_frames_are_processed():
    """Regression: each read restarted the work on the frames, using memory and delaying others."""
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
