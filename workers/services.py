"""
The pipeline of this process. It connects on first use, so a forked child connects after the fork.

Sockets and SQLite connections do not survive a fork. Every call checks the process id, which takes
0.1 µs.
"""

from __future__ import annotations

import atexit
import contextvars
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import lru_cache
from typing import TypeVar

from aragog.bootstrap.redis_services import metric_totals, outage_board
from aragog.bootstrap.stages import connect
from aragog.crawl.pipeline.metric_totals import MetricShipper
from aragog.crawl.pipeline.outages import OUTAGES
from aragog.crawl.pipeline.routing import CelerySender, OutgoingMessage
from aragog.crawl.stages.process_stages import ProcessStages
from aragog.settings.in_use import process_settings
from aragog.workers.app import app

T = TypeVar("T")
_lock = threading.Lock()
_connected: dict[int, ProcessStages] = {}


def pipeline() -> ProcessStages:
    """
    Return the pipeline with its connected stages.

    Raises:
        ConfigError: the settings are invalid.
        TransientError: a service in the settings does not respond.
    """
    current = _connected.get(os.getpid())
    if current is None:
        with _lock:
            current = _connected.get(os.getpid())
            if current is None:
                _connected.clear()  # a child neither uses nor closes its parent's connections
                settings = process_settings()
                current = connect(settings, CelerySender(app))
                OUTAGES.board = outage_board(settings)
                atexit.register(MetricShipper(metric_totals(settings).add).start().close)
                _connected[os.getpid()] = current
    return current


def run_in_store_thread(work: Callable[[], T], *, urgent: bool = False) -> T:
    """
    Run a function in one of the process's `workers.store` threads, and return its result.

    Only these threads have connections to every SQLite file. When a pack (a file of many bodies)
    has been stored, up to a thousand pages must be written at once. Urgent work has its own
    threads, just as many, so it does not wait for these pages.
    """
    context = contextvars.copy_context()
    return _store_threads(os.getpid(), urgent).submit(context.run, work).result()


@lru_cache(maxsize=2)
def _store_threads(_pid: int, urgent: bool) -> ThreadPoolExecutor:
    name = "store-urgent" if urgent else "store"
    return ThreadPoolExecutor(process_settings().workers.store, name)


def send_all(messages: list[OutgoingMessage]) -> None:
    """
    Send a stage's messages. On BrokerUnavailable, the task runs again and sends all of them.

    Even a full server accepts them, because they replace the current message or help to free
    memory.
    """
    pipeline().sender.send_all([replace(message, even_when_full=True) for message in messages])
