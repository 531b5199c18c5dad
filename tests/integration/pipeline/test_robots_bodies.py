"""Odd robots.txt responses with status 200 that do not close their site, over a real connection."""

from __future__ import annotations

import gzip
from dataclasses import replace

import brotli
import pytest

from aragog.bootstrap.fetch_limits import for_robots
from aragog.crawl.fetcher.fetcher import Fetcher
from aragog.crawl.politeness.robots_rules import RobotsRules
from aragog.crawl.stages.robots_outcomes import get_status_to_cache
from aragog.settings import FetchSettings
from tests.support.origin import Origin, answer

RULES = b"User-agent: *\nDisallow: /private\n"
SETTINGS = FetchSettings(
    user_agent="testbot/1.0 (+https://example.com/bot)",
    deadline_s=30.0,
    allowed_networks=("127.0.0.0/8",),
    allowed_ports=tuple(range(1024, 65536)),
)


def outcome_of(data, settings=SETTINGS):
    with (
        Origin({"/robots.txt": data}) as origin,
        Fetcher(for_robots(settings), truncate_oversized=True) as fetcher,
    ):
        return fetcher.fetch(origin.url("/robots.txt"))


def coded(body: bytes, coding: str) -> bytes:
    return answer(body=body, headers={"Content-Encoding": coding}, content_type="text/plain")


CHUNKED = answer(
    body=b"%x\r\n%b\r\n0\r\n\r\n" % (len(RULES), RULES), headers={"Transfer-Encoding": "chunked"}
)
USED = {
    "a charset": coded(RULES, "UTF-8"),
    "binary": coded(RULES, "binary"),
    "a type": coded(RULES, "text/html"),
    "compress, wrongly declared": coded(RULES, "compress"),
    "plain text as gzip": coded(RULES, "gzip"),
    "plain text as zstd": coded(RULES, "zstd"),
    "plain text as br": coded(RULES, "br"),
    "gzip, declared twice": coded(gzip.compress(RULES), "gzip, gzip"),
    "junk after gzip": coded(gzip.compress(RULES) + b"junk", "gzip"),
    "junk after br": coded(brotli.compress(RULES) + b"junk", "br"),
    "chunked with a length": CHUNKED,
    "an invalid type": answer(body=RULES, content_type="text"),
    "a picture's type": answer(body=RULES, content_type="image/png"),
    "a bomb": coded(gzip.compress(RULES + b"#" * 50_000_000), "gzip"),
    "an announced terabyte": answer(
        headers={"Content-Length": str(1 << 40)}, length=False
    ) + RULES + b"#" * 600_000,
}  # fmt: skip


@pytest.mark.parametrize("name", USED)
def test_rules_are_used(name):
    outcome = outcome_of(USED[name])

    assert get_status_to_cache(outcome) == 200, outcome
    assert not RobotsRules.parse(outcome.body).allows("testbot", "http://a.test/private")


CLOSED = {
    "binary data as gzip": coded(RULES + bytes(9), "gzip"),
    "cut": answer(headers={"Content-Length": "1000"}, length=False) + RULES,
    "a truncated stream": coded(gzip.compress(RULES * 99)[:-30], "gzip"),
    "compressed": coded(b"\x1f\x9d\x90\x01\x02\x03" + bytes(range(9)), "compress"),
    "a part": answer(206, RULES, headers={"Content-Range": "bytes 0-33/99"}),
    "another part": answer(206, RULES, headers={"Content-Range": "bytes 33-66/99"}),
}


@pytest.mark.parametrize("name", CLOSED)
def test_site_is_closed_if_rules_may_be_missing(name):
    assert get_status_to_cache(outcome_of(CLOSED[name])) is None


def test_headers_over_the_limit_close_the_site():
    data = answer(body=RULES, headers={"X-Padding": "x" * 5_000})

    assert get_status_to_cache(outcome_of(data, replace(SETTINGS, max_header_bytes=4_000))) is None
