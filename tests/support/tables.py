"""
Empty cell tables of every engine, for tests that must pass on all of them.

Each engine has a line in `ENGINES` with its name, a function that opens it, and its marks. The
function gets the request, so that it can get a server's fixture by name.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from aragog.runtime.clock import ManualClock
from zengraph.tables import Tables
from zengraph.tables.memory import MemoryTables
from zengraph.tables.sqlite import SqliteTables


def memory(request: pytest.FixtureRequest) -> Tables:
    """Open tables as strict as HBase's, in which a delete hides later puts that are not newer."""
    return MemoryTables(ManualClock(), masking=True)


def sqlite(request: pytest.FixtureRequest) -> Tables:
    return SqliteTables(
        request.getfixturevalue("tmp_path") / "tables", shards=4, clock=ManualClock()
    )


def hbase(request: pytest.FixtureRequest) -> Tables:
    return request.getfixturevalue("fresh_hbase")()


def postgres(request: pytest.FixtureRequest) -> Tables:
    return request.getfixturevalue("fresh_postgres")()


Opener = Callable[[pytest.FixtureRequest], Tables]

ENGINES: dict[str, tuple[Opener, tuple[pytest.MarkDecorator, ...]]] = {
    "memory": (memory, ()),
    "sqlite": (sqlite, ()),
    "postgres": (postgres, (pytest.mark.postgres,)),
    "hbase": (hbase, (pytest.mark.hbase,)),
}


@pytest.fixture(params=[pytest.param(name, marks=marks) for name, (_, marks) in ENGINES.items()])
def tables(request: pytest.FixtureRequest) -> Iterator[Tables]:
    """Empty tables, once for each engine."""
    engine = ENGINES[request.param][0](request)
    engine.create()
    yield engine
    engine.close()


@pytest.fixture(
    params=[
        "memory",
        "sqlite",
        pytest.param("postgres", marks=pytest.mark.postgres),
        pytest.param("hbase", marks=pytest.mark.hbase),
    ]
)
def quick_tables(request: pytest.FixtureRequest) -> Iterator[Callable[[], Tables]]:
    """Return a maker of empty tables, for tests that need hundreds of them."""
    if request.param in {"postgres", "hbase"}:
        yield request.getfixturevalue(f"fresh_{request.param}")
        return
    folder: Path = request.getfixturevalue("tmp_path")
    opened: list[Tables] = []

    def make() -> Tables:
        if request.param == "memory":
            return MemoryTables(ManualClock(), masking=True)
        for old in opened:
            old.close()
        opened.clear()
        shutil.rmtree(folder / "quick", ignore_errors=True)
        opened.append(SqliteTables(folder / "quick", shards=1, clock=ManualClock()))
        return opened[0]

    yield make
    for tables in opened:
        tables.close()
