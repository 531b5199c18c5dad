"""Behavior specific to SQLite: files, processes, threads and faults."""

import multiprocessing
import os
import shutil
import signal
import sqlite3
import threading
import traceback
from contextlib import closing

import pytest
from support.waiting import wait_until

from zengraph.errors import InvalidArgument, InvalidConfig, StoreDamaged, StoreUnavailable
from zengraph.tables import FORMAT, Cell
from zengraph.tables.sqlite import SqliteTables
from zengraph.tables.sqlite.checkpoints import CheckpointTimes, log_use

# Python 3.12 and later warn about forking with threads; the forked code does not use them.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")

FORK = multiprocessing.get_context("fork")


@pytest.fixture
def tables(tmp_path):
    opened = SqliteTables(tmp_path / "t", shards=2)
    yield opened
    opened.close()


def test_rows_survive_closing_and_reopening(tmp_path):
    first = SqliteTables(tmp_path / "t", shards=2)
    first["n"].put(b"r", {b"m:a": b"1"}, at_ms=1)
    first.close()

    second = SqliteTables(tmp_path / "t", shards=2)

    assert second["n"].get(b"r") == {b"m:a": Cell(b"1", 1)}
    second.close()


def test_different_number_of_files_is_refused_with_a_remedy(tmp_path):
    SqliteTables(tmp_path / "t", shards=2).close()

    with pytest.raises(InvalidConfig, match=r"^shards: is 4.*made with 2.*set it to 2"):
        SqliteTables(tmp_path / "t", shards=4)


def test_folder_of_a_later_version_is_refused_in_one_line(tmp_path):
    SqliteTables(tmp_path / "t", shards=2).close()
    (tmp_path / "t" / "format").write_text("9\n")

    with pytest.raises(
        InvalidConfig, match=r"^folder: .* has format 9, written by a later version .*$"
    ):
        SqliteTables(tmp_path / "t", shards=2)


def test_number_of_files_must_be_a_power_of_two(tmp_path):
    with pytest.raises(InvalidConfig, match="power of two"):
        SqliteTables(tmp_path / "t", shards=3)


def test_folder_that_cannot_be_created_is_named_in_the_error(tmp_path):
    (tmp_path / "file").write_text("")

    with pytest.raises(InvalidConfig, match=r"^folder: "):
        SqliteTables(tmp_path / "file" / "t")


def test_forked_process_opens_its_own_connections(tables):
    tables["n"].put(b"r", {b"m:a": b"1"}, at_ms=1)

    def child():
        ok = tables["n"].get(b"r")[b"m:a"].value == b"1"
        tables["n"].put(b"s", {b"m:a": b"2"}, at_ms=1)
        os._exit(0 if ok else 1)

    process = FORK.Process(target=child)
    process.start()
    process.join(120)

    assert process.exitcode == 0
    assert tables["n"].get(b"s")[b"m:a"].value == b"2"


def test_files_may_be_created_by_several_processes_at_once(tmp_path):
    """Regression: "database is locked" at the first use of a new folder."""
    barrier = FORK.Barrier(4)

    def child(round_, sent):
        try:
            barrier.wait(120)
            SqliteTables(tmp_path / f"t{round_}", shards=16).create()
        except BaseException:
            sent.send(traceback.format_exc())
            os._exit(1)
        os._exit(0)

    for round_ in range(4):
        reported, sent = FORK.Pipe(duplex=False)
        processes = [FORK.Process(target=child, args=(round_, sent)) for _ in range(4)]
        for process in processes:
            process.start()
        for process in processes:
            process.join(120)
        assert [p.exitcode for p in processes] == [0] * 4, reported.recv()


def test_deleted_folder_makes_the_store_unavailable(tables, tmp_path):
    shutil.rmtree(tmp_path / "t")

    with pytest.raises(StoreUnavailable, match="No such file"):
        tables["n"].get(b"r")


