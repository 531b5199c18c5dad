"""
Measure a feed and contacts on zengraph: takes, trims, and look-ups by beginnings.

    python bench/feeds.py [--engine sqlite|postgres|hbase] [--at WHERE] [--users 100] [--pool 500]
        [--seconds 2] [--filler 200000] [--compact COMMAND]

WHERE is a folder (none: one that is deleted), a dsn of PostgreSQL, or Thrift gateways of HBase with
commas. The tables are new: a schema or a prefix with the time in its name, which stays.

Each user has a pool of stories, each of which was put at another time, a feed, 1,000 contacts in a
tall list and 500 in a wide row. Calls are made one after the other, without a server. `gets` is the
p50 of a call divided by the p50 of a get of a node.

COMMAND begins a major compaction of the table {table} of HBase, and returns:

    --compact "echo \"major_compact '{table}'\" | hbase shell -n"

With it, gets are measured once more while their table, with some filler, is compacted. (Thrift 1 of
HBase 2.6 cannot do it: its `majorCompact` asks for a minor compaction, which does nothing to a
table with fewer than three files.)
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from zengraph import OUT, EdgeKey, Graph, NewEdge, Schema
from zengraph.tables import Tables

POOL, FEED, CONTACT, PACKED = 2, 3, 4, 5
TAKEN = 20
KEPT = 500
TALL, WIDE = 1000, 500
FILLER_BYTES = 1000
COMPACTIONS = 4
SCHEMA = Schema(ordered=(CONTACT,), packed=(PACKED,), sorted=("name",))


def id_of(name: str) -> bytes:
    """The id of a name: 16 bytes."""
    return hashlib.sha256(name.encode()).digest()[:16]


NAME = f"feeds{int(time.time())}"
"""Of the folder or the schema, and what the names of tables in HBase begin with."""


def opened(engine: str, where: str, stack: ExitStack) -> Tables:
    """New tables of an engine."""
    if engine == "sqlite":
        from zengraph.tables.sqlite import SqliteTables

        folder = where or stack.enter_context(tempfile.TemporaryDirectory())
        return SqliteTables(Path(folder) / NAME, shards=4)
    if engine == "postgres":
        from zengraph.tables.postgres import PostgresTables

        return PostgresTables(where, schema=NAME)
    from zengraph.tables.hbase import HBaseTables

    return HBaseTables(tuple(where.split(",")), prefix=f"{NAME}_", timeout_s=60)


def put_stories(graph: Graph, user: bytes, count: int, pool: int = POOL) -> None:
    """Put stories into a pool, with random scores."""
    edges = [
        NewEdge(EdgeKey(user, pool, os.urandom(16)), random.randrange(10**9), {"why": b"x" * 30})
        for _ in range(count)
    ]
    graph.put_edges(edges)


def fill(graph: Graph, users: list[bytes], pool: int) -> None:
    """Put pools, feeds and contacts."""
    for user in users:
        for _ in range(pool // TAKEN):
            put_stories(graph, user, TAKEN)
        put_stories(graph, user, pool, PACKED)
        graph.put_edges(
            [NewEdge(EdgeKey(user, FEED, os.urandom(16)), n) for n in range(KEPT + TAKEN)]
        )
        names = [f"{random.randrange(36**6):06x} name {n}" for n in range(TALL)]
        graph.put_edges(
            [
                NewEdge(EdgeKey(user, CONTACT, id_of(name)), 0, {"mail": b"x" * 20}, name.encode())
                for name in names
            ]
        )
        graph.put_node(user, {f"contact {name}": b"x" * 20 for name in names[:WIDE]})
    graph.put_nodes([(user, {"name": user.hex().encode()}) for user in users])


def times_ms(call: Callable[[int], object], seconds: float, most: int) -> list[float]:
    """The times of calls one after the other, sorted; up to `most` of them."""
    times: list[float] = []
    until_s = time.perf_counter() + seconds
    while time.perf_counter() < until_s and len(times) < most:
        started_s = time.perf_counter()
        call(len(times))
        times.append((time.perf_counter() - started_s) * 1000)
    return sorted(times)


def p(times: list[float], share: float) -> float:
    """A percentile."""
    return times[min(len(times) - 1, int(len(times) * share))]


def beginning() -> str:
    """Two hexadecimal digits, with which one of 256 names begins."""
    return f"{random.randrange(256):02x}"


def measure(graph: Graph, users: list[bytes], seconds: float) -> None:
    """Print how long each call takes."""
    count = len(users)
    calls: dict[str, tuple[Callable[[int], object], int]] = {
        "get of a node, one property": (lambda n: graph.get_node(users[n % count], ["name"]), 10**6),
        "edges, the 20 best": (lambda n: graph.edges(users[n % count], OUT, POOL, 20, reverse=True), 10**6),
        "take 20": (lambda n: graph.take_edges(users[n % count], POOL, TAKEN), count),
        "take 20 with an id": (
            lambda n: graph.take_edges(users[n % count], POOL, TAKEN, request_id=str(n)), count,
        ),
        "take 20, packed": (lambda n: graph.take_edges(users[n % count], PACKED, TAKEN), count),
        "take 20 with an id, packed": (
            lambda n: graph.take_edges(users[n % count], PACKED, TAKEN, request_id=str(n)), count,
        ),
        "put 20": (lambda n: put_stories(graph, users[n % count], TAKEN), count),
        "put 20, packed": (lambda n: put_stories(graph, users[n % count], TAKEN, PACKED), count),
        "edges, the 20 best, packed": (
            lambda n: graph.edges(users[n % count], OUT, PACKED, 20, reverse=True), 10**6,
        ),
        f"trim to {KEPT}, 20 too many": (lambda n: graph.trim_edges(users[n], OUT, FEED, KEPT), count),
        "contacts that begin, tall": (
            lambda n: graph.edges(users[n % count], OUT, CONTACT, prefix=beginning().encode()), 10**6,
        ),
        "contacts that begin, wide": (
            lambda n: graph.get_properties(users[n % count], f"contact {beginning()}"), 10**6,
        ),
        "nodes that begin": (lambda _: graph.lookup_prefix("name", beginning().encode()), 10**6),
    }  # fmt: skip
    print(f"{'':32} {'p50 ms':>8} {'p99 ms':>8} {'gets':>6}")
    get_ms = 0.0
    for name, (call, most) in calls.items():
        times = times_ms(call, seconds, most)
        get_ms = get_ms or p(times, 0.5)
        ratio = p(times, 0.5) / get_ms
        print(f"{name:32} {p(times, 0.5):8.3f} {p(times, 0.99):8.3f} {ratio:6.1f}", flush=True)


def measure_compaction(
    graph: Graph, users: list[bytes], seconds: float, filler: int, command: str
) -> None:
    """Print the p99 of gets beside major compactions of HBase, and without, in turn."""
    for at in range(0, filler, 500):
        graph.put_nodes(
            [
                (os.urandom(16), {"filler": os.urandom(FILLER_BYTES)})
                for _ in range(min(500, filler - at))
            ]
        )

    def get(number: int) -> object:
        return graph.get_node(users[number % len(users)], ["name"])

    for _ in range(COMPACTIONS):
        alone = times_ms(get, seconds, 10**6)
        subprocess.run(command.replace("{table}", f"{NAME}_n"), shell=True, check=True)
        beside = times_ms(get, seconds, 10**6)
        print(
            f"a get alone: p50 {p(alone, 0.5):.2f} p99 {p(alone, 0.99):.2f} ms; beside a compaction: "
            f"{p(beside, 0.5):.2f}, {p(beside, 0.99):.2f} ms, {p(beside, 0.99) / p(alone, 0.99):.1f} "
            "times the p99",
            flush=True,
        )
        time.sleep(seconds)


def main() -> None:
    """Fill and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", choices=("sqlite", "postgres", "hbase"), default="sqlite")
    parser.add_argument("--at", default="", help="a folder, a dsn, or gateways")
    parser.add_argument("--users", type=int, default=100)
    parser.add_argument("--pool", type=int, default=500, help="stories of a user")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--filler", type=int, default=200_000, help="nodes of 1 KB, on HBase")
    parser.add_argument("--compact", default="", help="begins a major compaction of {table}")
    options = parser.parse_args()
    with ExitStack() as stack:
        tables = opened(options.engine, options.at, stack)
        stack.callback(tables.close)
        tables.create()
        graph = Graph(tables, SCHEMA)
        users = [id_of(f"user {n}") for n in range(options.users)]
        fill(graph, users, options.pool)
        print(f"{options.engine}, {options.users} users, load average {os.getloadavg()[0]:.1f}")
        measure(graph, users, options.seconds)
        if options.compact:
            measure_compaction(graph, users, options.seconds, options.filler, options.compact)


if __name__ == "__main__":
    main()
