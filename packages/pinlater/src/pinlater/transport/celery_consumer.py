"""
A Celery consumer that keeps messages that cannot be turned into tasks.

Plain Celery acknowledges or rejects such a message and logs it, so the message is lost. Here the
message's job is marked FAILED, with the reason, or waits for a worker that knows its task
(`UNKNOWN_TASK_DELAY`). On other brokers, the message becomes a dead letter.

Task events are sent in batches. Plain Celery sends them in each iteration of its loop, which took a
quarter of a busy worker's CPU.

When the connection is lost, jobs that have not started return to their queue. Celery's thread pool
would still run them, so they are removed from the pool.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from queue import Empty
from typing import Any

from celery.worker.consumer import Consumer

from pinlater import dead_letters
from pinlater.acks import Disposition
from pinlater.clock import SystemClock
from pinlater.models import Step

EVENTS_EVERY_S = 0.25
"""Task events are collected for this time. The first event after a pause is sent immediately."""
UNKNOWN_TASK_DELAY = "pinlater_unknown_task_delay_s"
"""
Key in the app's configuration: how many seconds an unknown task's job waits for a worker that knows
the task. It waits as often as needed, and the attempts do not count. With None, the job is marked
FAILED.
"""
MAX_EVENTS = 500
"""This many events are sent immediately; each takes about 500 bytes."""
NEVER_S = float("-inf")
_clock = SystemClock()


class LosslessConsumer(Consumer):  # type: ignore[misc]
    """The consumer that `pinlater.worker.follow` installs."""

    _events_due_s = NEVER_S
    _events_sent_s = NEVER_S

    def on_decode_error(self, message: Any, exc: BaseException) -> None:
        self._fail_or_store(message, f"cannot be decoded: {type(exc).__name__}: {exc}")
        super().on_decode_error(message, exc)

    def on_invalid_task(self, body: Any, message: Any, exc: BaseException) -> None:
        self._fail_or_store(message, f"{type(exc).__name__}: {exc}")
        super().on_invalid_task(body, message, exc)

    def on_unknown_task(self, body: Any, message: Any, exc: BaseException) -> None:
        problem = "refused: the worker does not know this task"
        delay_s = self.app.conf.get(UNKNOWN_TASK_DELAY)
        if delay_s is None or not self._settle(message, "release", problem, delay_s):
            self._fail_or_store(message, problem)
        super().on_unknown_task(body, message, exc)

    def on_unknown_message(self, body: Any, message: Any) -> None:
        self._fail_or_store(message, "is not a task message")
        super().on_unknown_message(body, message)

    def on_connection_error_after_connected(self, exc: Exception) -> None:
        _cancel_unstarted(getattr(self.pool, "executor", None))
        super().on_connection_error_after_connected(exc)

    def on_send_event_buffered(self) -> None:
        if _clock.monotonic_s() > self._events_due_s:  # otherwise the timer also sends this event
            super().on_send_event_buffered()

    def _flush_events(self) -> None:
        now_s = _clock.monotonic_s()
        if now_s <= self._events_due_s:
            return
        wait_s = self._events_sent_s + EVENTS_EVERY_S - now_s
        if wait_s > 0:
            # A lost connection cancels Celery's timers. Then the next event finds that sending is
            # overdue.
            self._events_due_s = now_s + wait_s
            self.hub.call_later(wait_s, self._send_events)
        else:
            self._send_events()

    def _send_events(self) -> None:
        self._events_due_s = NEVER_S
        self._events_sent_s = _clock.monotonic_s()
        if self.event_dispatcher:
            self.event_dispatcher.buffer_limit = MAX_EVENTS
            self.event_dispatcher.flush()

    def _fail_or_store(self, message: Any, problem: str) -> None:
        if not self._settle(message, "fail", problem):
            dead_letters.store(self.app, message, problem)

    def _settle(self, message: Any, step: Step, problem: str, delay_s: float = 0.0) -> bool:
        """Set how the next ack or reject ends a message's job; False if it is not pinlater's."""
        claims = getattr(message.channel, "claims", None)
        if claims is None or message.delivery_tag not in claims:
            return False
        disposition = Disposition(step, round(delay_s * 1000), problem)
        claims.set_dispositions(message.delivery_tag, on_ack=disposition, on_reject=disposition)
        return True


def _cancel_unstarted(executor: Any) -> None:
    """Cancel tasks that a thread pool has not started; other pools do this themselves."""
    if isinstance(executor, ThreadPoolExecutor):
        # As in `shutdown(cancel_futures=True)`; the executor has no other method for this.
        work_queue: Any = executor._work_queue
        with suppress(Empty):
            while True:
                item = work_queue.get_nowait()
                if item is None:  # the executor is shutting down
                    work_queue.put(None)
                    return
                item.future.cancel()
