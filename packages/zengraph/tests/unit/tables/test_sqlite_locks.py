"""Locks of the SQLite files: waiting is limited, and errors name the process that holds the lock."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time

import pytest

from zengraph.errors import StoreUnavailable
from zengraph.tables.sqlite import SqliteTables, files
from zengraph.tables.sqlite.file_locks import find_holder

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")

FORK = multiprocessing.get_context("fork")
LOCKER = """
import fcntl, sys, time
lock = open(sys.argv[1], "rb")
fcntl.flock(lock, fcntl.LOCK_EX)
print("locked", flush=True)
time.sleep(600)
"""
WRITER = """
import sqlite3, sys, time
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
time.sleep(600)
"""


@pytest.fixture
def folder(tmp_path):
    """A folder with two files."""
    folder = tmp_path / "t"
    tables = SqliteTables(folder, shards=2)
    tables.create()
    tables.close()
    return folder


@pytest.fixture
def stopped():
    """Starts a program that takes a lock, and suspends it while it holds the lock."""
    started = []

    def start(program, path):
        command = [sys.executable, "-c", program, str(path)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout.readline() == "locked\n"
        process.send_signal(signal.SIGSTOP)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_existing_files_are_opened_while_a_stopped_process_holds_the_lock(folder, stopped):
    """Regression: 8 pages in 180 s, and no message."""
    stopped(LOCKER, folder / "shards")
    started_s = time.monotonic()

    tables = SqliteTables(folder, shards=2)
    tables["n"].put(b"\x00", {b"m:a": b"1"}, at_ms=1)

    assert tables["n"].get(b"\x00")[b"m:a"].value == b"1"
    assert time.monotonic() - started_s < files.LOCK_WAIT_S / 2
    tables.close()


def test_waiting_for_the_lock_of_a_new_file_ends_with_an_error_that_names_the_holder(
    folder, stopped
):
    process = stopped(LOCKER, folder / "shards")
    (folder / "00.db").unlink()
    tables = SqliteTables(folder, shards=2, waits_s=(30, 0.2))

    with pytest.raises(StoreUnavailable, match=rf"process {process.pid} .*is stopped"):
        tables["n"].get(b"\x00")

    process.kill()
    assert tables["n"].get(b"\x00") == {}
    tables.close()


def test_writer_blocked_by_a_stopped_process_names_it(folder, stopped):
    process = stopped(WRITER, folder / "00.db")
    tables = SqliteTables(folder, shards=2, waits_s=(0.2, 10))

    with pytest.raises(StoreUnavailable, match=rf"locked by process {process.pid} .*is stopped"):
        tables["n"].put(b"\x00", {b"m:a": b"1"}, at_ms=1)

    tables["n"].put(b"\x01", {b"m:a": b"1"}, at_ms=1)
    tables.close()


def test_lock_held_by_a_thread_of_this_process_is_reported_as_such(folder):
    tables = SqliteTables(folder, shards=2)
    with tables._shards.writing(0):
        assert find_holder(folder / "00.db-shm") == "another thread of this process"
    assert find_holder(folder / "00.db-shm") == "another process"
    tables.close()


def test_processes_that_keep_opening_and_closing_get_no_error(folder):
    """The last connection to close removes the log, even if another process is opening the file."""

    def child():
        try:
            for number in range(150):
                tables = SqliteTables(folder, shards=2)
                tables["n"].put(bytes([number % 2]), {b"m:a": b"1"}, at_ms=number)
                tables.close()
        except BaseException:
            os._exit(1)
        os._exit(0)

    processes = [FORK.Process(target=child) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)

    assert [process.exitcode for process in processes] == [0] * 4


def test_processes_that_create_the_same_folder_get_no_error(tmp_path):
    def child():
        try:
            tables = SqliteTables(tmp_path / "new", shards=8)
            tables.create()
            tables.close()
        except BaseException:
            os._exit(1)
        os._exit(0)

    for _ in range(10):
        processes = [FORK.Process(target=child) for _ in range(4)]
        for process in processes:
            process.start()
        for process in processes:
            process.join(120)
        assert [process.exitcode for process in processes] == [0] * 4
        for path in (tmp_path / "new").iterdir():
            path.unlink()
        (tmp_path / "new").rmdir()
