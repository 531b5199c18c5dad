"""Stopping private servers that run in the foreground."""

from tests.support.forked import printed

SLOW_TO_STOP = """
import os, signal

class Server:
    def __enter__(self):
        return self
    def __exit__(self, *_):
        for number in (signal.SIGTERM, signal.SIGINT):
            os.kill(os.getpid(), number)
        print("stopped")

from deploy.processes import run_until_interrupted
run_until_interrupted("server", Server(), lambda _: os.kill(os.getpid(), signal.SIGTERM))
"""


def test_second_signal_does_not_prevent_a_server_from_stopping():
    assert printed(SLOW_TO_STOP) == "stopped\n"
