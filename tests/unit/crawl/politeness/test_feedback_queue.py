"""The queue that reports finished permits to the limiter in the background."""

from aragog.crawl.politeness.feedback_queue import FeedbackQueue
from tests.support.waiting import wait_until


def test_unexpected_error_in_a_batch_does_not_stop_the_reports():
    # Without reports, permits last until they expire, and the items stay in memory.
    sent: list[str] = []

    def send(items):
        sent.extend(items)
        if items == ["first"]:
            raise ValueError

    queue = FeedbackQueue(send, delay_s=0)
    queue.add("first")
    wait_until(lambda: sent == ["first"])
    queue.add("second")
    wait_until(lambda: len(sent) == 2)
    queue.close()

    assert sent == ["first", "second"]
