"""Workers take files from both ends of the order."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.scheduling import begins_with_the_last, scope_of

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
    for name in "abcdef":
        text = WRITES_ITS_WORKER.format(log=str(log), name=name)
        (tmp_path / f"test_{name}.py").write_text(text)

    options = ["-q", "-n", "2", "--dist", "loadfile", "-p", "tests.support.scheduling"]
    subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(tmp_path)],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, check=True,
    )  # fmt: skip

    runs = [line.split() for line in log.read_text().splitlines()]
    assert sorted(name for _, name in runs) == list("abcdef")
    assert next(name for worker, name in runs if worker == "gw0") == "a"
    assert next(name for worker, name in runs if worker == "gw1") == "f"


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
