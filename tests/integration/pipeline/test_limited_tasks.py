"""Task kinds that hang, on brokers that give a worker all waiting tasks: other tasks continue."""

import pytest
import redis

from tests.support import limited_tasks
from tests.support.celery_worker import Worker
from tests.support.waiting import wait_until

pytestmark = pytest.mark.redis

THREADS = 4


def test_hung_tasks_leave_threads_to_other_tasks_and_are_not_lost(own_redis, tmp_path):
    """On redis://, watch tasks took all upkeep threads while the store did not respond."""
    broker = f"redis+socket://{own_redis.socket}?virtual_host=3"
    env = {
        "ARAGOG_TEST_BROKER": broker,
        "ARAGOG_TEST_NOTES": own_redis.url,
        "ARAGOG_TEST_HANGS_S": "3",
    }
    args = ["-P", "threads", "-c", str(THREADS), "-Q", f"{limited_tasks.QUEUE},celery"]
    args += ["--without-gossip", "--without-mingle", "--prefetch-multiplier", "4"]
    client = redis.Redis.from_url(own_redis.url)

    def notes():
        return [note.decode() for note in client.lrange("notes", 0, -1)]

    app = limited_tasks.make(broker)
    for number in range(THREADS):
        app.send_task(limited_tasks.HANGS, [number], queue=limited_tasks.QUEUE)
    with Worker("tests.support.limited_tasks", tmp_path / "log", env=env, args=args):
        wait_until(notes)
        app.send_task(limited_tasks.QUICK)
        seen = wait_until(lambda: "quick" in notes() and notes())
        ended = wait_until(lambda: sum(n.startswith("ended") for n in notes()) == THREADS)
        every = notes()
    client.close()

    assert [note for note in seen if note.startswith("ended")] == []
    assert ended
    assert sorted(n for n in every if n.startswith("began")) == [
        f"began {number}" for number in range(THREADS)
    ]
    at_once = 0
    for note in every:
        at_once += note.startswith("began") - note.startswith("ended")
        assert at_once <= 1
