"""Settings for the demo web: its hosts mapped to loopback, short retries."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from socket import create_connection, socket
from time import sleep

from aragog.standalone.processes import die_with_parent


@contextmanager
def web() -> Iterator[dict[str, str]]:
    """Run the demo origin in a process; yields the environment that limits the crawl to it."""
    port = _free_port()
    module = "aragog.standalone.demo.origin"
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", module, str(port)],
        start_new_session=True,  # ctrl-C ends the crawl first, then this
        preexec_fn=die_with_parent,  # noqa: PLW1509 - no threads run here
    )
    try:
        _wait_for(port)
        yield {
            "ARAGOG_FETCH__HOST_MAP": f"*.test=127.0.0.1:{port}",
            "ARAGOG_FETCH__USER_AGENT": "aragog-demo/1.0 (+http://127.0.0.1/)",
            "ARAGOG_PIPELINE__RETRY_FIRST_S": "1",
            "ARAGOG_PIPELINE__MAX_ATTEMPTS": "4",
            "ARAGOG_POLITENESS__ROBOTS_ERROR_S": "2",
        }
    finally:
        process.terminate()
        process.wait(10)


def _free_port() -> int:
    with closing(socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(port: int) -> None:
    for _ in range(200):
        try:
            create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            sleep(0.05)
