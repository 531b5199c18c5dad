"""
A Celery consumer that keeps messages that it cannot turn into tasks.

Plain Celery acknowledges or rejects such a message and logs it, so the message is lost. Here its
job is FAILED with the reason. On other brokers it becomes a dead letter.

When the connection is lost, jobs that have not begun return to their queue. Celery's thread pool
would run them all the same, and the consumer here takes them from it.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from queue import Empty
from typing import Any

from celery.worker.consumer import Consumer

from aragog.pinlater import dead_letters
from aragog.pinlater.acks import Disposition


class KeepingConsumer(Consumer):  # type: ignore[misc]
    """Installed by `aragog.pinlater.worker.follow`."""

    def on_decode_error(self, message: Any, exc: BaseException) -> None:
        self._keep(message, f"cannot be decoded: {type(exc).__name__}: {exc}")
        super().on_decode_error(message, exc)

    def on_invalid_task(self, body: Any, message: Any, exc: BaseException) -> None:
        self._keep(message, f"{type(exc).__name__}: {exc}")
        super().on_invalid_task(body, message, exc)

    def on_unknown_task(self, body: Any, message: Any, exc: BaseException) -> None:
        self._keep(message, "refused by a worker that knows no such task")
        super().on_unknown_task(body, message, exc)

    def on_unknown_message(self, body: Any, message: Any) -> None:
        self._keep(message, "is not a message of a task")
        super().on_unknown_message(body, message)

    def on_connection_error_after_connected(self, exc: Exception) -> None:
        _forget_waiting(getattr(self.pool, "executor", None))
        super().on_connection_error_after_connected(exc)

    def _keep(self, message: Any, problem: str) -> None:
        claims = getattr(message.channel, "claims", None)
        if claims is not None and message.delivery_tag in claims:
            refused = Disposition("fail", 0, problem)
            claims.set_dispositions(message.delivery_tag, on_ack=refused, on_reject=refused)
        else:
            dead_letters.keep(self.app, message, problem)


def _forget_waiting(executor: Any) -> None:
    """Cancel tasks that no thread of a thread pool has started; other pools do so themselves."""
    if isinstance(executor, ThreadPoolExecutor):
        # What `shutdown(cancel_futures=True)` does; the executor has no method for this alone.
        waiting: Any = executor._work_queue
        with suppress(Empty):
            while True:
                item = waiting.get_nowait()
                if item is None:  # the executor is shutting down
                    waiting.put(None)
                    return
                item.future.cancel()
