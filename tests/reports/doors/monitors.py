"""Queries of Celery monitors to a broker and its workers: `scenario` is a function below."""

from __future__ import annotations

import time
from contextlib import suppress

from tests.reports.doors.queues import _place


def answer(given):
    return globals()[given["scenario"]](given)


def lengths(given):
    """The number of waiting tasks from a passive declaration, as monitors query it."""
    with _place(given) as place:
        for n in range(7):
            place.app.send_task("b.say", (f"{n}",), priority=n)
        with place.app.connection_for_read() as connection:
            waiting = connection.default_channel.queue_declare("celery", passive=True).message_count
        place.worker()
        place.wait(lambda: len(place.notes()) >= 7)
        time.sleep(2)
        with place.app.connection_for_read() as connection:
            after = connection.default_channel.queue_declare("celery", passive=True).message_count
        return {"waiting": waiting, "after": after}


def active(given):
    """Running and waiting tasks, as reported by `inspect`."""
    with _place(given) as place:
        place.worker()
        for n in range(3):
            place.app.send_task("b.say", (f"{n}", 8.0))
        place.wait(lambda: len(place.notes()) >= 3)
        inspect = place.app.control.inspect(timeout=5)
        tasks = [t for each in (inspect.active() or {}).values() for t in each]
        names = sorted({t["name"] for t in tasks})
        stats = inspect.stats() or {}
        return {"active": len(tasks), "names": names, "workers": len(stats)}


def counts_of_ends(given):
    """Events of tasks that succeed, fail and retry, by kind, as monitors count them."""
    with _place(given) as place:
        place.worker("-E")
        counts = {}
        import threading

        stop = threading.Event()

        def capture():
            with place.app.connection_for_read() as connection:

                def seen(event):
                    counts[event["type"]] = counts.get(event["type"], 0) + 1

                receiver = place.app.events.Receiver(connection, handlers={"*": seen})
                end = time.monotonic() + 25
                while not stop.is_set() and time.monotonic() < end:
                    with suppress(Exception):
                        receiver.capture(limit=None, timeout=1, wakeup=False)

        thread = threading.Thread(target=capture, daemon=True)
        thread.start()
        time.sleep(3)
        for n in range(4):
            place.app.send_task("b.inc", (n,))
        for _ in range(2):
            place.app.send_task("b.boom")
        end = time.monotonic() + 20
        while time.monotonic() < end and (
            counts.get("task-succeeded", 0) < 4 or counts.get("task-failed", 0) < 2
        ):
            time.sleep(0.2)
        stop.set()
        return {
            "received": counts.get("task-received", 0),
            "succeeded": counts.get("task-succeeded", 0),
            "failed": counts.get("task-failed", 0),
        }
