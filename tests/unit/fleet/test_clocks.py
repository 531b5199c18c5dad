"""Clocks of the fleet: only the wall clock is off."""

import os
import subprocess
import sys
import time

import pytest

from tests.fleet.clocks import compiler, shifted_environ

SHOWN = """
import multiprocessing, time
from datetime import datetime
before_s = time.monotonic()
time.sleep(0.01)
waits_s = time.monotonic()
multiprocessing.Semaphore(0).acquire(timeout=0.01)
print(time.time(), datetime.now().timestamp(), before_s, time.monotonic() - waits_s)
"""


@pytest.mark.skipif(
    not compiler() or not sys.platform.startswith("linux"), reason="needs Linux and a C compiler"
)
def test_wall_clock_is_shifted_but_timeouts_are_not(tmp_path):
    shown = subprocess.run(
        [sys.executable, "-c", SHOWN], env={**os.environ, **shifted_environ(tmp_path, -300)},
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    wall_s, date_s, monotonic_s, waited_s = map(float, shown.split())

    assert wall_s == pytest.approx(time.time() - 300, abs=100)
    assert date_s == pytest.approx(wall_s, abs=100)
    assert monotonic_s == pytest.approx(time.monotonic(), abs=100)
    assert waited_s < 200
