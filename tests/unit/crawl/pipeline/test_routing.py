"""How messages are shown in Flower and logs, and serialized for workers."""

from uuid import UUID

import pytest
from kombu.serialization import dumps, loads

from aragog.crawl.pipeline import messages
from aragog.crawl.pipeline.routing import MAX_SHOWN_CHARS, SERIALIZER, describe
from aragog.fetch_record.outcome import OutcomeKind
from tests.support.fetch_results import fetch_result

JOBS = tuple(messages.UrlJob(url=f"https://example.org/{name}") for name in "abcd")


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (messages.FetchBatch(JOBS[:1]), "1 urls: https://example.org/a"),
        (
            messages.FetchBatch(JOBS),
            "4 urls: https://example.org/a, https://example.org/b, https://example.org/c, …",
        ),
        (messages.PageBatch("t", JOBS[:1], ("body",) * 500), "1 urls: https://example.org/a"),
        (
            messages.ResultBatch(
                (
                    fetch_result(
                        job=JOBS[1], outcome=OutcomeKind.GONE, final_url="https://example.org/z"
                    ),
                )
            ),
            "1 results: https://example.org/b",
        ),
        (messages.RobotsBatch(("https://example.org",)), "1 origins: https://example.org"),
        (messages.RobotsBatch(("https://example.org",), JOBS[:1]), "1 urls: https://example.org/a"),
    ],
)
def test_message_is_shown_with_its_number_of_urls_and_the_first(message, text):
    assert describe(message.wire()) == text


def test_message_without_urls_is_shown_as_its_content():
    assert describe({"v": 1, "since_ms": 7}) == "{'v': 1, 'since_ms': 7}"


def test_long_message_is_shortened():
    assert len(
        describe(messages.FetchBatch((messages.UrlJob(url="https://x/" + "y" * 5000),)).wire())
    ) == (MAX_SHOWN_CHARS)


@pytest.mark.parametrize(
    "value",
    [
        {"url": "https://example.org/ä", "headers": (("ETag", '"x"'),), "ms": 1.5, "n": None},
        "\udcff of a header that is not text",
        1 << 70,
        {1: "a name that is a number"},
    ],
)
def test_message_decodes_the_same_as_from_kombu(value):
    kind, encoding, text = dumps(value, serializer=SERIALIZER)
    theirs = dumps(value, serializer="json")

    assert (kind, encoding) == theirs[:2]
    assert loads(text, kind, encoding, accept=["application/json"]) == loads(theirs[2], *theirs[:2])


def test_messages_of_other_tasks_keep_their_types():
    one = UUID(int=1)
    kind, encoding, text = dumps(one, serializer="json")

    assert loads(text, kind, encoding) == one
