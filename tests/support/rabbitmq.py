"""A private RabbitMQ node for tests, on free loopback ports, in a temporary folder."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import pytest

from tests.support.missing_parts import RABBITMQ, skip_without
from tests.support.ports import free_port
from tests.support.waiting import wait_until

SERVER = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")


class RabbitMQ:
    """One node with its own epmd. Everything it writes is in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port, self._dist_port, self._epmd_port = free_port(), free_port(), free_port()
        self._epmd: subprocess.Popen[bytes] | None = None
        self._node: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"amqp://guest:guest@127.0.0.1:{self.port}//"

    def start(self) -> Self:
        plugins = self.folder / "plugins"
        plugins.write_text("[].")
        config = self.folder / "rabbitmq.conf"
        config.write_text(f"listeners.tcp.default = 127.0.0.1:{self.port}\n")
        env = os.environ | {
            "HOME": str(self.folder),
            "ERL_EPMD_PORT": str(self._epmd_port),
            "RABBITMQ_NODENAME": f"t{self.port}@localhost",
            "RABBITMQ_CONFIG_FILE": str(config),
            "RABBITMQ_DIST_PORT": str(self._dist_port),
            "RABBITMQ_MNESIA_BASE": str(self.folder / "mnesia"),
            "RABBITMQ_LOG_BASE": str(self.folder / "log"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(plugins),
            "RABBITMQ_PID_FILE": str(self.folder / "pid"),
        }
        epmd = shutil.which("epmd")
        assert epmd, "epmd belongs to Erlang, and so to rabbitmq-server"
        # Started first, because the node would start one that outlives it.
        self._epmd = subprocess.Popen(
            [epmd, "-address", "127.0.0.1", "-port", str(self._epmd_port)], env=env
        )
        with (self.folder / "out").open("ab") as out:
            self._node = subprocess.Popen(
                [str(SERVER)], env=env, stdout=out, stderr=out, start_new_session=True
            )
        try:
            wait_until(self._accepts, every_s=0.1, otherwise=self._output)
        except BaseException:
            self.stop()
            raise
        return self

    def _accepts(self) -> bool:
        """Return True if it accepts connections. Raises AssertionError if the node has ended."""
        assert self._node is not None
        assert self._node.poll() is None, self._output()
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return True
        return False

    def _output(self) -> str:
        return (self.folder / "out").read_text(errors="replace")[-2000:]

    def stop(self) -> None:
        """Kill the node and its epmd. Their data is discarded anyway."""
        if self._node is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._node.pid, signal.SIGKILL)
            self._node.wait()
        if self._epmd is not None:
            self._epmd.kill()
            self._epmd.wait()


@pytest.fixture(scope="session")
def rabbitmq() -> Iterator[RabbitMQ]:
    """One node for the whole run."""
    if not SERVER.exists():
        skip_without(RABBITMQ)
    with tempfile.TemporaryDirectory(prefix="ar") as folder:
        node = RabbitMQ(Path(folder))
        try:
            yield node.start()
        finally:
            node.stop()
