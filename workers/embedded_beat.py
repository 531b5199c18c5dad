"""Beat as a thread of a worker: on one machine, a process less, which takes 25 MB."""

from __future__ import annotations

import logging
import os
import signal
import threading
from typing import Any

from celery import Celery
from celery.beat import Service
from celery.signals import worker_ready, worker_shutting_down

LONGEST_SLEEP_S = 1
"""It looks so often whether it was stopped."""

log = logging.getLogger(__name__)


class EmbeddedBeat:
    """
    The schedule, sent while its worker runs.

    An error that Celery's beat does not handle would end the thread alone, and nothing would be
    sent. It ends the worker instead, so that whoever supervises the worker starts both again.
    """

    def __init__(self, app: Celery) -> None:
        self._app = app
        self._service: Service | None = None

    def start(self, sender: Any, **_: Any) -> None:
        """Begin; `sender` is the consumer of the worker, whose options for beat count."""
        self._service = Service(
            self._app,
            max_interval=LONGEST_SLEEP_S,
            schedule_filename=sender.controller.schedule_filename,
            scheduler_cls=sender.controller.scheduler,
            remote_control=False,  # the worker answers for this process
        )
        threading.Thread(target=self._run, args=(self._service,), name="beat", daemon=True).start()

    def stop(self, **_: Any) -> None:
        """Send nothing more; what is sent too early next time does no harm (`beat_schedule`)."""
        if self._service is not None:
            self._service.stop()

    @staticmethod
    def _run(service: Service) -> None:
        try:
            service.start()
        except Exception:
            log.critical("beat failed, so this worker stops", exc_info=True)
            os.kill(os.getpid(), signal.SIGTERM)


def embed_beat(app: Celery) -> None:
    """Run beat in the worker of this process, from when it is ready until it shuts down."""
    beat = EmbeddedBeat(app)
    worker_ready.connect(beat.start, weak=False)
    worker_shutting_down.connect(beat.stop, weak=False)
