"""The purposes of a job in messages."""

import pytest

from aragog.crawl.pipeline.messages import AS_KEPT, UrlJob
from aragog.errors import InvalidMessage

URL = "http://a.example/"


def test_job_without_purposes_uses_those_of_the_settings():
    job = UrlJob(url=URL)

    assert job.wire() == {"url": URL}
    assert job.purposes_with_default(("search",)) == ("search",)
    assert UrlJob(url=URL, purposes=AS_KEPT).purposes_with_default(("search",)) == ("search",)


@pytest.mark.parametrize(("purposes", "names"), [("", ()), ("a b", ("a", "b"))])
def test_purposes_are_passed_on_with_the_job(purposes, names):
    job = UrlJob.read(UrlJob(url=URL, purposes=purposes).wire())

    assert job.purposes_with_default(("search",)) == names


def test_purposes_must_be_text():
    with pytest.raises(InvalidMessage, match="purposes"):
        UrlJob.read({"url": URL, "purposes": ["search"]})
