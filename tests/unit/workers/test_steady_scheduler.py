"""Beat keeps its intervals when the clock is set back, even while beat was not running."""

from datetime import UTC, datetime, timedelta

import pytest
from celery import Celery
from celery.schedules import schedule

from aragog import celeryconfig
from aragog.workers.steady_scheduler import SteadyScheduler

DAY = timedelta(days=1)


class Clock:
    """A clock shared by the module: the scheduler stores its schedules with a reference to it."""

    now = datetime(2026, 1, 1, tzinfo=UTC)


def now():
    return Clock.now


class Beat:
    """A scheduler of two tasks on a manual clock."""

    def __init__(self, folder):
        self._file = str(folder / "beat")
        self._app = Celery("beat", broker="memory://", set_as_current=False)
        self._app.conf.result_expires = None  # otherwise Celery adds a task of its own
        self._app.conf.beat_schedule = {
            name: {"task": name, "schedule": schedule(every_s, nowfun=now, app=self._app)}
            for name, every_s in (("often", 3.0), ("rarely", 5.0))
        }
        self.start()

    def start(self):
        self.scheduler = SteadyScheduler(self._app, schedule_filename=self._file)

    def run(self, seconds):
        """Runs for some seconds and returns how often each task was sent."""
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


def test_clock_set_back_stops_no_task(beat):
    """Regression: the scheduler of Celery sent nothing until the clock reached its old time."""
    beat.run(30)
    Clock.now -= DAY

    assert keeps_its_intervals(beat.run(30))


def test_clock_set_back_before_a_restart_of_beat_stops_no_task(beat):
    beat.run(30)
    beat.scheduler.close()
    Clock.now -= DAY
    beat.start()

    assert keeps_its_intervals(beat.run(30))


def test_clock_set_ahead_sends_each_task_once_more(beat):
    beat.run(30)
    Clock.now += DAY

    assert keeps_its_intervals(beat.run(30))


def test_beat_uses_it():
    module, _, name = celeryconfig.beat_scheduler.partition(":")

    assert (module, name) == (SteadyScheduler.__module__, SteadyScheduler.__name__)
