"""
The demo sites of a data folder, and the settings that direct a crawl to them.

After the demo, some of its URLs are still queued or are refreshed later. A file marks such a data
folder. While it exists, each aragog in that folder also serves the demo sites.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from socket import create_server
from typing import IO

from aragog.settings import Settings
from aragog.standalone.processes import die_with_parent

HOSTS = "*.test"
UNKNOWN_HOSTS, CLOSED_PORT = "*.test.invalid", "127.0.0.1:1"
"""Nonexistent hosts in the demo's links, and the closed port that they are mapped to."""
USER_AGENT = "aragog-demo/1.0"
"""Contains no contact, so only loopback servers are fetched."""
BACKLOG = 128
MARK_FILE = "demo-web"
_MARK_TEXT = """\
The URLs of this folder include those of aragog's demo sites, *.test. While this file exists, any
aragog running here serves the demo sites on loopback. Delete this file to stop that.
"""


def mark(data_dir: Path) -> None:
    """Record that an existing data folder has URLs of the demo sites."""
    (data_dir / MARK_FILE).write_text(_MARK_TEXT)


def is_marked(data_dir: Path) -> bool:
    """True if the data folder has URLs of the demo sites."""
    return (data_dir / MARK_FILE).exists()


def is_demo(settings: Settings) -> bool:
    """True for the demo's settings."""
    return settings.fetch.user_agent == USER_AGENT


@contextmanager
def web(log: IO[bytes] | int = subprocess.DEVNULL) -> Iterator[dict[str, str]]:
    """
    Serve the demo sites in a process, and yield the environment that limits the crawl to them.

    Args:
        log: receives the server's errors, because the terminal shows the crawl's progress.
    """
    with _serve_sites(log) as address:
        yield {
            "ARAGOG_FETCH__HOST_MAP": f"{HOSTS}={address},{UNKNOWN_HOSTS}={CLOSED_PORT}",
            "ARAGOG_FETCH__USER_AGENT": USER_AGENT,
            "ARAGOG_PIPELINE__RETRY_FIRST_S": "1",
            "ARAGOG_PIPELINE__MAX_ATTEMPTS": "4",
            "ARAGOG_POLITENESS__ROBOTS_ERROR_S": "2",
        }


@contextmanager
def web_for(
    host_map: Mapping[str, str], log: IO[bytes] | int = subprocess.DEVNULL
) -> Iterator[dict[str, str]]:
    """
    Serve the demo sites for a crawl with other settings, and yield `fetch.host_map`.

    Args:
        host_map: the entries of the crawl's settings, which are kept.
        log: as for `web`.
    """
    with _serve_sites(log) as address:
        entries = {HOSTS: address, UNKNOWN_HOSTS: CLOSED_PORT, **host_map}
        text = ",".join(f"{name}={target}" for name, target in entries.items())
        yield {"ARAGOG_FETCH__HOST_MAP": text}


@contextmanager
def _serve_sites(log: IO[bytes] | int) -> Iterator[str]:
    # The server inherits a listening socket, so no other program can take its port, and early
    # connections wait.
    with create_server(("127.0.0.1", 0), backlog=BACKLOG) as listening_socket:
        port = listening_socket.getsockname()[1]
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "aragog.standalone.demo_server"],
            stdin=listening_socket.fileno(),
            stderr=log,
            start_new_session=True,  # Ctrl-C ends the crawl first, then this server
            preexec_fn=die_with_parent,  # noqa: PLW1509 - no threads run here
        )
    try:
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()
