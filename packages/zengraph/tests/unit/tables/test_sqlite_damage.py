"""Damaged or temporarily unwritable SQLite files do not affect the others."""

import logging
import multiprocessing
import os
import random
import sqlite3
import tempfile
from contextlib import closing, suppress
from pathlib import Path

import pytest

from zengraph.errors import StoreDamaged, StoreUnavailable
from zengraph.tables import FORMAT, Cell
from zengraph.tables.sqlite import SqliteTables
from zengraph.tables.sqlite.file_locks import lock_file
from zengraph.tables.sqlite.files import open_file
from zengraph.tables.sqlite.salvage import LOCK

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")

FORK = multiprocessing.get_context("fork")
PAGE = 2048
NOBODY = 65534


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "t"


def opened(folder):
    return SqliteTables(folder, shards=2)


def filled(folder, rows=2000):
    """Fills the nodes and edges of two files and closes them; returns the nodes."""
    tables, rng = opened(folder), random.Random(7)
    nodes = {rng.randbytes(16): rng.randbytes(300) for _ in range(rows)}
    for key, value in nodes.items():
        edge = key + b"i" * 27
        tables.write([("n", key, {b"m:a": value}, 1), ("e", edge, {b"p:u": key}, 1)])
    tables.close()
    return nodes


def damage(path, how):
    """Damages a closed file; `how` changes its bytes."""
    content = bytearray(path.read_bytes())
    how(content)
    path.write_bytes(content)


