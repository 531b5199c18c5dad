"""Workers take files from both ends of the order."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.scheduling import begins_with_the_last, choose, scope_of

ROOT = Path(__file__).resolve().parents[3]
WRITES_ITS_WORKER = """
import os, pathlib
def test_it():
    with pathlib.Path({log!r}).open("a") as log:
        log.write(os.environ["PYTEST_XDIST_WORKER"] + " {name}\\n")
"""


def test_every_second_worker_begins_with_the_last_file():
    assert [begins_with_the_last(f"gw{n}") for n in range(4)] == [False, True, False, True]


def test_each_file_runs_once_whichever_end_a_worker_takes_it_from(tmp_path):
    log = tmp_path / "log"
    waiting = tmp_path / "reports" / "test_reports_with_servers.py"
    waiting.parent.mkdir()
    for name in "abcdefw":
        file = waiting if name == "w" else tmp_path / f"test_{name}.py"
        file.write_text(WRITES_ITS_WORKER.format(log=str(log), name=name))

    options = ["-q", "-n", "3", "--dist", "loadfile", "--last-waits"]
    plugins = ["-p", "xdist", "-p", "tests.support.scheduling"]
    environ = {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    subprocess.run(
        [sys.executable, "-m", "pytest", *plugins, *options, str(tmp_path)],
        cwd=tmp_path, env=os.environ | environ, capture_output=True, check=True,
    )  # fmt: skip

    runs = [line.split() for line in log.read_text().splitlines()]
    assert sorted(name for _, name in runs) == list("abcdefw")
    assert next(name for worker, name in runs if worker == "gw0") == "a"
    assert next(name for worker, name in runs if worker == "gw1") == "f"
    assert [name for worker, name in runs if worker == "gw2"] == ["w"]


WAITING = "tests/reports/test_reports_with_servers.py::test_a[{}]"
SCOPES = ["tests/a.py", WAITING.format(1), "tests/b.py", WAITING.format(2), "tests/c.py"]


@pytest.mark.parametrize(
    ("worker", "scope"),
    [("gw0", "tests/a.py"), ("gw1", "tests/c.py"), ("gw2", WAITING.format(1))],
)
def test_only_the_last_worker_takes_tests_that_wait(worker, scope):
    assert choose(SCOPES, worker, 3, last_waits=True) == scope


def test_other_workers_take_tests_that_wait_at_the_end():
    assert choose(SCOPES[1:2], "gw0", 3, last_waits=True) == SCOPES[1]


def test_tests_that_are_scheduled_one_by_one_come_last():
    scopes = [*SCOPES, "tests/system/test_items.py"]

    assert choose(scopes, "gw2", 3, last_waits=True) == "tests/system/test_items.py"


def test_last_worker_takes_nothing_else():
    assert choose(["tests/a.py"], "gw2", 3, last_waits=True) is None


@pytest.mark.parametrize(("workers", "last_waits"), [(3, False), (2, True)])
def test_without_the_option_or_with_few_workers_all_take_everything(workers, last_waits):
    worker = f"gw{workers - 1}"

    assert choose(["tests/a.py"], worker, workers, last_waits=last_waits) == "tests/a.py"


@pytest.mark.parametrize(
    ("nodeid", "scope"),
    [
        ("tests/unit/test_a.py::test_b[x]", "tests/unit/test_a.py"),
        ("tests/unit/test_a.py::test_b[hbase]", "hbase"),
        ("tests/contract/test_pack_kills.py::test_b[1]", "tests/contract/test_pack_kills.py::test_b[1]"),
    ],
)  # fmt: skip
def test_scope_is_a_server_a_file_or_a_test(nodeid, scope):
    assert scope_of(nodeid) == scope
