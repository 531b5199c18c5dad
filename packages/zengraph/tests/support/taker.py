"""A consumer that takes edges until none are left: `python taker.py NAME FILE TYPE ENGINE WHERE`.

Each take has an id. Its edges are written as one line of the file after the take, so a consumer
that was killed and restarted repeats the take whose line is missing. It creates FILE.ready once it
has opened the tables, and pauses while a file named `pause` exists next to FILE.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from zengraph import Graph, Schema
from zengraph.errors import StoreUnavailable, Unfinished
from zengraph.tables import Tables

POOL, PACKED = 16, 17
SCHEMA = Schema(packed=(PACKED,))
NODE = bytes(range(16))
AT_ONCE = 4


def opened(engine: str, where: str) -> Tables:
    """The tables of an engine."""
    if engine == "sqlite":
        from zengraph.tables.sqlite import SqliteTables

        return SqliteTables(Path(where), shards=2)
    if engine == "postgres":
        from zengraph.tables.postgres import PostgresTables

        return PostgresTables(where, partitions=2, timeout_s=60)
    from zengraph.tables.hbase import HBaseTables

    gateways, prefix = where.split(" ")
    return HBaseTables(tuple(gateways.split(",")), prefix=prefix, timeout_s=20)


def ready_file(file: Path) -> Path:
    """The file created at startup by the consumer that writes `file`."""
    return file.with_suffix(".ready")


def main() -> None:
    """Takes until the list is empty."""
    name, file, edge_type, engine, where = sys.argv[1:]
    done = Path(file)
    done.touch()
    graph = Graph(opened(engine, where), SCHEMA)
    number = len(done.read_text().splitlines())
    ready_file(done).touch()
    while True:
        while done.with_name("pause").exists():
            time.sleep(0.002)
        try:
            edges = graph.take_edges(NODE, int(edge_type), AT_ONCE, request_id=f"{name} {number}")
        except (StoreUnavailable, Unfinished):
            continue  # repeats the same request
        time.sleep(0.001)  # otherwise a fast engine would return all edges before two kills
        if not edges:
            return
        with done.open("a") as lines:
            lines.write(" ".join(str(edge.score) for edge in edges) + "\n")
        number += 1


if __name__ == "__main__":
    main()
