"""Without a contact in the User-Agent, only loopback is requested, even after redirects."""

import pytest

from aragog.crawl.pipeline.messages import FetchBatch, UrlJob
from tests.support.origin import page, redirect

pytestmark = pytest.mark.redis
PUBLIC = "http://192.0.2.1/"


def test_redirect_from_loopback_to_a_public_host_has_an_outcome(crawl_harness):
    """It stayed at "waits for robots.txt", with a ConfigError every minute."""
    harness = crawl_harness(
        {"//site.test/": redirect(PUBLIC), "*": page(b"hello")},
        fetch={"user_agent": ""},
        allowed_networks=("127.0.0.0/8", "192.0.2.0/24"),
    )
    harness.know_rules("site.test")
    jobs = tuple(UrlJob(url=f"http://site.test/{path}") for path in ("", "other"))

    answers = harness.run(harness.pipeline.fetch.run(FetchBatch(jobs)), limit_s=60)

    assert {answer.job.url: answer.fetch.outcome for answer in answers} == {
        "http://site.test/": "Refused",
        "http://site.test/other": "Fetched",
    }