def test_threads_may_share_the_tables(tables):
    def count():
        for _ in range(50):
            tables["n"].incr(b"r", b"c:x", 1)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert tables["n"].incr(b"r", b"c:x", 0) == 200


def test_acknowledged_writes_survive_kill_9(tables):
    ours, theirs = FORK.Pipe()

    def child():
        number = 0
        while True:
            tables["n"].put(b"%06d" % number, {b"m:a": b"1", b"m:b": b"2"}, at_ms=1)
            theirs.send(number)
            number += 1

    process = FORK.Process(target=child)
    process.start()
    last = 0
    while last < 300:
        last = ours.recv()
    os.kill(process.pid, signal.SIGKILL)
    process.join(120)
    while ours.poll():
        last = ours.recv()

    rows = dict(tables["n"].scan(b"", None))
    assert {b"%06d" % number for number in range(last + 1)} <= rows.keys()
    assert all(len(row) == 2 for row in rows.values())


def test_full_disk_is_reported_and_nothing_is_partly_written(tables):
    tables["n"].put(b"\x00", {b"m:a": b"1"}, at_ms=1)
    db = tables._shards.connection(0)
    pages = db.execute("PRAGMA page_count").fetchone()[0]
    db.execute(f"PRAGMA max_page_count={pages + 5}")

    with pytest.raises(StoreUnavailable, match="full: free some space"):
        tables.write(
            [("n", bytes([0, i]), {b"m:a": os.urandom(4000)}, 2) for i in range(20)]
            + [("n", b"\x00", {b"m:a": b"2"}, 2)]
        )

    assert list(tables["n"].scan(b"", None)) == [(b"\x00", {b"m:a": Cell(b"1", 1)})]
    db.execute("PRAGMA max_page_count=1000000")
    tables["n"].put(b"\x00", {b"m:a": b"2"}, at_ms=2)


def test_file_that_is_not_a_database_is_damaged(tmp_path):
    folder = tmp_path / "t"
    folder.mkdir()
    (folder / "00.db").write_bytes(b"no database" * 1000)

    broken = SqliteTables(folder, shards=1)

    with pytest.raises(StoreDamaged, match="not a database"):
        broken["n"].get(b"r")
    broken.close()


def test_every_sqlite_error_is_translated(tables):
    leaves = [
        sqlite3.Error,
        *sqlite3.Error.__subclasses__(),
        *sqlite3.DatabaseError.__subclasses__(),
    ]

    for error in leaves:
        translated = tables._shards.translate(error("x"), 0)
        assert isinstance(translated, StoreUnavailable)


@pytest.fixture
def with_checkpoints(tmp_path):
    """Makes tables with these checkpoint settings."""
    opened = []

    def make(**times):
        checkpoints = CheckpointTimes(every_s=0.01, **times)
        opened.append(SqliteTables(tmp_path / "t", shards=2, checkpoints=checkpoints))
        return opened[-1]

    yield make
    for each in opened:
        each.close()


def test_oversized_log_is_emptied_by_its_writer(with_checkpoints, tmp_path):
    tables = with_checkpoints(past_bytes=10**12, restart_past_bytes=100_000)
    log = tmp_path / "t" / "00.db-wal"

    largest = 0
    for round_ in range(400):
        tables["n"].put(b"\x00", {b"m:a": os.urandom(50_000)}, at_ms=round_)
        largest = max(largest, log.stat().st_size)

    assert largest < 400 * 50_000


def test_committed_write_succeeds_even_if_its_log_cannot_be_emptied(
    with_checkpoints,
):
    table = with_checkpoints(past_bytes=10**12, restart_past_bytes=0)["e"]
    shards = table._shards
    table.put(b"\0a", {b"p:x": b"1"}, at_ms=1)
    table.put(b"\0b", {b"p:x": b"1"}, at_ms=1)
    wait_until(lambda: shards._checkpoints.log_is_long[0])

    with shards.reading(0) as db:
        reader = db.execute("SELECT * FROM e")
        reader.fetchone()  # an open reader keeps the log in use
        table.put(b"\0c", {b"p:x": b"1"}, at_ms=1)

    assert table.get(b"\0c")


