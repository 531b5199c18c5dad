"""Fetch messages as any program may send them."""

from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aragog.crawl.pipeline.messages import FetchBatch, RobotsBatch, UrlJob
from aragog.crawl.pipeline.producer_messages import read_fetch, read_robots
from aragog.errors import InvalidMessage

GOOD = "http://a.test/"
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["url", "depth", "priority", "hops", "target", "x"]), inner, max_size=4
        )
    ),
    max_leaves=6,
)


KNOWN = [
    "c" if field.name == "crawl" else field.name
    for field in fields(UrlJob)
    if field.name != "unknown"
]


def urls(message):
    return [job.url for job in read_fetch(message)[0].jobs]


def test_url_list_and_batch_are_accepted():
    assert urls("HTTP://A.test") == [GOOD]
    assert urls(["http://a.test/b/../c", {"url": GOOD, "depth": 2}]) == ["http://a.test/c", GOOD]
    assert urls(FetchBatch((UrlJob(url=GOOD, priority=1),)).wire()) == [GOOD]


def test_batch_of_the_pipeline_round_trips():
    batch = FetchBatch((UrlJob(url=GOOD, slot_at_ms=7, target="http://b.test/", refresh=True),))

    assert read_fetch(batch.wire()) == (batch, [])


@given(st.lists(JUNK, max_size=5))
def test_bad_entries_do_not_affect_a_good_one(entries):
    batch, problems = read_fetch({"v": 1, "urls": [*entries, {"url": GOOD}]})

    assert batch.jobs[-1] == UrlJob(url=GOOD)
    assert len(batch.jobs) + len(problems) == len(entries) + 1


@pytest.mark.parametrize("name", KNOWN)
def test_value_of_another_type_invalidates_only_its_entry(name):
    entries = [{"url": GOOD}, {"url": GOOD, name: 1.5}]

    batch, problems = read_fetch({"v": 1, "urls": entries})

    assert (len(batch.jobs), len(problems)) == (1, 1)


@pytest.mark.parametrize("message", [7, None, {}, {"v": 9, "urls": []}, "::", ["::"], [[]]])
def test_message_without_a_url_is_invalid(message):
    with pytest.raises(InvalidMessage):
        read_fetch(message)


def test_url_or_list_requests_a_refresh_of_robots_rules():
    one = read_robots("https://Host.example/a/page?x=1")
    two = read_robots(
        ["https://host.example", "http://host.example:8080/", "https://host.example/"]
    )

    assert one == RobotsBatch(("https://host.example",), refresh=True)
    assert two.origins == ("https://host.example", "http://host.example:8080")


@pytest.mark.parametrize("message", ["no url", ["ftp://a.example/"], [7], {"v": 99}, None])
def test_message_without_an_origin_is_invalid(message):
    with pytest.raises(InvalidMessage):
        read_robots(message)
