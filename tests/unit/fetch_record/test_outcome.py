"""The fetch record is one type, and messages, the store and the API have all of its fields."""

import json

import orjson
import pytest

from aragog.api.server.http.openapi.document import DOCUMENT
from aragog.crawl.fetcher.attempt import TEMPORARY_ERRORS
from aragog.crawl.pipeline.messages import FetchResult, UrlJob
from aragog.fetch_record.outcome import (
    RECORD_FIELDS,
    SCALAR_FIELDS,
    WITHHELD,
    FetchRecord,
    Hop,
    OutcomeKind,
)
from aragog.urlstore import record_reader
from urlspelling.canonical import KnownPage, is_gone

A, B = "http://a.test/", "http://b.test/"
EXAMPLES = {str: "text", int: 7, float: 2.5, bool: True}
FULL = FetchRecord(
    **{name: EXAMPLES[value.type] for name, value in SCALAR_FIELDS.items()}
    | {
        "url": A,
        "outcome": OutcomeKind.FETCHED,
        "attempts": 1,
        "headers": (("Server", "x"), ("Set-Cookie", "sid=")),
        "hops": (Hop(B, 301, A, 1.5, (("Location", A),)),),
    }
)
"""Every field has a value other than its default."""


def test_message_has_every_field():
    result = FetchResult(job=UrlJob(url=A), fetch=FULL)

    assert FetchResult.read(json.loads(json.dumps(result.wire()))) == result


def test_stored_cell_has_every_field():
    assert record_reader.from_cell(record_reader.to_cell(FULL), "row") == FULL


def test_cell_of_an_earlier_version_gets_defaults_for_newer_fields():
    old = {"url": A, "outcome": "Gone", "fetched_at_ms": 1, "final_url": A}

    assert FetchRecord.read(old) == FetchRecord(
        url=A, outcome=OutcomeKind.GONE, fetched_at_ms=1, final_url=A
    )


def test_http_api_documents_every_field():
    schema = DOCUMENT["components"]["schemas"]["FetchReport"]

    assert set(schema["properties"]) == set(RECORD_FIELDS) == set(orjson.loads(orjson.dumps(FULL)))


def test_record_of_an_outcome_has_only_the_fields_of_a_record():
    assert FetchRecord.of(FULL) == FULL


NEWER = {"url": A, "outcome": "Parked", "final_url": A, "colour": "red"}


def test_record_keeps_unknown_fields_of_a_newer_version():
    hop = {"url": B, "status": 301, "target": A, "cached": True}
    record = FetchRecord.read({**NEWER, "hops": [hop]})

    again = record_reader.from_cell(record_reader.to_cell(FetchRecord.of(record)), "row")

    assert (again, again.unknown) == (record, {"colour": "red"})
    assert (again.outcome.value, again.hops) == ("Parked", (Hop(B, 301, A),))
    assert hash(again) == hash(record)


@pytest.mark.parametrize("name", ["", "two words", "x" * 41, None, 7])
def test_name_of_an_outcome_must_be_an_identifier(name):
    with pytest.raises((ValueError, TypeError)):
        OutcomeKind.read(name)


def test_api_shows_only_documented_fields():
    assert "colour" not in orjson.loads(orjson.dumps(FetchRecord.read(NEWER)))


@pytest.mark.parametrize("status", range(400, 500))
def test_known_url_is_gone_by_the_same_statuses_as_in_a_fetch(status):
    existing = {*TEMPORARY_ERRORS, *WITHHELD, 429}

    assert is_gone(KnownPage(status=status)) is (status not in existing)
