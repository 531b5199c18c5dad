"""
Start Python processes by forking a process that has already imported their modules.

    python -m aragog.standalone.fork_server FD MODULE:FUNCTION

The function imports everything that the processes need. Processes then start within milliseconds,
and share the memory of the imported code. The fork server has one thread and no connections, so a
fork copies nothing that is in use.

The fork server forks a process that forks again and exits, and the kernel makes the orphan a child
of the supervisor (`adopt_orphans`). The supervisor therefore gets exit codes as from other child
processes, and the processes keep running if the fork server dies.
"""

from __future__ import annotations

import json
import os
import runpy
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path

from setproctitle import setproctitle

from aragog.standalone.processes import (
    AdoptedProcess,
    adopt_orphans,
    create_private,
    die_with_parent,
    spawn,
)

MAX_REQUEST_BYTES = 65_536
# The first fork waits for all imports, which take a second of CPU time.
REPLY_TIMEOUT_S = 60.0


class ForkServer:
    """
    The supervisor's side of the fork server. If orphans cannot be adopted, `fork` always returns
    None.

    Args:
        preload: `module:function`, called once before the first fork.
        environ: the environment of the processes.
        log: the file for the output of the fork server itself.
        umask: the umask of the processes.
    """

    def __init__(self, preload: str, environ: Mapping[str, str], log: Path, umask: int) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.has_forked = False
        """True once the fork server has started a process."""
        if not adopt_orphans():
            return
        self._connection, child_socket = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._connection.settimeout(REPLY_TIMEOUT_S)
        with child_socket:
            self.process = spawn(
                [sys.executable, "-P", "-m", __name__, str(child_socket.fileno()), preload],
                # keep process titles from overwriting /proc/<pid>/environ
                {**environ, "SPT_NOENV": "1"},
                log,
                umask=umask,
                pass_fds=[child_socket.fileno()],
                start_new_session=True,
                preexec_fn=die_with_parent,  # no threads run here
            )

    def fork(self, argv: Sequence[str], log: Path) -> AdoptedProcess | None:
        """
        Run `python -P -m MODULE …` as a child of this process, or return None.

        It returns None for other programs, and if the fork server does not respond. Raises OSError
        if the log cannot be opened.
        """
        if self.process is None or list(argv[:3]) != [sys.executable, "-P", "-m"]:
            return None
        with open(log, "ab", opener=create_private) as output:
            try:
                socket.send_fds(self._connection, [json.dumps(argv).encode()], [output.fileno()])
                reply = self._connection.recv(MAX_REQUEST_BYTES)
            except OSError:
                reply = b""
        if reply:
            self.has_forked = True
            return AdoptedProcess(int(reply))
        self.stop()  # a late reply must not be mistaken for the reply to the next request
        return None

    def stop(self) -> None:
        """Stop the fork server. Its processes keep running."""
        if self.process is not None:
            self._connection.close()
            self.process.kill()
            self.process.wait()
            self.process = None


def serve(connection: socket.socket) -> list[str]:
    """
    Fork a process for each request. Returns only in the new processes, with their command line.

    Raises:
        SystemExit: in the fork server, when the supervisor has closed the connection.
    """
    supervisor = os.getppid()
    while True:
        request, logs, _, _ = socket.recv_fds(connection, MAX_REQUEST_BYTES, 1)
        if not request:
            raise SystemExit
        intermediate_pid = os.fork()
        if intermediate_pid == 0:
            _become_orphan()
            die_with_parent()
            if os.getppid() != supervisor:
                os._exit(1)
            os.dup2(logs[0], sys.stdout.fileno())
            os.dup2(logs[0], sys.stderr.fileno())
            os.close(logs[0])
            connection.send(str(os.getpid()).encode())
            connection.close()
            return list(json.loads(request))
        os.close(logs[0])
        if os.waitpid(intermediate_pid, 0)[1]:
            raise SystemExit("a process could not be forked")


def _become_orphan() -> None:
    """Fork, and return in the new process once its parent has exited."""
    parent = os.getpid()
    if os.fork():
        os._exit(0)
    os.setsid()
    while os.getppid() == parent:
        time.sleep(0.001)


def main() -> None:
    """Import the modules, and then fork a process for each request."""
    connection = socket.socket(fileno=int(sys.argv[1]))
    module, _, function = sys.argv[2].partition(":")
    getattr(import_module(module), function)()
    if threading.active_count() > 1:
        sys.exit(f"{sys.argv[2]} starts a thread, which a fork would lose")
    argv = serve(connection)
    setproctitle(" ".join(argv))
    sys.argv = argv[3:]
    runpy.run_module(argv[3], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
