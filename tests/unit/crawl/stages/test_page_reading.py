"""`PageReader` reads every page of a batch separately."""

from dataclasses import dataclass, field, replace

import pytest

from aragog.crawl.pipeline import counters
from aragog.crawl.stages.page_limits import PageTooExpensive
from aragog.crawl.stages.page_reading import (
    FAILED_REASON,
    RUNS_LOST_REASON,
    PageReader,
    SourceReading,
)
from aragog.errors import StoreUnavailable
from aragog.settings import PipelineSettings
from aragog.urlstore.compression import compress
from tests.support.byte_streams import html_result

GOOD, BAD = "http://a.test/good", "http://a.test/bad"
PAGE = compress(b"<title>hello</title>")


@dataclass
class Counted:
    """Counters in memory."""

    numbers: dict[str, int] = field(default_factory=dict)

    def add(self, numbers):
        self.numbers.update(numbers)


@dataclass
class Sitemaps:
    """Treats every sitemap in the same way."""

    error: Exception | None = None
    urls: list[str] = field(default_factory=list)

    def read(self, result, body):
        self.urls.append(result.job.url)
        if self.error:
            raise self.error
        return SourceReading(1)


def read(bodies, *, sitemaps=None, give_up=False):
    """The readings of bodies by URL, and the counters; URLs of sitemaps end in .xml."""
    counted = Counted()
    reader = PageReader(sitemaps or Sitemaps(), counted, PipelineSettings(), "aragog")
    results = []
    for url in bodies:
        result = html_result(url)
        job = replace(result.job, sitemap=url.endswith(".xml"))
        results.append(replace(result, job=job, token=url))
    return reader.read(results, bodies, give_up=give_up), counted.numbers


def test_unreadable_page_does_not_affect_the_others():
    readings, counted = read({BAD: b"not compressed", GOOD: PAGE})

    assert readings.problems == {BAD: FAILED_REASON}
    assert readings.analyses[GOOD].fields["page.title"] == b'"hello"'
    assert counted == {counters.UNREADABLE: 1, counters.DEGRADED: 0}


def test_result_without_a_body_is_not_read():
    reader = PageReader(Sitemaps(), Counted(), PipelineSettings(), "aragog")

    readings = reader.read([html_result(GOOD)], {}, give_up=False)

    assert (readings.analyses, readings.problems) == ({}, {})


def test_nothing_is_read_after_lost_runs():
    readings, counted = read({GOOD: PAGE}, give_up=True)

    assert (readings.analyses, readings.problems) == ({}, {GOOD: RUNS_LOST_REASON})
    assert counted[counters.UNREADABLE] == 1


def test_sitemap_is_enqueued_and_not_analyzed():
    sitemaps = Sitemaps()

    readings, _ = read({"http://a.test/s.xml": PAGE, GOOD: PAGE}, sitemaps=sitemaps)

    assert sitemaps.urls == ["http://a.test/s.xml"]
    assert [*readings.analyses] == [GOOD]


@pytest.mark.parametrize(
    ("error", "problem"),
    [(PageTooExpensive("took too long"), "took too long"), (MemoryError(), "bytes of memory")],
)
def test_page_beyond_its_limits_reports_which(error, problem):
    readings, _ = read({"http://a.test/s.xml": PAGE}, sitemaps=Sitemaps(error))

    assert problem in readings.problems["http://a.test/s.xml"]


def test_unavailable_store_aborts_the_batch_for_a_retry():
    with pytest.raises(StoreUnavailable):
        read({"http://a.test/s.xml": PAGE}, sitemaps=Sitemaps(StoreUnavailable("sqlite", "gone")))
