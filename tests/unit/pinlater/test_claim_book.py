"""What a process does with the claims that others left behind."""

from aragog.clock import ManualClock
from aragog.pinlater.book import ClaimBook
from aragog.pinlater.cluster import Cluster
from aragog.pinlater.job import NewJob
from aragog.pinlater.memory import MemoryShard


def test_all_that_a_dead_worker_held_goes_back_in_one_round():
    clock = ManualClock()
    shard = MemoryShard(clock)
    shard.enqueue("q", [NewJob(b"x")] * 750)
    for _ in range(5):
        shard.claim("q", limit=150, timeout_ms=1000, worker="dead")
    book = ClaimBook(Cluster([shard], clock=clock), clock=clock)
    book.watch("q")
    book.sweep()  # hears the server's time, by which claims are judged
    clock.advance_ms(1001)

    book.sweep()

    assert shard.sizes("q").due == 750
    book.stop()
