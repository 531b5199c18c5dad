"""The content store with S3 servers that do not follow the standard."""

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
def test_list_that_returns_to_an_earlier_page_ends(before, cycle):
    tokens = [f"before-{n}" for n in range(before)] + [f"again-{n}" for n in range(cycle)] * 60

    result = answer({"do": "keys", "answers": [*map(page, tokens), page(more=False)]})

    assert result["last"].startswith("ContentUnavailable")
    assert len(result["requests"]) <= 4 * (before + cycle) + 2


@pytest.mark.parametrize("token", [None, ""])
@pytest.mark.parametrize("before", [0, 1])
def test_list_without_a_token_for_its_next_page_is_refused(token, before):
    pages = [page("one")] * before + [page(token)]

    assert answer({"do": "keys", "answers": pages})["last"].startswith("ContentUnavailable")


def test_list_of_many_pages_is_read_completely():
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
def test_only_a_missing_object_counts_as_deleted(status, code, last):
    given = {"do": "delete", "answers": [error(status, code)] * 3}

    assert answer(given)["last"].startswith(last)


@pytest.mark.parametrize("spelling", ["lower", "title", "upper", "swapcase", "capitalize"])
@pytest.mark.parametrize("meta", [{"a": "b"}, {"long": "x" * 4000}])
def test_metadata_is_found_in_a_header_of_any_case(spelling, meta):
    given = {"do": ["put", "get"], "meta": meta, "answers": [{}, {"stored": spelling}]}

    assert answer(given)["last"] == f"a body {meta}"


@pytest.mark.parametrize("times", [1, 50_000])
def test_put_does_not_send_an_expect_header(times):
    """Regression: a server or proxy that ignored the header cost a second per put."""
    result = answer({"do": "put", "times": times, "answers": [{}]})

    assert result["last"] == "done"
    assert not [line for line in result["sent headers"] if line.startswith("expect:")]
