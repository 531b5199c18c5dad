"""Beat keeps its intervals when the clock is set back, also if that happened while it was down."""

from datetime import UTC, datetime, timedelta

import pytest
from celery import Celery
from celery.schedules import schedule

from aragog import celeryconfig
from aragog.workers.steady_scheduler import SteadyScheduler

DAY = timedelta(days=1)


class Clock:
    """One for the module: the scheduler stores its schedules, and with them where the time is."""

    now = datetime(2026, 1, 1, tzinfo=UTC)


def now():
    return Clock.now


class Beat:
    """A scheduler of two tasks, on a clock that the test moves."""

    def __init__(self, folder):
        self._file = str(folder / "beat")
        self._app = Celery("beat", broker="memory://", set_as_current=False)
        self._app.conf.result_expires = None  # or Celery adds a task of its own
        self._app.conf.beat_schedule = {
            name: {"task": name, "schedule": schedule(every_s, nowfun=now, app=self._app)}
            for name, every_s in (("often", 3.0), ("rarely", 5.0))
        }
        self.start()

    def start(self):
        self.scheduler = SteadyScheduler(self._app, schedule_filename=self._file)

    def run(self, seconds):
        """How often each task was sent in the meantime."""
        before = self._counts()
        end = Clock.now + timedelta(seconds=seconds)
        while Clock.now < end:
            Clock.now += timedelta(seconds=max(self.scheduler.tick(), 0.01))
        after = self._counts()
        return {name: after[name] - before[name] for name in after}

    def _counts(self):
        return {entry.name: entry.total_run_count for entry in self.scheduler.schedule.values()}


@pytest.fixture
def beat(tmp_path):
    a_beat = Beat(tmp_path)
    yield a_beat
    a_beat.scheduler.close()


def keeps_its_intervals(counts):
    return 9 <= counts["often"] <= 11 and 5 <= counts["rarely"] <= 7


def test_tasks_are_sent_at_their_intervals(beat):
    assert keeps_its_intervals(beat.run(30))


def test_a_clock_that_is_set_back_stops_no_task(beat):
    """Celery's scheduler sent nothing until the clock was again where it had been."""
    beat.run(30)
    Clock.now -= DAY

    assert keeps_its_intervals(beat.run(30))


def test_a_clock_that_was_set_back_before_beat_started_again_stops_no_task(beat):
    beat.run(30)
    beat.scheduler.close()
    Clock.now -= DAY
    beat.start()

    assert keeps_its_intervals(beat.run(30))


def test_a_clock_that_is_set_ahead_sends_each_task_once_more(beat):
    beat.run(30)
    Clock.now += DAY

    assert keeps_its_intervals(beat.run(30))


def test_beat_uses_it():
    module, _, name = celeryconfig.beat_scheduler.partition(":")

    assert (module, name) == (SteadyScheduler.__module__, SteadyScheduler.__name__)
