"""Do work before a worker forks or takes a message, so that no page waits for it."""

from __future__ import annotations

import gc
import sys
from importlib import import_module

from aragog.runtime.allocator import return_freed
from aragog.runtime.extras import has
from aragog.settings.in_use import process_settings
from aragog.workers.app import app
from richpins.page_types import page_types
from urlspelling.domain import registered_domain

# A page creates several thousand objects without cycles. By default, the garbage collector would
# run after every 700 objects.
GC_THRESHOLD = 20_000
# After this time (5 ms by default), a thread that waits for the GIL makes the running thread
# release it. If threads mostly wait for the network, a short time only causes more switches.
SWITCH_INTERVAL_S = 0.03
# Modules that Celery imports when a worker or beat starts.
CELERY_MODULES = (
    "celery.app.control",
    "celery.app.events",
    "celery.app.log",
    "celery.apps.worker",
    "celery.backends.base",
    "celery.bin.worker",
    "celery.concurrency.prefork",
    "celery.concurrency.thread",
    "celery.events.dispatcher",
    "celery.events.receiver",
    "celery.worker.autoscale",
    "celery.worker.consumer",
    "celery.worker.consumer.delayed_delivery",
    "pinlater.transport.celery_consumer",
    "pinlater.transport.kombu_transport",
    "aragog.workers.niceness",
    "aragog.workers.roles",
    "kombu.pidbox",
)


def preload() -> None:
    """
    Import modules, create the tasks, read the public suffix list, exclude all of that from garbage
    collection, and increase the GIL's switch interval.

    Forked children share this memory. Otherwise each would read the list (50 ms) and import the
    page types (30 ms) for its first page, and copy the parent's memory when it collects garbage.
    """
    app.loader.import_default_modules()  # the tasks and everything they import
    app.finalize()
    for name in CELERY_MODULES:
        import_module(name)
    if process_settings().store.engine == "sqlite":
        import_module("zengraph.tables.sqlite")  # also imports the engine; does not connect
    if process_settings().content.engine == "s3" and has("s3"):
        import_module("aragog.urlstore.content.s3_packs")  # boto3 takes 0.5 s of CPU
    if process_settings().tracing.enabled:
        import_module("aragog.observability.tracing.open_telemetry")
    registered_domain("example.com")
    page_types()  # imports one module per type
    gc.collect()
    gc.freeze()
    gc.set_threshold(GC_THRESHOLD, 20, 100)
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    return_freed()
