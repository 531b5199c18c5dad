"""How messages look to people, in Flower and the logs."""

import pytest

from aragog.fetcher.outcome import OutcomeKind
from aragog.pipeline import messages
from aragog.pipeline.routing import MOST_SHOWN_CHARS, shown
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
def test_a_message_shows_how_many_urls_it_carries_and_the_first(message, text):
    assert shown(message.wire()) == text


def test_a_message_without_urls_shows_what_it_says():
    assert shown({"v": 1, "since_ms": 7}) == "{'v': 1, 'since_ms': 7}"


def test_a_message_is_shown_short():
    assert len(
        shown(messages.FetchBatch((messages.UrlJob(url="https://x/" + "y" * 5000),)).wire())
    ) == (MOST_SHOWN_CHARS)
