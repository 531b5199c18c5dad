"""The content store over S3 servers that answer as the standard does not expect."""

from __future__ import annotations

import pytest

from tests.reports.doors.s3_servers import answer

LISTED = (
    "<ListBucketResult><Name>pages</Name><IsTruncated>{more}</IsTruncated>"
    "<Contents><Key>0f/{{key}}</Key><Size>1</Size></Contents>{token}</ListBucketResult>"
)


def page(token=None, *, more=True):
    text = "" if token is None else f"<NextContinuationToken>{token}</NextContinuationToken>"
    return {
        "body": LISTED.format(more=str(more).lower(), token=text),
        "headers": {"Content-Type": "application/xml"},
    }


def error(status, code):
    return {
        "status": status,
        "body": f"<Error><Code>{code}</Code><Message>As asked</Message></Error>",
        "headers": {"Content-Type": "application/xml"},
    }


@pytest.mark.parametrize("before", [0, 1, 2, 3, 7])
@pytest.mark.parametrize("cycle", [1, 2, 3, 5])
def test_a_list_that_comes_back_to_a_page_ends(before, cycle):
    tokens = [f"before-{n}" for n in range(before)] + [f"again-{n}" for n in range(cycle)] * 60

    result = answer({"do": "keys", "answers": [*map(page, tokens), page(more=False)]})

    assert result["last"].startswith("ContentUnavailable")
    assert len(result["requests"]) <= 4 * (before + cycle) + 2


@pytest.mark.parametrize("token", [None, ""])
@pytest.mark.parametrize("before", [0, 1])
def test_a_list_without_a_way_to_its_next_page_is_not_taken_as_whole(token, before):
    pages = [page("one")] * before + [page(token)]

    assert answer({"do": "keys", "answers": pages})["last"].startswith("ContentUnavailable")


def test_a_list_of_many_pages_is_read_to_its_end():
    pages = [page(f"token-{n}") for n in range(70)]

    assert answer({"do": "keys", "answers": [*pages, page(more=False)]})["last"] == "71 keys"


@pytest.mark.parametrize(
    ("status", "code", "last"),
    [
        (404, "NoSuchKey", "done"),
        (404, "NoSuchBucket", "ContentUnavailable"),
        (403, "AccessDenied", "ContentUnavailable"),
        (409, "OperationAborted", "ContentUnavailable"),
    ],
)
def test_only_an_object_that_is_gone_counts_as_deleted(status, code, last):
    given = {"do": "delete", "answers": [error(status, code)] * 3}

    assert answer(given)["last"].startswith(last)


@pytest.mark.parametrize("spelling", ["lower", "title", "upper", "swapcase", "capitalize"])
@pytest.mark.parametrize("meta", [{"a": "b"}, {"long": "x" * 4000}])
def test_metadata_is_found_however_its_header_is_spelled(spelling, meta):
    given = {"do": ["put", "get"], "meta": meta, "answers": [{}, {"stored": spelling}]}

    assert answer(given)["last"] == f"a body {meta}"


@pytest.mark.parametrize("times", [1, 50_000])
def test_a_put_does_not_ask_before_it_sends_its_body(times):
    """A server or proxy that did not answer the question cost a second for every put."""
    result = answer({"do": "put", "times": times, "answers": [{}]})

    assert result["last"] == "done"
    assert not [line for line in result["sent headers"] if line.startswith("expect:")]
