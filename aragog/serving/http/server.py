"""
The HTTP server (`aragog serve`): uvicorn on one socket, in one process.

SIGTERM drains: readiness turns 503, requests at hand are answered, idle connections are closed.
"""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable
from types import FrameType

import uvicorn

from aragog.errors import ConfigError
from aragog.serving.auth import check_exposure
from aragog.serving.http.app import Api
from aragog.serving.http.protocol import limited
from aragog.settings import ServingSettings

DRAIN_S = 5
BACKLOG = 1024


def listen(settings: ServingSettings) -> socket.socket:
    """
    The listening socket, which processes of one server inherit to share its port.

    SO_REUSEPORT is not set: with it a second server would join silently and take half of the
    requests.

    Raises:
        ConfigError: the port is in use or forbidden, or the host needs tokens.
    """
    check_exposure(settings)
    sock = socket.socket(socket.AF_INET6 if ":" in settings.host else socket.AF_INET)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((settings.host, settings.http_port))
        sock.listen(BACKLOG)
    except OSError as error:
        sock.close()
        raise ConfigError(
            f"serving.http_port: cannot listen on {settings.host}:{settings.http_port} "
            f"({error.strerror or error}); set ARAGOG_SERVING__HTTP_PORT to a free port"
        ) from error
    return sock


class ApiServer(uvicorn.Server):
    """
    uvicorn with the limits of the settings.

    Args:
        api: answers.
        settings: limits and timeouts.
        ready: called once it accepts connections.
    """

    def __init__(
        self, api: Api, settings: ServingSettings, *, ready: Callable[[], None] = lambda: None
    ) -> None:
        super().__init__(
            uvicorn.Config(
                api,
                http=limited(settings),
                ws="none",
                lifespan="off",
                log_config=None,
                log_level="error",  # it warns of each malformed request: a stranger's to cause
                access_log=False,
                proxy_headers=False,
                server_header=False,
                backlog=BACKLOG,
                timeout_keep_alive=settings.keep_alive_s,  # type: ignore[arg-type] # any number
                timeout_graceful_shutdown=DRAIN_S,
            )
        )
        self._api = api
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._api.drain()
        super().handle_exit(sig, frame)


def run(api: Api, settings: ServingSettings, sock: socket.socket) -> None:
    """Answer on the socket until SIGTERM or SIGINT, then drain for at most 5 s."""
    # uvicorn raises the signal once more when it is done, for handlers that were there before.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    try:
        ApiServer(api, settings).run(sockets=[sock])
    finally:
        api.close()
