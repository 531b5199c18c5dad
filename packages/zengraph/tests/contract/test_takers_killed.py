"""Two consumers take from one list while one of them is repeatedly killed."""

import random
import subprocess
import sys
import uuid
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from support import taker
from support.waiting import wait_until

from zengraph import OUT, EdgeKey, Graph, NewEdge

EDGES = 2000
MAX_KILLS = 12


@pytest.fixture(
    params=[
        "sqlite",
        pytest.param("postgres", marks=pytest.mark.postgres),
        pytest.param("hbase", marks=pytest.mark.hbase),
    ]
)
def place(request, tmp_path):
    """The (engine, location) of empty tables that several processes may open."""
    name = f"takers{uuid.uuid4().hex[:8]}"
    if request.param == "sqlite":
        return "sqlite", str(tmp_path / "tables")
    if request.param == "postgres":
        server = request.getfixturevalue("postgres_server")
        return "postgres", server.create_database(name)
    gateways = request.getfixturevalue("hbase_gateways")
    return "hbase", f"{','.join(gateways)} {name}_"


def lines_of(file):
    return file.read_text().count("\n") if file.exists() else 0


def has_taken(consumer, file, before):
    return lines_of(file) > before or consumer.poll() is not None


def started(file, edge_type, place):
    """Starts a consumer; the others pause meanwhile, or nothing would be left for it."""
    file.with_name("pause").touch()
    ready = taker.ready_file(file)
    ready.unlink(missing_ok=True)
    consumer = subprocess.Popen(
        [sys.executable, taker.__file__, file.name, str(file), str(edge_type), *place]
    )
    wait_until(lambda: ready.exists() or consumer.poll() is not None)
    return consumer


@pytest.mark.parametrize("edge_type", [taker.POOL, taker.PACKED])
def test_each_edge_goes_to_one_consumer_despite_kills(place, tmp_path, edge_type):
    tables = taker.opened(*place)
    tables.create()
    graph = Graph(tables, taker.SCHEMA)
    others = [bytes([n % 251]) + n.to_bytes(15) for n in range(EDGES)]
    graph.put_edges(
        [NewEdge(EdgeKey(taker.NODE, edge_type, other), n) for n, other in enumerate(others)]
    )
    files: list[Path] = [tmp_path / "a", tmp_path / "b"]
    chance = random.Random(7)
    consumers = [started(file, edge_type, place) for file in files]
    pause = tmp_path / "pause"
    pause.unlink()
    kills = 0
    while kills < MAX_KILLS and all(each.poll() is None for each in consumers):
        chosen = kills % 2
        wait_until(partial(has_taken, consumers[chosen], files[chosen], lines_of(files[chosen])))
        with suppress(subprocess.TimeoutExpired):  # at some point during a later take
            consumers[chosen].wait(chance.uniform(0, 0.02))
        if consumers[chosen].poll() is None:
            kills += 1
            consumers[chosen].kill()
            consumers[chosen].wait(30)
            consumers[chosen] = started(files[chosen], edge_type, place)
            pause.unlink()
    assert [each.wait(120) for each in consumers] == [0, 0]

    taken = [int(word) for file in files for word in file.read_text().split()]
    assert sorted(taken) == list(range(EDGES))
    assert kills > 1
    graph.repair()
    assert graph.edges(taker.NODE, OUT, edge_type).items == []
    tables.close()
