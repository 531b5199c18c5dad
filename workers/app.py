"""
The Celery app: `celery -A workers worker -Q fetch`, as in any Celery project.

In a folder that has its own `workers.py`, use `celery -A aragog.workers`.

Without `-Q`, a worker consumes every queue.

Settings come from aragog.toml and the environment (docs/settings.md). Celery's own settings come
from celeryconfig.py.
"""

from __future__ import annotations

import logging
import sys
from contextlib import suppress
from threading import Thread
from typing import Any, NoReturn

from celery import Celery
from celery.signals import (
    after_setup_logger,
    after_setup_task_logger,
    worker_init,
    worker_process_init,
    worker_process_shutdown,
    worker_ready,
)

from aragog.crawl.pipeline.routing import CelerySender, Destination, Queue
from aragog.crawl.pipeline.site_rules import install_site_rules
from aragog.crawl.stages.page_limits import make_expendable
from aragog.crawl.stages.rendering_rule import RenderingRule
from aragog.errors import CONFIG, TRANSIENT, ConfigError
from aragog.observability.logs import format_handlers
from aragog.observability.tracing.tracer import flush_spans
from aragog.runtime.allocator import return_freed
from aragog.runtime.open_files import raise_limit
from aragog.settings.in_use import process_settings
from aragog.workers.beat_log import BeatErrors
from aragog.workers.roles import reserve_store_threads, share_threads, share_upkeep
from pinlater import gates
from pinlater.worker import follow


def _exit_with(problems: tuple[str, ...]) -> NoReturn:
    sys.exit("\n".join(f"aragog: {line}" for line in problems))


# A process with invalid settings must stop, with the reason, before it takes a job.
try:
    process_settings()
except CONFIG as error:
    _exit_with(error.problems)


def _check_files(**_: Any) -> None:
    from aragog.bootstrap.redis_services import connect_overrides  # noqa: PLC0415 - not for producers
    from aragog.bootstrap.store_claims import store_conflict  # noqa: PLC0415 - not for producers

    settings = process_settings()
    try:
        if settings.pipeline.extractors:
            from aragog.pages.extractors import load  # noqa: PLC0415 - it imports the parsers

            load(settings.pipeline.extractors)
        connect_overrides(settings)
        install_site_rules(settings)
        RenderingRule(settings.rendering)
        if problem := store_conflict(settings):
            raise ConfigError(problem)
    except CONFIG as error:
        _exit_with(error.problems)
    except TRANSIENT:
        return  # each process checks the files again when it connects


def _allow_open_files(**_: Any) -> None:
    raise_limit()


worker_init.connect(_allow_open_files, weak=False)
worker_init.connect(_check_files, weak=False)
# Runs in each child of a prefork pool. If a page kills the child, the pool replaces it.
worker_process_init.connect(make_expendable, weak=False)


def _export_spans(**_: Any) -> None:
    """Export a child's remaining spans, because children run no exit handlers."""
    flush_spans()


worker_process_shutdown.connect(_export_spans, weak=False)


def _gate_fetches(sender: Any, **_: Any) -> None:
    """
    Claim no fetches while the spool is full (docs/architecture.md, "Back-pressure").

    This also divides the worker's threads among its queues.
    """
    from aragog.bootstrap.redis_services import fetch_gate  # noqa: PLC0415 - workers only

    settings = process_settings()
    gates.put(Destination.FETCH.queue, fetch_gate(settings))
    if isinstance(sender.concurrency, int):  # it may be "auto"
        served = set(app.amqp.queues.consume_from)
        share_threads(sender.concurrency, settings.workers.robots, served)
        share_upkeep(sender.concurrency, settings.workers, served)
        reserve_store_threads(sender.concurrency, served)


worker_init.connect(_gate_fetches, weak=False)


def _release_urls(**_: Any) -> None:
    """Release URLs that wait for their domain's turn, in workers of the `fetch` queue."""
    from aragog.bootstrap.stages import connect_release  # noqa: PLC0415 - not for producers
    from aragog.crawl.stages.release_thread import ReleaseThread  # noqa: PLC0415 - see above

    if Destination.FETCH.queue in app.amqp.queues.consume_from:
        ReleaseThread(connect_release(process_settings(), CelerySender(app)).run).start()


worker_ready.connect(_release_urls, weak=False)


def _connect_content(**_: Any) -> None:
    """Connect a `store` worker to S3 now, or the first page would wait about a second."""

    def connect() -> None:
        from aragog.workers.services import pipeline  # noqa: PLC0415 - not for producers

        with suppress(*CONFIG, *TRANSIENT):  # the first job raises the error
            pipeline().store.store.bodies.connect()

    is_on_s3 = process_settings().content.engine == "s3"
    if is_on_s3 and Destination.STORE.queue in app.amqp.queues.consume_from:
        Thread(target=connect, name="connect", daemon=True).start()


worker_ready.connect(_connect_content, weak=False)


def _return_freed(**_: Any) -> None:
    return_freed()


worker_ready.connect(_return_freed, weak=False)
worker_process_init.connect(_return_freed, weak=False)


def _format_logs(logger: logging.Logger, **_: Any) -> None:
    format_handlers(logger, process_settings().logs)


after_setup_logger.connect(_format_logs, weak=False)
after_setup_task_logger.connect(_format_logs, weak=False)
logging.getLogger("celery.beat").addFilter(BeatErrors())

app = Celery("aragog")
app.config_from_object("aragog.celeryconfig")
_declared = app.amqp.Queues(())  # Celery's default queue
app.conf.task_queues = (
    *_declared.values(),
    *(_declared.new_missing(queue.value) for queue in Queue),
)
# With pinlater, this passes a task's outcome to its job. Otherwise a failed task's job would be
# SUCCEEDED.
follow(app)


def _add_commands(**_: Any) -> None:
    from aragog.workers import waiting_command  # noqa: F401, PLC0415 - the import registers the command


worker_init.connect(_add_commands, weak=False)
if "inspect" in sys.argv:  # `celery inspect` lists the commands in its own process
    _add_commands()

# For `celery -A aragog.workers flower`, which imports the app before Flower builds its pages.
if "flower" in sys.argv:
    from aragog.workers import dashboard

    dashboard.install()
