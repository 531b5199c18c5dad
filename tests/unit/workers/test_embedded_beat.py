"""Beat as a thread of a worker."""

import signal
import threading
from types import SimpleNamespace

import pytest
from celery import Celery
from celery.beat import Scheduler

from aragog.workers.embedded_beat import EmbeddedBeat
from tests.support.waiting import wait_until


class Failing(Scheduler):
    def tick(self, *_args, **_options):
        raise RuntimeError("no space left")


class OnFullDisk(Scheduler):
    full = True

    def setup_schedule(self):
        if OnFullDisk.full:
            raise OSError("database or disk is full")
        super().setup_schedule()


def threads():
    return [thread for thread in threading.enumerate() if thread.name == "beat"]


@pytest.fixture
def beat(tmp_path):
    """Starts beat with a scheduler, and stops it at the end."""
    app = Celery("beat", broker="memory://", set_as_current=False)
    # The queues in memory belong to the process: tests of other files may have left messages.
    app.conf.task_default_queue = "embedded-beat"
    app.conf.beat_schedule = {"often": {"task": "tasks.often", "schedule": 0.05}}
    started = []

    def start(scheduler):
        started.append(EmbeddedBeat(app, first_delay_s=0.01))
        controller = SimpleNamespace(schedule_filename=str(tmp_path / "beat"), scheduler=scheduler)
        started[-1].start(SimpleNamespace(controller=controller))
        return app, started[-1]

    yield start
    for each in started:
        each.stop()
    assert wait_until(lambda: not threads())


def test_tasks_are_sent_until_it_is_stopped(beat):
    app, embedded = beat("aragog.workers.steady_scheduler:SteadyScheduler")

    with app.connection_for_read() as connection, connection.SimpleQueue("embedded-beat") as queue:
        assert queue.get(timeout=30).headers["task"] == "tasks.often"
        embedded.stop()
        assert wait_until(lambda: not threads())
        queue.clear()
        assert queue.qsize() == 0


def test_full_disk_does_not_end_the_worker_and_beat_restarts(beat, caplog):
    """Regression: the worker kept exiting and restarting, and with it maintenance and webhooks."""
    OnFullDisk.full = True
    app, _ = beat(OnFullDisk)
    wait_until(lambda: "restarts: database or disk is full" in caplog.text)

    OnFullDisk.full = False

    with app.connection_for_read() as connection, connection.SimpleQueue("embedded-beat") as queue:
        assert queue.get(timeout=30).headers["task"] == "tasks.often"


@pytest.fixture
def terminated():
    """The signals that would have ended this process."""
    signals = []
    before = signal.signal(signal.SIGTERM, lambda number, _: signals.append(number))
    yield signals
    signal.signal(signal.SIGTERM, before)


def test_worker_stops_if_its_beat_cannot_start(terminated):
    """Regression: Celery only logged the error of the receiver, and the worker ran without beat."""
    worker_without_options = SimpleNamespace(controller=None)

    EmbeddedBeat(Celery(set_as_current=False)).start(worker_without_options)

    assert wait_until(lambda: terminated)


def test_worker_stops_if_its_beat_fails(beat, terminated, caplog):
    beat(Failing)

    assert wait_until(lambda: terminated)
    assert "beat failed, so this worker stops" in caplog.text
    assert "no space left" in caplog.text
