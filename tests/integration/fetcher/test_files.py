"""Files of items are fetched with their declared type, if that type is accepted."""

from dataclasses import replace

import pytest

from aragog.bootstrap.fetch_limits import for_files
from aragog.crawl.fetcher.fetcher import Fetcher
from aragog.fetch_record.outcome import OutcomeKind
from aragog.settings import FetchSettings
from tests.support.origin import Origin, answer

WEBP = b"RIFF\x10\x00\x00\x00WEBPVP8 " + bytes(range(256)) * 3
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
SETTINGS = FetchSettings(
    user_agent="examplebot/1.0 (+https://example.com/bot)", max_wire_bytes=10_000
)


@pytest.mark.parametrize(
    ("content_type", "body", "outcome"),
    [
        ("image/png", PNG, OutcomeKind.FETCHED),
        ("image/webp", WEBP, OutcomeKind.FETCHED),
        (None, PNG, OutcomeKind.FETCHED),
        (None, WEBP, OutcomeKind.UNREADABLE),
        ("text/html", b"<h1>not found</h1>", OutcomeKind.UNREADABLE),
        ("application/octet-stream", PNG, OutcomeKind.UNREADABLE),
        ("image/png", PNG * 100, OutcomeKind.TOO_LARGE),
    ],
)
def test_file_has_one_of_the_accepted_types(content_type, body, outcome):
    """WebP with its correct type was refused as binary."""
    with Origin({"//files.test/": answer(200, body, content_type=content_type)}) as origin:
        settings = replace(for_files(SETTINGS), host_map={"files.test": origin.address})
        with Fetcher(settings, trust_declared_types=True) as fetcher:
            found = fetcher.fetch("http://files.test/")

    assert found.outcome is outcome
    assert outcome is not OutcomeKind.FETCHED or found.body == body
