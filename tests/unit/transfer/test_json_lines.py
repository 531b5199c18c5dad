"""Records as lines of JSON."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aragog.transfer.json_lines import MAX_AT_MS, BadRecord, UrlRecord, from_json, to_json
from aragog.transfer.typed_fields import TypedFields
from aragog.urlstore.records import OutLink

TYPES = TypedFields()
# JSON has no lone surrogates.
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
AT_MS = st.integers(0, MAX_AT_MS)
RECORDS = st.builds(
    UrlRecord,
    url=TEXT.filter(bool),
    fields=st.dictionaries(
        TEXT | st.sampled_from(["product.price", "page.title"]),
        st.binary(max_size=30) | TEXT.map(str.encode),
        max_size=4,
    ),
    at_ms=st.dictionaries(TEXT, AT_MS, max_size=4),
    provenance=st.dictionaries(TEXT, TEXT, max_size=3),
    canonical_url=st.none() | TEXT,
    canonical_at_ms=st.none() | AT_MS,
    provisional=st.booleans(),
    due_at_ms=st.none() | AT_MS,
    links=st.none() | st.lists(st.builds(OutLink, TEXT, TEXT, TEXT), max_size=3).map(tuple),
    facts=st.dictionaries(TEXT, TEXT | st.integers(-(2**53), 2**53) | st.none(), max_size=3),
    content_key=st.none() | TEXT,
    content_bytes=st.none() | AT_MS,
)


@given(RECORDS)
def test_record_round_trips_through_its_line(record):
    line = to_json(record, TYPES)

    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert from_json(line, TYPES) == record


@given(st.binary(max_size=60) | st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5),
       lambda inner: st.dictionaries(st.sampled_from(["url", "fields", "typed", "fields_base64", "at_ms", "links", "facts", "due_at_ms", "x"]), inner) | st.lists(inner)).map(lambda v: __import__("json").dumps(v).encode()))  # fmt: skip
def test_any_line_is_a_record_or_an_error(line):
    try:
        record = from_json(line, TYPES)
    except BadRecord as error:
        record = error

    assert isinstance(record, BadRecord) or from_json(to_json(record, TYPES), TYPES) == record


def test_single_time_applies_to_all_fields():
    record = from_json(b'{"url": "u", "fields": {"a": "1", "b": "2"}, "at_ms": 5}', TYPES)

    assert record.at_ms == {"a": 5, "b": 5}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{", "is not JSON"),
        (b"[]", "is not a JSON object"),
        (b"{}", "url is missing"),
        (b'{"url": 5}', "url must be a string"),
        (b'{"url": "u", "title": "t", "urls": 1}', "'title', 'urls' is not a key of a record"),
        (b'{"url": "u", "fields": {"a": 5}}', "fields.a must be a string, got int"),
        (b'{"url": "u", "fields_base64": {"a": "?"}}', "fields_base64.a is not base64"),
        (b'{"url": "u", "at_ms": "now"}', "at_ms must be a whole number, got 'now'"),
        (b'{"url": "u", "at_ms": {"a": null}}', "at_ms.a must be a number"),
        (b'{"url": "u", "due_at_ms": 1e3}', "due_at_ms must be a whole number"),
        (b'{"url": "u", "due_at_ms": 1700000000000000}', "out of range; use milliseconds"),
        (b'{"url": "u", "links": [["a", 1]]}', "each link in links must be a URL or"),
        (b'{"url": "u", "provenance": {"a": 1}}', "the values of provenance must be strings"),
        (b'{"url": "u", "provisional": "yes"}', "provisional must be true or false"),
    ],
)
def test_invalid_line_is_reported(line, reason):
    with pytest.raises(BadRecord) as caught:
        from_json(line, TYPES)
    assert reason in str(caught.value)


def test_lines_of_earlier_versions_hold_the_bytes_as_text():
    line = b'{"url": "u", "fields": {"page.title": "\\"A page\\"", "product.price": "\\"19.90\\""}}'

    assert from_json(line, TYPES).fields == {"page.title": b'"A page"', "product.price": b'"19.90"'}


def test_line_has_typed_values_and_their_bytes_where_they_differ():
    fields = {
        "product.price": b'"19.90"', "product.rating": b'{"count":7,"value":"4.5"}',
        "page.keywords": b'["a","b"]', "article.is_free": b"true", "page.title": b'"1984"',
        "recipe.total_minutes": b"70", "team.note": "Grüße".encode(), "team.raw": b"\xff",
        "page.app_links": b'{"ios" : "x"}',
    }  # fmt: skip

    line = to_json(UrlRecord(url="u", fields=fields), TYPES)

    assert line == (
        '{"url":"u","typed":true,"fields":{"product.price":19.90,'
        '"product.rating":{"count":7,"value":4.5},"page.keywords":["a","b"],"article.is_free":true,'
        '"page.title":"1984","recipe.total_minutes":70,"team.note":"Grüße",'
        '"page.app_links":{"ios":"x"}},'
        '"fields_base64":{"team.raw":"/w==","page.app_links":"eyJpb3MiIDogIngifQ=="}}\n'.encode()
    )
    assert from_json(line, TYPES).fields == fields
