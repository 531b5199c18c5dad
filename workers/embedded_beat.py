"""Run beat as a thread of a worker, which saves a process of 25 MB."""

from __future__ import annotations

import dbm
import logging
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from celery import Celery
from celery.beat import Service
from celery.signals import worker_ready, worker_shutting_down

MAX_SLEEP_S = 1
"""Maximum time until beat notices that it should stop."""
FIRST_DELAY_S, MAX_DELAY_S = 1.0, 60.0
"""Seconds between attempts while the disk is full."""

log = logging.getLogger(__name__)


class EmbeddedBeat:
    """
    Runs beat while its worker runs.

    An unhandled error would only end this thread, and no more tasks would be sent. So the worker
    stops too, and its supervisor restarts both.
    """

    def __init__(self, app: Celery, *, first_delay_s: float = FIRST_DELAY_S) -> None:
        self._app = app
        self._first_delay_s = first_delay_s
        self._service: Service | None = None
        self._stopped = threading.Event()

    def start(self, sender: Any, **_: Any) -> None:
        """Start beat with the options of `sender`, the worker's consumer."""
        with (
            self._stopping_worker_on_error()
        ):  # Celery would only log an exception of this receiver
            create_service = partial(
                Service,
                self._app,
                max_interval=MAX_SLEEP_S,
                schedule_filename=sender.controller.schedule_filename,
                scheduler_cls=sender.controller.scheduler,
                remote_control=False,  # the worker responds for this process
            )
            threading.Thread(
                target=self._run, args=(create_service,), name="beat", daemon=True
            ).start()

    def stop(self, **_: Any) -> None:
        """
        Stop sending tasks. After a restart, some may be sent early, which does no harm
        (`beat_schedule`).
        """
        self._stopped.set()
        if self._service is not None:
            self._service.stop()

    def _run(self, create_service: Callable[[], Service]) -> None:
        """Send tasks. If the schedule file is not writable, restart after a pause."""
        delay_s = self._first_delay_s
        with self._stopping_worker_on_error():
            while not self._stopped.is_set():
                try:
                    self._service = create_service()
                    self._service.start()
                    if not self._stopped.is_set():
                        raise RuntimeError("beat ended without an error")
                except dbm.error as error:
                    log.warning("beat cannot use its schedule file and restarts: %s", error)
                    self._stopped.wait(delay_s)
                    delay_s = min(2 * delay_s, MAX_DELAY_S)

    @contextmanager
    def _stopping_worker_on_error(self) -> Iterator[None]:
        try:
            yield
        except Exception:
            log.critical("beat failed, so this worker stops", exc_info=True)
            os.kill(os.getpid(), signal.SIGTERM)


def embed_beat(app: Celery) -> None:
    """Run beat in this process's worker, until it shuts down."""
    beat = EmbeddedBeat(app)
    worker_ready.connect(beat.start, weak=False)
    worker_shutting_down.connect(beat.stop, weak=False)