def test_row_with_too_many_cells_is_refused_and_unchanged(tables):
    before = {b"m:a": b"1"}
    tables["n"].put(b"\0" * 16, before, at_ms=1)

    with pytest.raises(InvalidArgument, match="65,535 cells, not 70,001"):
        tables["n"].put(b"\0" * 16, {b"m:%d" % n: b"" for n in range(70_000)}, at_ms=1)

    assert tables["n"].get(b"\0" * 16).keys() == before.keys()


def test_checkpoints_run_in_the_background(with_checkpoints, tmp_path):
    tables = with_checkpoints(past_bytes=1000)
    file = tmp_path / "t" / "00.db"
    tables["n"].put(b"\x00", {b"m:a": os.urandom(500_000)}, at_ms=1)

    assert wait_until(lambda: file.stat().st_size > 400_000)


@pytest.fixture
def emptied_log(with_checkpoints, tmp_path):
    """Tables without automatic checkpoints, whose first log held 2 MB that were then moved."""
    tables = with_checkpoints(past_bytes=10**12, restart_past_bytes=10**12)
    for round_ in range(4):
        tables["n"].put(b"\x00", {b"m:a": os.urandom(500_000)}, at_ms=round_)
    with tables["n"]._shards.reading(0) as db:
        db.execute("PRAGMA wal_checkpoint(RESTART)").fetchall()
    return tables, tmp_path / "t" / "00.db-wal"


def test_log_size_is_measured_by_its_current_content(emptied_log):
    tables, log = emptied_log
    full = log_use(log)

    tables["e"].put(b"\x00", {b"p:x": b"1"}, at_ms=1)

    used = log_use(log)
    assert full.frames * full.frame_bytes > 2_000_000
    assert used.salts != full.salts
    assert 0 < used.frames * used.frame_bytes < 50_000
    assert log.stat().st_size > 2_000_000


def test_log_that_was_once_large_is_not_moved_at_each_small_write(emptied_log, tmp_path):
    _, log = emptied_log
    tables = SqliteTables(
        tmp_path / "t",
        shards=2,
        checkpoints=CheckpointTimes(every_s=0.01, past_bytes=100_000, restart_past_bytes=500_000),
    )
    shards = tables["e"]._shards
    try:
        for round_ in range(5):
            tables["e"].put(b"\x00", {b"p:x": b"%d" % round_}, at_ms=round_)
            assert wait_until(lambda: not any(shards._checkpoints.written))
        assert not shards._checkpoints.log_is_long[0]
        assert log_use(log).frames >= 5  # a log that was moved entirely would have restarted
    finally:
        tables.close()


def test_empty_log_has_no_frames(tmp_path):
    log = tmp_path / "log"
    log.touch()

    assert log_use(log).frames == 0


def test_new_folder_has_the_newest_format_and_one_with_data_keeps_its_own(tmp_path):
    SqliteTables(tmp_path / "new", shards=2).close()
    assert SqliteTables(tmp_path / "new", shards=2).format() == FORMAT

    for name, files in (("marked", ["shards"]), ("filled", ["00.db", "01.db"])):
        (tmp_path / name).mkdir()
        for file in files:
            (tmp_path / name / file).write_text("2\n" if file == "shards" else "")
        old = SqliteTables(tmp_path / name, shards=2)
        assert old.format() == 1
        old.close()


@pytest.mark.parametrize("form", range(1, FORMAT + 1))
def test_folder_keeps_the_format_in_which_it_was_created(tmp_path, form):
    (tmp_path / "format").write_text(f"{form}\n")
    for _ in range(2):
        with closing(SqliteTables(tmp_path, shards=2)) as tables:
            assert tables.format() == form
            tables["n"].put(b"node", {b"m:a": b"1"}, at_ms=1)


