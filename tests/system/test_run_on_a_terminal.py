"""`aragog run` as seen by a user who tries it on a terminal."""

import contextlib
import os
import pty
import re
import shlex
import signal
import subprocess
import sys

import pytest

from tests.support.documented import blocks, recipe
from tests.support.standalone import free_port
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.redis, pytest.mark.slow]


@pytest.fixture
def terminal(tmp_path):
    """The process of `make run` on a pseudo-terminal, and a function that returns its screen."""
    (first,), (second,) = (
        blocks("README.md", "sh", "make run"),
        blocks("docs/tutorial.md#from-nothing-to-a-pages-metadata", "sh", "make"),
    )
    _, *arguments = shlex.split(recipe(first.splitlines()[0]))
    assert recipe(second).split()[1:] == arguments
    ours = {k: v for k, v in os.environ.items() if not k.startswith("ARAGOG_")}
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "aragog.cli", *arguments],
        cwd=tmp_path,
        env={
            **ours,
            "TERM": "xterm",
            "COLUMNS": "100",
            "ARAGOG_DATA_DIR": str(tmp_path / "var"),
            "ARAGOG_SERVING__HTTP_PORT": str(free_port()),
            "ARAGOG_SERVING__FLOWER_PORT": str(free_port()),
            "ARAGOG_SERVING__THRIFT_PORT": "0",
        },
        stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
    )  # fmt: skip
    os.close(slave)
    os.set_blocking(master, False)
    seen = bytearray()

    def screen():
        with contextlib.suppress(OSError):  # nothing new, or the process has ended
            seen.extend(os.read(master, 1 << 20))
        return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", seen.decode(errors="replace"))

    try:
        yield process, screen
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(120)
        os.close(master)


def test_demo_shows_a_bar_and_a_card_and_stays_until_ctrl_c(terminal):
    process, screen = terminal
    running = "still running; press Ctrl-C to stop"
    wait_until(lambda: running in screen() or process.poll() is not None, 240, otherwise=screen)
    shown = screen()

    assert running in shown
    assert "the demo sites: " in shown.splitlines()[0]
    assert re.search(r"URLs ━+ +(\d+)/\1 ", shown)
    assert re.search(r"page\.title +\w+", shown)
    assert "flower:  http://127.0.0.1:" in shown
    assert "Traceback" not in shown

    assert process.poll() is None
    process.send_signal(signal.SIGINT)

    wait_until(lambda: screen() and process.poll() is not None, otherwise=screen)
    assert process.returncode == 0
    assert "stopping; `" in screen().partition(running)[2]
    assert "Traceback" not in screen()
