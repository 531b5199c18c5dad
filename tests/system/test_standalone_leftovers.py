"""Processes left behind by a killed supervisor are ended, and no others."""

import subprocess
import sys

import pytest

from aragog.standalone import leftovers
from tests.support.missing_parts import LINUX, unless

pytestmark = unless(sys.platform == "linux", LINUX)


@pytest.fixture
def sleeper():
    process = subprocess.Popen(["sleep", "60"], start_new_session=True)
    yield process
    process.kill()
    process.wait()


def test_noted_process_is_ended_with_its_whole_session(tmp_path):
    parent = subprocess.Popen(
        ["sh", "-c", "sleep 60 & echo $!; wait"], start_new_session=True, stdout=subprocess.PIPE
    )
    child = int(parent.stdout.readline())
    leftovers.write_list(tmp_path / "children", [parent.pid])

    assert leftovers.end(tmp_path / "children") == [parent.pid]
    assert parent.wait(120) == -9
    assert not leftovers._start_time(child)
    assert not (tmp_path / "children").exists()


def test_session_whose_leader_died_is_ended(tmp_path):
    leader = subprocess.Popen(
        ["sh", "-c", "sleep 60 & echo $!; wait"], start_new_session=True, stdout=subprocess.PIPE
    )
    child = int(leader.stdout.readline())
    leftovers.write_list(tmp_path / "children", [leader.pid])
    leader.kill()
    leader.wait()

    leftovers.end(tmp_path / "children")

    assert not leftovers._start_time(child)


def test_process_with_a_reused_id_is_left_alone(tmp_path, sleeper):
    started = leftovers._start_time(sleeper.pid)
    (tmp_path / "children").write_text(f"{sleeper.pid} {started - 1}\n")

    assert leftovers.end(tmp_path / "children") == []
    assert sleeper.poll() is None


@pytest.mark.parametrize("text", ["", "nonsense\n", "1 2 3\n", "\x00"])
def test_unreadable_note_ends_nothing(tmp_path, text):
    (tmp_path / "children").write_text(text)

    assert leftovers.end(tmp_path / "children") == []
