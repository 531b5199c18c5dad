"""
On a full disk the supervisor continues: running children stay, dead ones are restarted, notes are
retried.
"""

import os
import subprocess
import sys

import pytest

from aragog.bootstrap.stores import url_store
from aragog.errors import StoreUnavailable
from aragog.settings import Settings, StoreSettings
from aragog.settings.in_use import running_pid
from aragog.standalone import leftovers
from aragog.standalone.running_system import is_ready
from aragog.standalone.supervisor import CHILDREN_FILE, Child, Supervisor
from tests.support.standalone import free_port
from tests.support.waiting import wait_until

SLEEPER = [sys.executable, "-c", "import time; time.sleep(600)"]


@pytest.fixture
def supervisor(small_disk):
    supervised = Supervisor(small_disk.folder, os.environ)
    supervised.acquire()
    yield supervised
    supervised.stop()


def restarted(supervisor, child):
    """Kill the child and check until it runs again."""
    child.process.kill()
    child.process.wait()
    return wait_until(
        lambda: child.process is not None and child.process.poll() is None,
        meanwhile=supervisor.check,
    )


def noted(supervisor):
    path = supervisor._run_dir / CHILDREN_FILE
    return {pid for pid, _ in leftovers._read_list(path)}


def test_child_that_dies_on_a_full_disk_is_restarted_and_the_others_run_on(supervisor, small_disk):
    first = supervisor.start(Child("first", SLEEPER))
    other = supervisor.start(Child("other", SLEEPER))
    small_disk.fill()

    assert restarted(supervisor, first)
    assert other.process.poll() is None


def test_list_of_children_is_written_once_space_is_free(supervisor, small_disk):
    supervisor.start(Child("other", SLEEPER))
    child = supervisor.start(Child("first", SLEEPER))
    small_disk.fill()
    assert restarted(supervisor, child)
    assert child.process.pid not in noted(supervisor)

    small_disk.free()
    supervisor.check()

    assert child.process.pid in noted(supervisor)


def test_running_system_is_detected_despite_a_full_disk(supervisor, small_disk):
    small_disk.fill()
    supervisor.ready()
    supervisor.check()

    assert running_pid(supervisor._run_dir) == os.getpid()
    assert is_ready(supervisor._run_dir)


def test_program_that_cannot_be_started_now_is_retried(supervisor, tmp_path):
    program = tmp_path / "program"
    program.symlink_to(sys.executable)
    child = supervisor.start(Child("first", [str(program), *SLEEPER[1:]]))
    program.unlink()
    child.process.kill()
    child.process.wait()
    wait_until(lambda: child.restarts >= 2, meanwhile=supervisor.check)
    program.symlink_to(sys.executable)

    wait_until(lambda: child.process is not None, meanwhile=supervisor.check)
    assert child.process.poll() is None


def test_store_on_a_full_disk_loses_nothing_and_continues_when_space_is_free(small_disk):
    store = url_store(Settings(data_dir=small_disk.folder, store=StoreSettings(sqlite_shards=1)))
    store.put("http://a.test/before", {"team.a": b"1"})
    small_disk.fill()

    def put_many():
        for number in range(1000):
            store.put(f"http://a.test/{number}", {"team.a": b"x" * 1000})

    # A task that raises this is retried for hours (aragog/tasks/policy.py).
    with pytest.raises(StoreUnavailable, match="full"):
        put_many()

    assert store.get("http://a.test/before").fields == {"team.a": b"1"}
    small_disk.free()
    store.put("http://a.test/after", {"team.a": b"2"})
    assert store.get("http://a.test/after").fields == {"team.a": b"2"}
    store.close()


def test_up_in_the_background_fails_on_a_full_disk_with_the_reason(small_disk):
    """It exited with status 0, and nothing in the system worked."""
    small_disk.fill()
    environ = {
        **os.environ,
        "ARAGOG_DATA_DIR": str(small_disk.folder),
        "ARAGOG_SETTINGS": os.devnull,
        **{f"ARAGOG_SERVING__{name}_PORT": str(free_port()) for name in ("HTTP", "FLOWER")},
        "ARAGOG_SERVING__THRIFT_PORT": "0",
    }
    command = [sys.executable, "-P", "-m", "aragog.cli", "up", "-d"]
    ran = subprocess.run(
        command, env=environ, capture_output=True, text=True, timeout=120, check=False
    )

    assert ran.returncode == 1
    assert "no space for" in ran.stderr
    assert str(small_disk.folder) in ran.stderr
    assert running_pid(small_disk.folder / "run") is None
