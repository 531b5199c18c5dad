"""The purposes of a job on its way."""

import pytest

from aragog.crawl.pipeline.messages import AS_KEPT, UrlJob
from aragog.errors import InvalidMessage

URL = "http://a.example/"


def test_a_job_without_purposes_has_those_of_the_settings_and_no_field_for_them():
    job = UrlJob(url=URL)

    assert job.wire() == {"url": URL}
    assert job.purposes_with_default(("search",)) == ("search",)
    assert UrlJob(url=URL, purposes=AS_KEPT).purposes_with_default(("search",)) == ("search",)


@pytest.mark.parametrize(("purposes", "names"), [("", ()), ("a b", ("a", "b"))])
def test_purposes_travel_with_the_job(purposes, names):
    job = UrlJob.read(UrlJob(url=URL, purposes=purposes).wire())

    assert job.purposes_with_default(("search",)) == names


def test_purposes_that_are_not_text_are_a_problem_of_the_job():
    with pytest.raises(InvalidMessage, match="purposes"):
        UrlJob.read({"url": URL, "purposes": ["search"]})
