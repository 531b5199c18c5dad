"""The name that the library pinlater had as a part of aragog."""

import subprocess
import sys

import pytest

CODE = """
import pinlater.job_types, pinlater.transport.channel
from aragog.pinlater.job_types import JobTypes
from aragog.pinlater.transport import channel
import aragog.pinlater.worker
import aragog.pinlater as old

assert JobTypes is pinlater.job_types.JobTypes
assert channel is pinlater.transport.channel
assert aragog.pinlater.worker is sys.modules["pinlater.worker"]
assert old.job_types is pinlater.job_types
try:
    import aragog.pinlater.nothing
except ModuleNotFoundError as error:
    assert error.name == "pinlater.nothing"
else:
    raise AssertionError
"""


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-W", "default", *arguments], capture_output=True, text=True, check=False
    )


def test_a_module_by_its_former_name_is_the_module_itself():
    done = run("-c", f"import sys\n{CODE}")

    assert done.returncode == 0, done.stderr
    assert len(done.stderr.split("DeprecationWarning")) == 2  # once a process


@pytest.mark.parametrize("code", ["import aragog.pinlater", "from aragog.pinlater import brokers"])
def test_the_former_name_warns_the_one_who_uses_it(code):
    done = run("-c", code)

    assert "<string>:1: DeprecationWarning: aragog.pinlater is the library pinlater" in done.stderr


def test_the_command_has_its_former_name_too():
    done = run("-m", "aragog.pinlater", "--help")

    assert (done.returncode, "Inspect, pause and limit queues" in done.stdout) == (0, True)
