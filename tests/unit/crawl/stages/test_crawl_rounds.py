"""When the rounds of a crawl are due."""

from hypothesis import given
from hypothesis import strategies as st

from aragog.crawl.pipeline.crawl_records import CrawlRecord, with_next_round
from aragog.crawl.stages.crawl_rounds import next_round_ms

DAY_MS = 86_400_000


@given(st.integers(1, 10**7), st.integers(0, 2**50), st.integers(0, 2**40))
def test_rounds_keep_their_time_of_day_and_missed_ones_are_skipped(every_s, due_ms, late_ms):
    record = CrawlRecord(name="docs", number=2, every_s=every_s, next_round_ms=due_ms)

    following = next_round_ms(record, due_ms + late_ms)

    assert (following - due_ms) % (every_s * 1000) == 0
    assert 0 < following - (due_ms + late_ms) <= every_s * 1000


def test_crawl_without_an_interval_has_no_rounds():
    record = CrawlRecord(name="docs", number=2, every_s=0, next_round_ms=5)

    assert with_next_round(record, DAY_MS).next_round_ms == 0
    assert with_next_round(CrawlRecord(name="d", number=2, every_s=60), DAY_MS).next_round_ms == (
        DAY_MS + 60_000
    )
