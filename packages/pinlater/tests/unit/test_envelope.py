import json
from datetime import UTC, datetime, timedelta

import pytest
from billiard.exceptions import WorkerLostError
from celery.exceptions import Ignore, Reject
from hypothesis import given
from hypothesis import strategies as st
from kombu.exceptions import ContentDisallowed, OperationalError

from pinlater import envelope, job_body, job_codec
from pinlater.errors import InvalidArgument, InvalidMessage
from pinlater.job_body import JobBody
from pinlater.models import NewJob
from pinlater.worker import RunLater, dispositions

NOW = datetime(2026, 11, 1, tzinfo=UTC)


def message(**headers):
    return {
        "body": "e30=",
        "headers": {"task": "t", "id": "1"} | headers,
        "properties": {"delivery_info": {}},
    }


def test_only_task_messages_are_jobs():
    assert envelope.is_job(message())
    assert not envelope.is_job({"body": "", "headers": {"task": "t"}})
    assert not envelope.is_job({"body": ""})


@given(st.integers(-(10**9), 10**12))
def test_eta_becomes_a_delay_and_is_removed_from_the_message(delay_ms):
    given_message = message(eta=(NOW + timedelta(milliseconds=delay_ms)).isoformat())

    job = envelope.to_job(given_message, priority=3, now=NOW)

    opened = envelope.from_job(job.body, tag="t", attempt=1)
    assert job.delay_ms == max(0, delay_ms)
    assert opened["headers"]["eta"] is None
    assert opened["headers"]["x_eta"]


def test_message_published_again_is_the_same_job():
    # Regression: kombu retries a failed publish with the same dictionaries, and the eta was lost.
    given_message = message(eta=(NOW + timedelta(hours=1)).isoformat())
    given_message["properties"] |= {"unique_key": "k", "max_attempts": 3}

    first, second = (envelope.to_job(given_message, priority=3, now=NOW) for _ in range(2))

    assert first == second
    assert (first.delay_ms, first.unique_key, first.max_attempts) == (3_600_000, "k", 3)


def test_unique_key_is_not_sent_with_the_task():
    # `self.retry()` sends the received headers, so its job would be refused as a duplicate.
    job = envelope.to_job(message(unique_key="k"), priority=0, now=NOW)

    opened = envelope.from_job(job.body, tag="t", attempt=1)

    assert "unique_key" not in opened["headers"]


def test_eta_in_another_time_zone_is_the_same_instant():
    job = envelope.to_job(message(eta="2026-11-01T02:00:01+02:00"), priority=0, now=NOW)

    assert job.delay_ms == 1000


def test_invalid_eta_is_refused():
    with pytest.raises(InvalidMessage, match="eta"):
        envelope.to_job(message(eta="tomorrow"), priority=0, now=NOW)


def test_unique_key_may_be_a_header_or_an_option_of_apply_async():
    by_header = envelope.to_job(message(unique_key="k"), priority=0, now=NOW)
    by_option = message()
    by_option["properties"]["unique_key"] = "k"

    assert by_header.unique_key == "k"
    assert envelope.to_job(by_option, priority=0, now=NOW).unique_key == "k"


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"{}", b'{"properties": 1, "headers": {}}', b"\xff"]
)
def test_invalid_body_is_refused(body):
    with pytest.raises(InvalidMessage):
        envelope.from_job(body, tag="t", attempt=1)


@given(
    st.builds(
        NewJob,
        body=st.binary(),
        priority=st.integers(0, 9),
        delay_ms=st.integers(0, 10**12),
        max_attempts=st.integers(0, 99),
        unique_key=st.text(alphabet="ab|%7C2\n5é"),
        name=st.text(alphabet="ab|%"),
        key=st.text(alphabet="ab|%"),
    )
)
def test_record_round_trips(job):
    record = job_codec.decode(job_codec.encode(job, 1000))

    assert record == (
        job.priority, job.max_attempts, 1000, 1000 + job.delay_ms, job.unique_key, job.name, job.key, job.body,
    )  # fmt: skip


@given(st.binary())
def test_invalid_record_is_refused(data):
    if not job_codec.HEADER.match(data):
        with pytest.raises(InvalidMessage):
            job_codec.decode(data)


@pytest.mark.parametrize(
    ("error", "retries", "ack", "reject"),
    [
        (ValueError("v"), False, "fail", "fail"),
        (ValueError("v"), True, "policy", "policy"),
        (InvalidMessage("m", "no"), True, "fail", "fail"),
        (ContentDisallowed("pickle"), True, "fail", "fail"),
        (Reject("r", requeue=False), True, None, "fail"),
        (Reject("r", requeue=True), False, None, "again"),
        (Reject(OperationalError("down"), requeue=False), False, None, "wait"),
        (RunLater("r", counts=False), False, None, "wait"),
        (RunLater("r", delay_s=2), False, None, "again"),
        (RunLater("r"), False, None, "policy"),
        (WorkerLostError("w"), False, None, "policy"),
        (Ignore(), False, None, None),
    ],
)
def test_outcome_of_a_task_decides_the_state_of_its_job(error, retries, ack, reject):
    assert [end and end.step for end in dispositions(error, retries=retries)] == [ack, reject]


def plain(args, kwargs=None, embedded=None, **headers):
    body = json.dumps([args, kwargs or {}, embedded or {}])
    return message(**{envelope.PLAIN_HEADER: True}, **headers) | {"body": body}


def test_plain_body_round_trips_without_an_envelope():
    job = envelope.to_job(plain([], {"path": "a", "width": 3}), priority=1, now=NOW)

    body = job_body.decode(job.body)
    plain_job = envelope.PlainJob("t", job.key, "images", job.priority, "tag", 2)
    opened = envelope.from_plain(body, plain_job)
    assert (body.data, body.content_type) == (b'{"path": "a", "width": 3}', "application/json")
    assert (job.name, job.key) == ("t", "1")
    assert envelope.payload(opened)[:2] == [[], {"path": "a", "width": 3}]
    assert opened["headers"]["redelivered"] is True
    assert opened["properties"][envelope.ATTEMPT_PROPERTY] == 2


def test_bytes_from_another_program_are_the_argument():
    plain_job = envelope.PlainJob("t", "1", "q", 0, "tag", 1)

    opened = envelope.from_plain(JobBody(b"\x00\xff", "image/png"), plain_job)

    assert envelope.payload(opened)[0] == [b"\x00\xff"]


@pytest.mark.parametrize(
    "given_message",
    [
        plain([1], embedded={"chain": [{}]}),
        plain([1], expires="2026-11-02T00:00:00+00:00"),
        plain([1], retries=1),
    ],
)
def test_celery_features_are_refused_in_a_plain_body(given_message):
    with pytest.raises(InvalidArgument, match="needs Celery"):
        envelope.to_job(given_message, priority=1, now=NOW)


def test_other_programs_get_the_arguments_of_a_celery_message():
    written = envelope.to_job(message() | {"body": '[["a", 3], {}, {}]'}, priority=1, now=NOW)

    assert envelope.for_others(written.body) == JobBody(b'["a", 3]', "application/json")


@pytest.mark.parametrize(
    "stored",
    [b"", b"\x02", b"{}", b'{"body": "[[1], {\\"a\\": 2}, {}]", "headers": {}, "properties": {}}'],
)
def test_messages_that_need_celery_are_not_given_to_other_programs(stored):
    with pytest.raises(InvalidMessage):
        envelope.for_others(stored)
