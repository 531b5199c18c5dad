"""
Python child processes are forked from one process that has imported their modules, and remain
children of the supervisor.
"""

import os
import signal
import sys
from pathlib import Path

import pytest

from aragog.standalone import leftovers
from aragog.standalone.supervisor import Child, Supervisor
from tests.support.missing_parts import LINUX, unless
from tests.support.waiting import wait_until

pytestmark = unless(sys.platform == "linux", LINUX)

# `preloaded` is imported by the fork server; `job` runs as `python -m job …`.
PRELOADED = "import os\nPID = os.getpid()\ndef load(): pass\n"
JOB = """
import os, signal, sys, time
import preloaded
print("argv", *sys.argv[1:], "forked", preloaded.PID != os.getpid(), flush=True)
if "end" in sys.argv:
    sys.exit(7)
if "parent" in sys.argv:
    os.fork()
time.sleep(600)
"""
JOB_ARGV = [sys.executable, "-P", "-m", "job"]


@pytest.fixture
def supervisor(tmp_path):
    (tmp_path / "preloaded.py").write_text(PRELOADED)
    (tmp_path / "job.py").write_text(JOB)
    supervised = Supervisor(
        tmp_path / "data", {**os.environ, "PYTHONPATH": str(tmp_path)}, "preloaded:load"
    )
    supervised.acquire()
    yield supervised
    supervised.stop()


def start(supervisor, *arguments, **options):
    """A started child that has written its first line."""
    child = supervisor.start(Child("job", [*JOB_ARGV, *arguments], **options))
    wait_until(lambda: "argv" in child.log.read_text())
    return child


def status(pid, field):
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(line.split()[1] for line in lines if line.startswith(f"{field}:"))


def restarted(supervisor, child, pid):
    return wait_until(
        lambda: child.process is not None and child.process.pid != pid, meanwhile=supervisor.check
    )


def test_child_has_its_arguments_log_title_and_parent(supervisor):
    child = start(supervisor, "one", "two")
    pid = child.process.pid

    assert child.log.read_text() == "argv one two forked True\n"
    assert int(status(pid, "PPid")) == os.getpid()
    assert os.getsid(pid) == pid
    assert status(pid, "Umask") == "0077"
    assert " -m job one two" in Path(f"/proc/{pid}/cmdline").read_text()
    assert "\0PYTHONPATH=" in Path(f"/proc/{pid}/environ").read_text()


def test_exit_code_of_a_child_is_known_and_the_child_restarted(supervisor):
    child = start(supervisor, "end")
    pid = child.process.pid

    assert child.process.wait(120) == 7
    assert restarted(supervisor, child, pid)


def test_killed_child_is_restarted_and_leaves_no_zombies(supervisor):
    cleaned = []
    child = start(supervisor, "parent", after_kill=lambda pid: cleaned.append(pid) or ["true"])
    pid = child.process.pid
    members = wait_until(lambda: len(pids := leftovers._group_members(pid)) > 1 and pids)

    os.kill(pid, signal.SIGKILL)

    assert restarted(supervisor, child, pid)
    assert cleaned == [pid]
    wait_until(
        lambda: not any(Path(f"/proc/{pid}").exists() for pid in members),
        meanwhile=supervisor.check,
    )
    os.killpg(child.process.pid, signal.SIGKILL)  # the restarted one may have forked, too


def test_killed_fork_server_stops_no_child_and_is_restarted(supervisor):
    child = start(supervisor)
    pid = child.process.pid
    server = supervisor._fork_server.process
    server.kill()
    server.wait()

    assert child.process.poll() is None
    for _ in range(2):  # the first restart finds the fork server dead
        pid = child.process.pid
        os.kill(pid, signal.SIGKILL)
        assert restarted(supervisor, child, pid)
    assert child.log.read_text().splitlines()[-1].startswith("argv")
    wait_until(lambda: child.log.read_text().count("forked True") == 2)


def test_children_start_without_the_fork_server_if_it_cannot_import(tmp_path):
    (tmp_path / "job.py").write_text("print('started', flush=True)")
    supervised = Supervisor(
        tmp_path / "data", {**os.environ, "PYTHONPATH": str(tmp_path)}, "nothing:load"
    )
    supervised.acquire()
    try:
        child = supervised.start(Child("job", JOB_ARGV))

        assert child.process.wait(120) == 0
        assert child.log.read_text() == "started\n"
        assert "No module named" in (supervised._log_dir / "fork_server.log").read_text()
    finally:
        supervised.stop()


def test_preload_that_starts_a_thread_is_refused(tmp_path):
    (tmp_path / "job.py").write_text("print('started', flush=True)")
    (tmp_path / "threads.py").write_text(
        "import threading, time\n"
        "def load(): threading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n"
    )
    supervised = Supervisor(
        tmp_path / "data", {**os.environ, "PYTHONPATH": str(tmp_path)}, "threads:load"
    )
    supervised.acquire()
    try:
        assert supervised.start(Child("job", JOB_ARGV)).process.wait(120) == 0
        assert "starts a thread" in (supervised._log_dir / "fork_server.log").read_text()
    finally:
        supervised.stop()


def test_children_end_with_the_supervisor(tmp_path):
    (tmp_path / "preloaded.py").write_text(PRELOADED)
    (tmp_path / "job.py").write_text(JOB)
    code = (
        "import os, sys, time\n"
        "from pathlib import Path\n"
        "from aragog.standalone.supervisor import Child, Supervisor\n"
        f"made = Supervisor(Path({str(tmp_path / 'data')!r}), os.environ, 'preloaded:load')\n"
        "made.acquire()\n"
        f"child = made.start(Child('job', {JOB_ARGV!r}))\n"
        "print(child.process.pid, made._fork_server.process.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    import subprocess

    parent = subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
    )
    pids = [int(pid) for pid in parent.stdout.readline().split()]
    assert all(leftovers._start_time(pid) for pid in pids)

    parent.kill()
    parent.wait()

    wait_until(lambda: not any(leftovers._start_time(pid) for pid in pids))
