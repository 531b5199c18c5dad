"""One-time work of a worker before it forks or takes a message, so that no page waits for it."""

from __future__ import annotations

import gc
import sys
from importlib import import_module

from aragog.settings.in_use import process_settings
from aragog.urls.domain import registered_domain
from aragog.workers.app import app

# A page creates some thousand objects without cycles; by default, the garbage collector looks for
# cycles after every 700.
YOUNG_OBJECTS = 20_000
# A thread that waits for the GIL takes it away after this time, by default after 5 ms. With many
# threads that mostly wait for the network, that only adds switches.
SWITCH_AFTER_S = 0.03
# What Celery imports when a worker or beat starts.
CELERY = (
    "celery.apps.worker",
    "celery.bin.worker",
    "celery.concurrency.prefork",
    "celery.concurrency.thread",
    "celery.worker.autoscale",
    "celery.worker.consumer",
    "aragog.pinlater.transport.celery_consumer",
    "aragog.pinlater.transport.kombu_transport",
)


def preload() -> None:
    """
    Import what tasks need, read the public suffix list, exclude both from garbage collection, and
    let threads keep the GIL for longer.

    Forked children share both. Otherwise each child would read the list (50 ms) with its first
    page, and garbage collection would copy the parent's memory into each child.
    """
    app.loader.import_default_modules()  # the tasks and everything they import
    for name in CELERY:
        import_module(name)
    if process_settings().tracing.enabled:
        import_module("aragog.tracing.open_telemetry")
    registered_domain("example.com")
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, 20, 100)
    sys.setswitchinterval(SWITCH_AFTER_S)