def scribble(content):
    """Overwrites ten pages of the tables."""
    rng = random.Random(3)
    for page in rng.sample(range(15, len(content) // PAGE), 10):
        content[page * PAGE : (page + 1) * PAGE] = rng.randbytes(PAGE)


def lose_the_first_page(content):
    content[:PAGE] = bytes(PAGE)


def cut_in_half(content):
    del content[len(content) // 2 :]


def lose_everything(content):
    content[:] = random.Random(5).randbytes(len(content))


def first_hit(tables, keys):
    """Reads until the damage is hit."""
    with pytest.raises(StoreDamaged) as caught:
        tables["n"].get_many(keys)
    return caught.value


def test_damaged_file_is_set_aside_and_reported_with_a_remedy(folder, caplog):
    nodes = filled(folder)
    damage(folder / "00.db", scribble)
    tables = opened(folder)
    even = [key for key in nodes if key[0] % 2 == 0]
    odd = [key for key in nodes if key[0] % 2]

    with caplog.at_level(logging.ERROR):
        error = first_hit(tables, even)

    assert "00.db" in str(error)
    assert "call `salvage()` of the tables" in str(error)
    assert [r.message.count("00.db") for r in caplog.records] == [1]
    with pytest.raises(StoreDamaged, match=r"00\.db.*call `salvage"):
        tables["n"].put(even[0], {b"m:a": b"1"}, at_ms=2)
    assert not tables.serves(even[0][0])
    assert tables.serves(odd[0][0])
    tables["n"].put(odd[0], {b"m:a": b"1"}, at_ms=2)
    assert tables["n"].get(odd[0]) == {b"m:a": Cell(b"1", 2)}
    assert len(tables.check()) == 1
    tables.close()


def test_other_processes_see_damage_and_repair_immediately(folder):
    nodes = filled(folder)
    tables = opened(folder)
    even = [key for key in nodes if key[0] % 2 == 0]
    ours, theirs = FORK.Pipe()

    def child():
        mine = opened(folder)
        mine["n"].get(even[0])
        while theirs.recv() == "write":
            try:
                mine["n"].put(even[0], {b"m:b": b"theirs"}, at_ms=9)
                theirs.send("done")
            except StoreDamaged:
                theirs.send("damaged")
        os._exit(0)

    def ask():
        ours.send("write")
        return ours.recv()

    process = FORK.Process(target=child)
    process.start()
    assert ask() == "done"
    tables._shards.health.set_aside(0, 0, "for the test")
    assert ask() == "damaged"
    (done,) = tables.salvage()
    assert ask() == "done"
    ours.send("end")
    process.join(120)

    assert done.new.endswith("00.2.db")
    assert tables["n"].get(even[0])[b"m:b"].value == b"theirs"
    assert all(tables["n"].get(key)[b"m:a"].value == nodes[key] for key in nodes)
    tables.close()


@pytest.mark.parametrize(
    ("how", "least"),
    [(scribble, 0.9), (lose_the_first_page, 1.0), (cut_in_half, 0.3), (lose_everything, 0.0)],
)
def test_salvage_saves_every_readable_row(folder, how, least):
    nodes = filled(folder)
    damage(folder / "00.db", how)
    tables = opened(folder)

    (done,) = tables.salvage()

    mine = [key for key in nodes if key[0] % 2 == 0]
    rows = tables["n"].get_many(mine)
    assert all(row == {b"m:a": Cell(nodes[key], 1)} for key, row in rows.items())
    assert len(rows) >= least * len(mine)
    assert bool(done.gaps) == (how is not lose_the_first_page)
    assert len(tables["n"].get_many(list(nodes))) == len(nodes) - len(mine) + len(rows)
    assert tables.check() == []
    tables.salvage_finished([done])
    assert tables.salvage() == []
    tables["n"].put(mine[0], {b"m:a": b"new"}, at_ms=2)
    assert (folder / "00.db").exists()
    tables.close()


@pytest.mark.parametrize("rows", [0, 200])
def test_salvage_reads_both_page_sizes(folder, rows):
    """A file without its first page does not record its page size."""
    opened(folder).close()
    for name in ("00.db", "01.db"):
        open_file(folder / name, FORMAT, new_page_bytes=4096).close()
    nodes = filled(folder, rows)
    assert sizes(folder) == {"00.db": 4096, "01.db": 4096}
    damage(folder / "00.db", lambda content: content.__setitem__(slice(4096), bytes(4096)))
    tables = opened(folder)
    tables._shards.health.set_aside(0, 0, "for the test")

    (done,) = tables.salvage()

    assert not done.gaps
    assert tables["n"].get_many(list(nodes)).keys() == nodes.keys()
    assert sizes(folder)["00.2.db"] == 2048
    tables.close()


def sizes(folder):
    """The page size of each file, by name."""
    found = {}
    for path in folder.glob("*.db"):
        with closing(sqlite3.connect(path)) as db, suppress(sqlite3.DatabaseError):
            found[path.name] = db.execute("PRAGMA page_size").fetchone()[0]
    return found


def test_second_salvage_says_who_runs_the_first(folder):
    filled(folder, rows=10)

    with (
        closing(opened(folder)) as tables,
        lock_file(folder / LOCK, wait_s=1),
        pytest.raises(
            StoreUnavailable, match=r"t: cannot be repaired: .*by another thread of this process"
        ),
    ):
        tables.salvage(print)


def test_salvage_saves_rows_in_the_write_ahead_log(folder):
    filled(folder, rows=200)
    tables = opened(folder)
    tables["n"].put(b"\x00" * 16, {b"m:a": b"in the log"}, at_ms=5)
    assert (folder / "00.db-wal").stat().st_size > 0
    damage(folder / "00.db", lose_the_first_page)
    tables._shards.health.set_aside(0, 0, "for the test")

    tables.salvage()

    assert tables["n"].get(b"\x00" * 16) == {b"m:a": Cell(b"in the log", 5)}
    tables.close()


def test_error_of_an_old_connection_does_not_set_the_new_file_aside(folder):
    filled(folder, rows=200)
    tables = opened(folder)
    tables["n"].get(b"\x00")
    tables._shards.health.set_aside(0, 0, "for the test")
    tables["n"].get(b"\x00")
    tables.salvage()

    tables._shards.health.set_aside(0, 0, "what an old connection met")

    assert tables.check() == []
    tables.close()


def test_generations_are_restored_from_the_file_names(folder):
    filled(folder, rows=200)
    damage(folder / "00.db", lose_the_first_page)
    tables = opened(folder)
    tables.salvage()
    rows = len(list(tables["n"].scan(b"", None)))
    tables.close()
    (folder / "generations").unlink()

    again = opened(folder)

    assert len(list(again["n"].scan(b"", None))) == rows == 200
    again.close()


def as_nobody(folder, body):
    """Runs `body(pipe)` in a child process subject to file permissions, even under root."""
    ours, theirs = FORK.Pipe()

    def child():
        if os.getuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        try:
            body(theirs)
        finally:
            os._exit(0)

    process = FORK.Process(target=child)
    process.start()
    return process, ours


def test_file_that_was_read_only_for_a_while_is_writable_again(tmp_path):
    """Regression: 2,300 URLs waited until a restart because connections had been opened read-only."""
    folder = tmp_path / "t"
    filled(folder, rows=20)
    file = folder / "00.db"
    for path in (folder, *folder.iterdir()):
        path.chmod(0o777 if path.is_dir() else 0o666)
        if os.getuid() == 0:
            os.chown(path, NOBODY, NOBODY)
    # pytest's own folders, up to the one shared by all users.
    for path in (tmp_path, *tmp_path.parents):
        if path == Path(tempfile.gettempdir()):
            break
        path.chmod(0o755)

    def body(pipe):
        tables = opened(folder)
        while pipe.recv() == "write":
            try:
                tables["n"].put(b"\x00", {b"m:a": b"1"}, at_ms=1)
                pipe.send("done")
            except StoreUnavailable as error:
                pipe.send(str(error))
            except BaseException as error:
                pipe.send(repr(error))

    file.chmod(0o444)
    process, ours = as_nobody(folder, body)
    ours.send("write")
    reported = ours.recv()
    ours.send("write")
    again = ours.recv()
    file.chmod(0o666)
    ours.send("write")
    after = ours.recv()
    ours.send("end")
    process.join(120)

    assert "readonly" in reported
    assert "readonly" in again
    assert after == "done"


def test_disk_error_reopens_every_connection(folder):
    filled(folder, rows=20)
    tables = opened(folder)
    before, other = tables._shards.connection(0), tables._shards.connection(1)
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR

    tables._shards.translate(error, 0)

    assert tables._shards.connection(0) is not before
    assert tables._shards.connection(1) is not other
    tables.close()
