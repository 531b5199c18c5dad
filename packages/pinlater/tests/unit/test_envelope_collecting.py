"""Messages whose elements share jobs: split into items, and merged again into ordinary messages."""

import base64
from datetime import UTC, datetime

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinlater import envelope, job_codec
from pinlater.envelope import COLLECT_HEADER, Collection
from pinlater.errors import InvalidMessage
from pinlater.models import JobState
from pinlater.testing.manual_clock import ManualClock
from pinlater.testing.memory_shard import MemoryShard

NOW = datetime(2026, 11, 1, tzinfo=UTC)


def message(urls, **options):
    """A task message as kombu passes it to a transport."""
    settings = {"elements": "urls", "span_ms": 1000, "most": 25, "group": "g"} | options
    settings.setdefault("delays_ms", (0,) * len(urls))
    args = [{"v": 1, "urls": urls}, "other"]
    body = orjson.dumps([args, {"k": "v"}, {"callbacks": None}])
    return {
        "body": base64.b64encode(body).decode(),
        "content-type": "application/json",
        "content-encoding": "utf-8",
        "headers": {"task": "t", "id": "1", COLLECT_HEADER: Collection(**settings).header()},
        "properties": {"body_encoding": "base64", "delivery_info": {}},
    }


def only_job(shard):
    [job] = shard.jobs("q", JobState.PENDING, limit=9)
    return job


@given(st.lists(st.dictionaries(st.text(max_size=5), st.text(max_size=9)), min_size=1, max_size=5))
def test_elements_of_two_messages_arrive_in_one(elements):
    shard = MemoryShard(ManualClock())
    for _ in range(2):
        frame, items = envelope.to_items(message(elements), priority=3, now=NOW)
        shard.collect("q", frame, items)

    job = only_job(shard)
    assert envelope.arguments(job.body) == [{"v": 1, "urls": elements * 2}, "other"]
    opened = envelope.from_job(job.body, tag="t", attempt=1)
    assert envelope.payload(opened)[1] == {"k": "v"}
    assert COLLECT_HEADER not in opened["headers"]
    assert (job.priority, job.name, job.unique_key) == (3, "t", "")


def test_each_element_keeps_its_delay():
    _, items = envelope.to_items(message(["a", "b"], delays_ms=(5, 9)), priority=0, now=NOW)

    assert [item.delay_ms for item in items] == [5, 9]


@pytest.mark.parametrize(
    "options", [{"delays_ms": (1,)}, {"elements": "nothing"}, {"delays_ms": ("x", "y")}]
)
def test_header_that_does_not_match_its_message_is_refused(options):
    with pytest.raises(InvalidMessage):
        envelope.to_items(message(["a", "b"], **options), priority=0, now=NOW)


def test_record_of_a_finished_job_has_no_body():
    frame, items = envelope.to_items(message(["a"]), priority=0, now=NOW)
    record = job_codec.encode_collected(frame, [(0, items[0].data)], 0, 0)
    head = job_codec.HEADER.match(record)

    assert head is not None
    assert job_codec.decode(head[0]).body == b""