def test_large_cells_are_stored_outside_the_key_tree_only_in_new_folders(tmp_path):
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "format").write_text("1\n")
    for name, in_the_tree in (("old", True), ("new", False)):
        tables = SqliteTables(tmp_path / name, shards=1)
        tables["o"].put(b"row", {b"l:v": b"links"}, at_ms=1)
        tables["o"].put(b"row", {b"l:v": b"newer"}, at_ms=2)
        assert tables["o"].get(b"row") == {b"l:v": Cell(b"newer", 2)}
        tables.close()
        with closing(sqlite3.connect(tmp_path / name / "00.db")) as db:
            ((sql,),) = db.execute("SELECT sql FROM sqlite_master WHERE name='o'").fetchall()
        assert ("WITHOUT ROWID" in sql) is in_the_tree


@pytest.mark.parametrize("form", range(1, FORMAT + 1))
def test_values_that_a_reader_does_not_need_are_not_read(tmp_path, form):
    """A group of lists has dozens of deltas, and reading all took a quarter of a read of a list."""
    (tmp_path / "format").write_text(f"{form}\n")
    with closing(SqliteTables(tmp_path, shards=1)) as tables:
        for row in (b"r1", b"r2", b"r3"):
            tables["l"].put(row, {b"l:p%02d" % number: bytes(9) for number in range(60)}, at_ms=1)
        tables["l"].put(b"r2", {b"l:f": b"", b"l:h": b"head"}, at_ms=1)
        tables["l"].put(b"r3", {b"l:f": b"guide"}, at_ms=2)
        skipped = {b"l:f", *(b"l:p%02d" % number for number in range(50))}

        rows = tables["l"].get_many_needed([b"r3", b"r2", b"r1"], b"l:f", lambda *_: skipped)

        assert rows[b"r1"] == tables["l"].get(b"r1")
        assert rows[b"r2"][b"l:h"] == Cell(b"head", 1)
        for row in (b"r2", b"r3"):
            values = [rows[row][b"l:p%02d" % number] for number in range(60)]
            assert values == [Cell(b"", 0)] * 50 + [Cell(bytes(9), 1)] * 10


def test_needed_cells_are_read_as_they_were_when_the_guide_was_read(tables):
    """A row whose lines move meanwhile to a row that was read before would lose them."""
    cells = {b"l:f": b"guide", b"l:h": b"old", b"l:p": b"old"}
    tables["l"].put_many([(b"a1", cells, 1), (b"a2", cells, 1)])

    def unneeded(row, _):
        thread = threading.Thread(
            target=tables["l"].put_many,
            args=([(key, {b"l:h": b"new" + row, b"l:p": b"new"}, 2) for key in (b"a1", b"a2")],),
        )
        thread.start()
        thread.join()
        return {b"l:f", b"l:p"}

    rows = tables["l"].get_many_needed([b"a1", b"a2"], b"l:f", unneeded)

    assert [rows[row][b"l:h"].value for row in (b"a1", b"a2")] == [b"old", b"old"]
    assert tables["l"].get(b"a1")[b"l:h"].value.startswith(b"new")


def test_new_files_have_small_pages_and_old_ones_keep_theirs(tmp_path):
    """Transactions write whole pages to the log, and one node took up a whole 4 KB page."""
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "format").write_text("1\n")
    written = {}
    for name, page_bytes in (("old", 4096), ("new", 2048)):
        tables = SqliteTables(tmp_path / name, shards=1)
        for number in range(50):
            node = number.to_bytes(16)
            tables.write([("n", node, {b"m:text": bytes(2800)}, 1), ("d", node, {b"i:u": node}, 1)])
        with closing(sqlite3.connect(tmp_path / name / "00.db")) as db:
            assert db.execute("PRAGMA page_size").fetchone() == (page_bytes,)
        use = log_use(tmp_path / name / "00.db-wal")
        written[name] = use.frames * use.frame_bytes
        tables.close()
    assert written["new"] < 0.85 * written["old"]
