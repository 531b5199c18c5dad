"""Batches that touch a damaged file of the embedded store."""

import pytest

from aragog.crawl.pipeline.messages import UrlJob
from aragog.crawl.stages.damaged import WAIT_MS, isolate, postpone, split
from aragog.errors import StoreDamaged


class Writer:
    """Writes all items of a batch, or none if one belongs to a damaged file."""

    def __init__(self, damaged):
        self.damaged, self.written = set(damaged), set()

    def __call__(self, items):
        if self.damaged & set(items):
            raise StoreDamaged("store.path", "05.db is damaged")
        self.written |= set(items)


@pytest.mark.parametrize("damaged", [(), (3,), (0, 7), (2, 3, 4), range(8)])
def test_only_items_of_the_damaged_file_remain(damaged):
    write = Writer(damaged)

    assert isolate(range(8), write) == list(damaged)
    assert write.written == set(range(8)) - set(damaged)


def test_empty_batch_is_not_written():
    assert isolate([], Writer(())) == []


def test_other_error_ends_the_batch():
    def write(_items):
        raise OSError

    with pytest.raises(OSError):
        isolate([1, 2], write)


class HalfStore:
    def serves(self, url):
        return url.endswith("/ok")


def test_jobs_are_split_by_whether_their_rows_are_usable():
    good, bad = UrlJob(url="http://a.test/ok"), UrlJob(url="http://a.test/lost")

    assert split([bad, good, bad], HalfStore()) == ([good], [bad, bad])


def test_postponed_job_loses_its_slot_but_no_attempt():
    job = UrlJob(url="http://a.test/", slot_at_ms=7, attempt=2)

    ((waiting, delay_ms),) = postpone([job])

    assert (waiting.slot_at_ms, waiting.attempt, delay_ms) == (None, 2, WAIT_MS)


def test_fetched_job_restarts_from_its_first_url():
    job = UrlJob(url="http://a.test/", target="http://a.test/next", attempt=2)

    ((waiting, delay_ms),) = postpone([job], fetched=True)

    assert (waiting.url, waiting.target, waiting.refresh) == (job.url, None, True)
    assert delay_ms == WAIT_MS
