"""Servers started by tests end with their test process, however it ends."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.ending import mark_of_this_process, started_by
from tests.support.waiting import wait_until

pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="Linux only")

ROOT = Path(__file__).parents[2]
# A server in its own session, with a child like RabbitMQ's, and a daemon without an environment.
TEST_PROCESS = """
import subprocess, time
from tests.support.ending import end_with_this_process, mark_of_this_process
end_with_this_process()
subprocess.Popen(["sh", "-c", "sleep 600 & wait"], start_new_session=True)
subprocess.run(["sh", "-c", "env -i setsid sleep 600 &"])
print(mark_of_this_process(), flush=True)
time.sleep(600)
"""


@pytest.fixture
def tested():
    process = subprocess.Popen(
        [sys.executable, "-c", TEST_PROCESS], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    yield process
    process.kill()
    process.wait()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_processes_started_by_a_test_process_end_with_it(tested, number):
    """
    A RabbitMQ and standalone systems were left running, with a busy processor and ports in use.
    """
    mark = int(tested.stdout.readline())
    wait_until(lambda: len(started_by(mark)) == 4, otherwise="it, a shell and two sleeps run")

    tested.send_signal(number)

    wait_until(lambda: not started_by(mark), otherwise=lambda: f"still there: {started_by(mark)}")
    assert tested.wait() == -number


def test_this_test_process_marks_the_processes_that_it_starts():
    with subprocess.Popen(["sleep", "600"]) as sleeper:
        assert sleeper.pid in started_by(mark_of_this_process())
        sleeper.kill()
