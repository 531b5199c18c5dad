"""
Measure the CPU of one Redis command on a unix socket: redis-py, aragog's client, a held connection.

    .venv/bin/python -m bench.redis_client [commands]

The command is a script with one key and 40 bytes, as the limiter calls it. Only the CPU of this
process counts. The clients take turns, and the best round is shown. `socket` sends the same bytes
without a client, to show the kernel's part.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

import redis

from aragog.standalone.redis_server import RedisServer
from bench.quick import add_quick
from bench.timing import best_s
from pinlater.redis.address import redis_py_url
from pinlater.redis.connect import connect

ROUNDS = 5
CALL = ("k", b"x" * 40)


def calls(client: redis.Redis, aragog_client: redis.Redis) -> dict[str, Callable[[], object]]:
    """Return a function per client that sends one command."""
    sha = client.script_load("return ARGV[1]")
    connection = client.connection_pool.get_connection()
    command = b"".join(connection.pack_command("EVALSHA", sha, 1, *CALL))

    def use_connection() -> None:
        connection.send_command("EVALSHA", sha, 1, *CALL)
        connection.read_response()

    def use_socket() -> None:
        connection._sock.sendall(command)
        connection._sock.recv(4096)

    return {
        "redis-py": lambda: client.evalsha(sha, 1, *CALL),
        "aragog": lambda: aragog_client.evalsha(sha, 1, *CALL),
        "held connection": use_connection,
        "socket": use_socket,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commands", nargs="?", type=int, default=2_000)
    add_quick(parser, commands=50)
    count = parser.parse_args().commands
    best: dict[str, float] = {}
    with (
        tempfile.TemporaryDirectory(prefix="arb") as folder,
        RedisServer(Path(folder)) as server,
        redis.Redis.from_url(redis_py_url(server.url)) as client,
        connect(server.url) as aragog_client,
    ):
        for _ in range(ROUNDS):
            for name, call in calls(client, aragog_client).items():
                spent_s = best_s(lambda call=call: [call() for _ in range(count)], times=1)
                best[name] = min(best.get(name, spent_s), spent_s)
    for name, spent_s in best.items():
        print(f"{name:18}{1e6 * spent_s / count:8.1f} µs of CPU per command")


if __name__ == "__main__":
    main()
