"""The displayed state of a crawl."""

import pytest

from aragog.crawl.pipeline.crawl_counts import CrawlCounts
from aragog.crawl.pipeline.crawl_records import CrawlPhase, CrawlRecord
from aragog.crawl.stages.crawl_status import CrawlStatus


@pytest.mark.parametrize(
    ("state", "enqueued", "waiting", "shown"),
    [
        (CrawlPhase.RUNNING, 0, 0, "running"),
        (CrawlPhase.RUNNING, 5, 1, "running"),
        (CrawlPhase.RUNNING, 5, 0, "done"),
        (CrawlPhase.PAUSED, 5, 0, "paused"),
        (CrawlPhase.ENDED, 5, 0, "ended"),
    ],
)
def test_running_crawl_without_waiting_urls_is_done(state, enqueued, waiting, shown):
    record = CrawlRecord(name="docs", number=2, state=state)
    assert CrawlStatus(record, CrawlCounts(enqueued, waiting)).display_state == shown
