"""Commands that clean up after a killed child."""

import os
import sys

import pytest

from aragog.standalone import cleanup
from tests.support.waiting import wait_until


@pytest.fixture
def commands(tmp_path):
    a_cleanup = cleanup.Cleanup(os.environ, retry_delay_s=0.05)
    yield a_cleanup
    a_cleanup.stop()


def python(code):
    return [sys.executable, "-c", code]


def test_failed_command_is_retried_until_it_succeeds(commands, tmp_path):
    file, log = tmp_path / "runs", tmp_path / "log"
    code = f"import sys; f = open({str(file)!r}, 'a+'); f.write('x'); sys.exit(f.tell() < 2)"
    commands.add(python(code), log)

    def done():
        commands.check()
        return not commands.pending

    wait_until(done)
    assert file.read_text() == "xx"


def test_command_that_cannot_start_is_given_up_after_some_attempts(commands, tmp_path):
    commands.add([str(tmp_path / "absent")], tmp_path / "log")  # the first attempt
    checks = []

    def given_up():
        commands.check()
        checks.append(commands.pending)
        return not commands.pending

    wait_until(given_up)
    assert len(checks) >= cleanup.MAX_ATTEMPTS - 1  # each check makes at most one attempt


def test_hanging_command_blocks_nothing(commands, tmp_path):
    commands.add(python("import time; time.sleep(3600)"), tmp_path / "log")
    commands.check()

    assert commands.pending == 1
