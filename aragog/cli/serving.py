"""`aragog serve`: the read API in this process."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import click
import prometheus_client

from aragog.bootstrap import parts, url_store
from aragog.dashboard.metrics import Figures
from aragog.serving.api import Api
from aragog.serving.http_server import listen, serve
from aragog.settings import load_settings

METRICS_WAIT_S = 0.1


@click.command("serve")
def serve_command() -> None:
    """Serve the read API over HTTP (serving.host, serving.http_port) until SIGTERM."""
    settings = load_settings()
    sock = listen(settings.serving)
    store = url_store(settings)
    # Reads of the embedded engine are shorter than a hand-over to a thread; a gateway's are not.
    threads = ThreadPoolExecutor(16) if settings.store.engine == "hbase" else None
    # Scrapes are answered on the loop: a part that is slow is left out rather than waited for.
    prometheus_client.REGISTRY.register(Figures(parts(settings), wait_s=METRICS_WAIT_S))
    api = Api(store, settings.serving, threads=threads, metrics=prometheus_client.generate_latest)
    try:
        import uvloop  # noqa: PLC0415 - not on every platform

        uvloop.run(serve(api, sock))
    except ImportError:
        asyncio.run(serve(api, sock))
    finally:
        store.close()


COMMANDS = (serve_command,)
