"""The commands `aragog serve` and `aragog token`."""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import logging
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from urllib.parse import urlsplit

import click
import prometheus_client

from aragog.api.operations.scopes import GRAPH_SCOPE, READ, SCOPES
from aragog.api.server.access_log import access_log
from aragog.api.server.hedging import HedgedReads, HedgingMetrics
from aragog.api.server.http.app import Api
from aragog.api.server.http.server import listen, run
from aragog.api.server.http.services import Services
from aragog.api.server.tokens import Tokens, new_token
from aragog.bootstrap.api import ThriftServices, hedged_reads, other_parts
from aragog.bootstrap.api import listen as listen_thrift
from aragog.bootstrap.dashboard import components
from aragog.bootstrap.redis_services import metric_totals
from aragog.bootstrap.stores import serving_store
from aragog.cli.arguments import FiniteRange, Name
from aragog.cli.exit_status import DONE
from aragog.cli.terminal import echo
from aragog.client import Aragog
from aragog.crawl.identity.published_files import Publication
from aragog.crawl.pipeline.metric_totals import MetricShipper
from aragog.dashboard.scraped_metrics import MetricsCollector
from aragog.observability.logs import configure
from aragog.observability.tracing.tracer import name_service
from aragog.runtime.allocator import return_freed, return_large_blocks
from aragog.settings import LogSettings, ServingSettings, Settings
from aragog.settings.in_use import process_settings
from aragog.standalone.processes import die_with_parent
from aragog.urlstore.store import UrlStore
from urlspelling.hosts import split_port


@click.command("serve")
@click.option("--fd", type=int, hidden=True, help="An inherited listening socket.")
@click.option(
    "--thrift-fd", type=int, hidden=True, help="An inherited listening socket for Thrift."
)
def serve_command(fd: int | None, thrift_fd: int | None) -> None:
    """Serve HTTP (serving.http_port) and Thrift (serving.thrift_port) until SIGTERM."""
    settings = process_settings()
    _configure_logs(settings.logs)
    if fd is not None:
        thrift_socket = None if thrift_fd is None else socket.socket(fileno=thrift_fd)
        _serve(settings, socket.socket(fileno=fd), thrift_socket)
        return
    processes = settings.serving.processes
    sock, thrift_sockets = listen(settings.serving), listen_thrift(settings.serving, processes)
    if processes > 1:
        sys.exit(_run_processes(sock, thrift_sockets, processes))
    _serve(settings, sock, thrift_sockets[0] if thrift_sockets else None)


def _configure_logs(settings: LogSettings) -> None:
    """Log to standard error: messages in the configured format, and requests as JSON."""
    configure(settings)
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(message)s"))
    access_log.addHandler(handler)
    access_log.setLevel(logging.INFO)
    access_log.propagate = False


def _serve(settings: Settings, sock: socket.socket, thrift_socket: socket.socket | None) -> None:
    name_service("api")
    store, serving = serving_store(settings), _serving_settings(settings)
    store.bodies.connect()
    prometheus_client.REGISTRY.register(MetricsCollector(components(settings)))
    with (
        contextlib.closing(store),
        _open_hedged_reads(settings, store) as hedged,
        Aragog(settings) as producer,
        contextlib.closing(MetricShipper(metric_totals(settings).add).start()),
        other_parts(settings, store, producer, hedged.read if hedged else None) as others,
    ):
        services = Services(
            embedded=settings.store.is_embedded,
            publication=Publication(settings) if settings.identity.serve else None,
            metrics=prometheus_client.generate_latest,
            **others.arguments(),
        )
        tokens = Tokens(settings.serving.tokens, settings.serving.processes)
        api = Api(store, serving, services, tokens)
        companion = (
            ThriftServices(settings, api.parts, thrift_socket, tokens, api.unsent)
            if thrift_socket
            else None
        )
        if companion is not None:
            prometheus_client.REGISTRY.register(companion.metrics)
        # A garbage collection of all imported objects would stop requests for 40 ms.
        gc.collect()
        gc.freeze()
        return_large_blocks()
        return_freed()
        run(api, serving, sock, companion)
        if api.running_calls or (companion and companion.running_calls):
            # Exit now: Python would wait for threads that hang in the store.
            sys.stderr.flush()
            os._exit(DONE)


def _serving_settings(settings: Settings) -> ServingSettings:
    """Return the serving settings, with `identity.agent`'s host if public keys are served."""
    serving = settings.serving
    if not settings.identity.serve:
        return serving
    host = split_port(urlsplit(settings.identity.agent).netloc)[0]
    return dataclasses.replace(serving, allowed_hosts=(*serving.allowed_hosts, host))


@contextlib.contextmanager
def _open_hedged_reads(settings: Settings, store: UrlStore) -> Iterator[HedgedReads | None]:
    """Yield hedged reads from the store and its standby, or None without a standby."""
    hedged = hedged_reads(settings, store)
    if hedged is not None:
        prometheus_client.REGISTRY.register(HedgingMetrics(hedged))
    try:
        yield hedged
    finally:
        if hedged is not None:
            hedged.close()


def _run_processes(sock: socket.socket, thrift_sockets: list[socket.socket], processes: int) -> int:
    """
    Run several processes on one socket.

    If one process exits, all are stopped, and the supervisor restarts the server.
    """
    command = [sys.executable, "-m", "aragog.cli", "serve", "--fd", str(sock.fileno())]
    listeners_by_process = [thrift_sockets[n : n + 1] for n in range(processes)]
    children = [
        subprocess.Popen(
            command
            + [word for listener in listeners for word in ("--thrift-fd", str(listener.fileno()))],
            pass_fds=[listener.fileno() for listener in (sock, *listeners)],
            preexec_fn=die_with_parent,  # noqa: PLW1509 - no threads run here
        )
        for listeners in listeners_by_process
    ]
    for listener in (sock, *thrift_sockets):
        listener.close()

    is_stopped = False

    def stop(*_: object) -> None:
        nonlocal is_stopped
        is_stopped = True
        for child in children:
            child.terminate()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    pid, status = os.wait()
    was_requested = is_stopped
    stop()
    for child in children:
        if child.pid != pid:
            child.wait()
    # A starting process has no handler yet, so the stop signal kills it.
    return 0 if was_requested else os.waitstatus_to_exitcode(status) or 1


class TokenScope(click.ParamType):  # type: ignore[type-arg] # generic since click 8.3
    """A token's scope, for the store or for one graph."""

    name = "scope"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in SCOPES and not GRAPH_SCOPE.fullmatch(value):
            scopes_text = ", ".join(SCOPES)
            self.fail(
                f"{value[:80]!r} is not one of {scopes_text}, read@GRAPH, write@GRAPH", param, ctx
            )
        return value


@click.command("token")
@click.argument("name", type=Name())
@click.option(
    "--scope", "scopes", multiple=True, type=TokenScope(), default=(READ,),
    show_default=True,
    help="What the token allows: read, write, admin, or read@GRAPH and write@GRAPH; repeatable.",
)  # fmt: skip
@click.option("--rate", type=FiniteRange(0.001, 999_999_999), help="Maximum requests per second.")
def token_command(name: str, scopes: tuple[str, ...], rate: float | None) -> None:
    """Create the bearer token NAME; print it once, with its entry for serving.tokens."""
    token, entry = new_token(name, scopes, rate)
    echo(f"token: {token}\nserving.tokens entry: {entry}")
