"""
Measure zengraph on SQLite beside other graph stores that live in the program's own process.

    python -m venv peers && peers/bin/pip install . kuzu simple-graph-sqlite
    peers/bin/python bench/peers.py [--edges 100000] [--seconds 3] [--only zengraph]

Users follow boards, with the time as the score, and a hub has 10,000 followers. Every store writes
batches of 500 edges through its own public calls and keeps them on disk; then it answers, one call
after the other: a node by its id, the 20 newest followers of a board, the 100 newest of the hub, and
how many followers the hub has.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

FOLLOWS = 1
FOLLOWERS = 10_000
BOARDS = 1000
AT_ONCE = 500
HUB = "hub"

Follow = tuple[str, str, int]
"""User, board and time."""


class Store(Protocol):
    """A graph store under test."""

    def put(self, follows: list[Follow]) -> None: ...
    def node(self, name: str) -> object: ...
    def newest(self, board: str, limit: int) -> list[object]: ...
    def count(self, board: str) -> int: ...
    def close(self) -> None: ...


def id_of(name: str) -> bytes:
    """The id of a name: 16 bytes."""
    return hashlib.sha256(name.encode()).digest()[:16]


class Zengraph:
    """zengraph on SQLite: counts are stored, edges sorted by score."""

    def __init__(self, folder: Path) -> None:
        from zengraph import IN, EdgeKey, Graph, NewEdge, Schema
        from zengraph.tables.sqlite import SqliteTables

        self._in, self._key, self._edge = IN, EdgeKey, NewEdge
        self.graph = Graph(SqliteTables(folder, shards=4), Schema(counted=(FOLLOWS,)))

    def put(self, follows: list[Follow]) -> None:
        self.graph.put_nodes([(id_of(name), {"name": name.encode()}) for name in names(follows)])
        self.graph.put_edges(
            [
                self._edge(self._key(id_of(user), FOLLOWS, id_of(board)), at)
                for user, board, at in follows
            ]
        )

    def node(self, name: str) -> object:
        return self.graph.get_node(id_of(name))

    def newest(self, board: str, limit: int) -> list[object]:
        return self.graph.edges(id_of(board), self._in, FOLLOWS, limit, reverse=True).items

    def count(self, board: str) -> int:
        return self.graph.count_edges(id_of(board), self._in, FOLLOWS)

    def close(self) -> None:
        self.graph.close()


class SimpleGraph:
    """simple-graph-sqlite: nodes and edges are JSON documents, which Python sorts."""

    def __init__(self, folder: Path) -> None:
        from simple_graph_sqlite import database

        self._db, self._file = database, str(folder / "simple.db")
        database.initialize(self._file)
        self._known: set[str] = set()

    def put(self, follows: list[Follow]) -> None:
        new = [name for name in names(follows) if name not in self._known]
        self._known.update(new)
        if new:
            self._db.atomic(self._file, self._db.add_nodes([{"name": n} for n in new], new))
        sources, targets, times = zip(*follows, strict=True)
        edges = [{"at": at} for at in times]
        self._db.atomic(self._file, self._db.connect_many_nodes(sources, targets, edges))

    def node(self, name: str) -> object:
        return self._db.atomic(self._file, self._db.find_node(name))

    def newest(self, board: str, limit: int) -> list[object]:
        return sorted(self._into(board), key=lambda edge: json.loads(edge[2])["at"])[-limit:]

    def count(self, board: str) -> int:
        return len(self._into(board))

    def _into(self, board: str) -> list[tuple[str, str, str]]:
        # Its `connections_out` are the edges whose target is the node.
        one_way = self._db.get_connections_one_way(board, self._db.connections_out)
        return self._db.atomic(self._file, one_way)

    def close(self) -> None:
        """Each call closes the file."""


class Kuzu:
    """Kuzu: a columnar graph database with Cypher."""

    def __init__(self, folder: Path) -> None:
        import kuzu

        self._connection = kuzu.Connection(kuzu.Database(str(folder / "kuzu")))
        self._run("CREATE NODE TABLE Thing(name STRING, PRIMARY KEY (name))")
        self._run("CREATE REL TABLE Follows(FROM Thing TO Thing, at INT64)")

    def _run(self, query: str, **values: object) -> list[list[object]]:
        return self._connection.execute(query, values).get_all()

    def put(self, follows: list[Follow]) -> None:
        rows = [{"user": user, "board": board, "at": at} for user, board, at in follows]
        self._run("UNWIND $names AS name MERGE (:Thing {name: name})", names=names(follows))
        self._run(
            "UNWIND $rows AS row MATCH (u:Thing {name: row.user}), (b:Thing {name: row.board}) "
            "CREATE (u)-[:Follows {at: row.at}]->(b)",
            rows=rows,
        )

    def node(self, name: str) -> object:
        return self._run("MATCH (t:Thing {name: $name}) RETURN t", name=name)

    def newest(self, board: str, limit: int) -> list[object]:
        return self._run(
            "MATCH (u:Thing)-[f:Follows]->(:Thing {name: $board}) RETURN u.name, f.at "
            f"ORDER BY f.at DESC LIMIT {limit}",
            board=board,
        )

    def count(self, board: str) -> int:
        ((found,),) = self._run(
            "MATCH (:Thing)-[f:Follows]->(:Thing {name: $board}) RETURN count(f)", board=board
        )
        return found

    def close(self) -> None:
        self._connection.close()


STORES = {"zengraph": Zengraph, "simple-graph-sqlite": SimpleGraph, "kuzu": Kuzu}


class Result(NamedTuple):
    """What was measured of one store."""

    edges_a_second: float
    disk_bytes: int
    calls_ms: dict[str, float]
    """The median of each call."""


def names(follows: list[Follow]) -> list[str]:
    """The distinct names of a batch."""
    return list(dict.fromkeys(name for user, board, _ in follows for name in (user, board)))


def batches(edges: int) -> Iterator[list[Follow]]:
    """The graph in batches of distinct edges."""
    draw = random.Random(7)
    follows = [(f"user{n}", HUB, n) for n in range(FOLLOWERS)]
    follows += [(f"user{n}", f"board{draw.randrange(BOARDS)}", n) for n in range(edges - FOLLOWERS)]
    draw.shuffle(follows)
    for at in range(0, len(follows), AT_ONCE):
        yield follows[at : at + AT_ONCE]


def median_ms(call: Callable[[], object], seconds: float) -> float:
    """The median of calls, one after the other."""
    took, until_s = [], time.perf_counter() + seconds
    while time.perf_counter() < until_s or len(took) < 3:
        started_s = time.perf_counter()
        call()
        took.append(time.perf_counter() - started_s)
    return statistics.median(took) * 1000


def measure(kind: Callable[[Path], Store], edges: int, seconds: float) -> Result:
    """Fill a store and ask it."""
    with tempfile.TemporaryDirectory() as name:
        folder, draw = Path(name), random.Random(8)
        store = kind(folder)
        started_s = time.perf_counter()
        for batch in batches(edges):
            store.put(batch)
        took_s = time.perf_counter() - started_s
        assert store.count(HUB) == FOLLOWERS
        assert len(store.newest(HUB, 100)) == 100
        calls = {
            "node": lambda: store.node(f"user{draw.randrange(edges - FOLLOWERS)}"),
            "20 newest": lambda: store.newest(f"board{draw.randrange(BOARDS)}", 20),
            "100 newest of the hub": lambda: store.newest(HUB, 100),
            "count of the hub": lambda: store.count(HUB),
        }
        calls_ms = {title: median_ms(call, seconds) for title, call in calls.items()}
        store.close()
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return Result(edges / took_s, size, calls_ms)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edges", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--only", choices=STORES, action="append")
    options = parser.parse_args()
    for name in options.only or STORES:
        result = measure(STORES[name], options.edges, options.seconds)
        print(f"{name}: {result.edges_a_second:,.0f} edges/s, {result.disk_bytes / 1e6:,.1f} MB")
        for title, ms in result.calls_ms.items():
            print(f"    {title}: {ms:.3f} ms")


if __name__ == "__main__":
    main()
