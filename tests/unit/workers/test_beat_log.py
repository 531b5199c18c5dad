"""What beat logs while it cannot send: one line a minute instead of a traceback per task."""

import io
import logging

from celery import Celery
from celery.beat import Scheduler, SchedulingError

from aragog.runtime.clock import ManualClock
from aragog.workers.beat_log import BeatErrors


class FullBroker(Scheduler):
    """The scheduler of Celery, including its logging, on a broker that accepts nothing."""

    def apply_async(self, entry, *_, **__):
        raise SchedulingError(f"Couldn't apply scheduled task {entry.name}: its memory is full")


def test_full_broker_gives_one_line_a_minute_without_tracebacks():
    written = io.StringIO()
    handler, clock = logging.StreamHandler(written), ManualClock()
    limit, logger = BeatErrors(clock), logging.getLogger("celery.beat")
    logger.addHandler(handler)
    installed, logger.filters = (
        logger.filters,
        [limit],
    )  # the Celery app of this process has a filter of its own
    try:
        app = Celery(broker="memory://", set_as_current=False)
        app.conf.beat_schedule = {"often": {"task": "t", "schedule": 1.0}}
        scheduler = FullBroker(app, lazy=True)
        scheduler.setup_schedule()
        entry = scheduler.schedule["often"]
        for _ in range(5):
            scheduler.apply_entry(entry)
        clock.advance_ms(61_000)
        scheduler.apply_entry(entry)
        logger.warning("something else")
    finally:
        logger.filters = installed
        logger.removeHandler(handler)

    first, second, other = written.getvalue().splitlines()
    assert first.startswith(
        "beat cannot send messages and will retry: Couldn't apply scheduled task often"
    )
    assert "(0 more" in first
    assert "(4 more" in second
    assert other == "something else"
