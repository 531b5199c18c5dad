"""
Misbehaving pages through the whole system: an outcome for each, no traceback, nothing left over.
"""

import json
import re

import pytest

from aragog.bootstrap.stores import url_store
from aragog.client import Aragog
from pinlater.admin import Admin
from tests.support.misbehaviour import misbehaviour
from tests.support.origin import HELLO, Origin, answer, page
from tests.support.standalone import standalone

pytestmark = [pytest.mark.redis, pytest.mark.slow]

PLAIN_PATHS = (
    "drip", "stall", "silent", "cut", "cut-chunk", "reset", "reset-at-once", "close-at-once",
    "lies-short", "endless", "endless-chunks", "huge-length", "endless-headers", "endless-interim",
    "half-headers", "slow-headers", "garbage", "http09", "bomb/gzip", "bomb/deflate", "bomb/br",
    "bomb/zstd", "bomb/nested", "loop", "loop/a", "chain/20", "busy", "busy-date", "unavailable",
    "status/418", "status/500", "pdf", "binary", "empty", "untyped", "cookie",
)  # fmt: skip
NESTED = b"<div>" * 60_000 + b"deep" + b"</div>" * 60_000
PAGES = {
    "fifty-megabytes": page(b"<p>" + b"x" * 50_000_000),
    "utf-16-that-says-utf-8": page("<title>wide</title>".encode("utf-16")),
    "no-such-charset": answer(200, HELLO, content_type="text/html; charset=klingon"),
    "wrong-coding": answer(200, HELLO, headers={"Content-Encoding": "gzip"}),
    "unknown-coding": answer(200, HELLO, headers={"Content-Encoding": "sdch"}),
    "bad-json-ld": page(b'<script type="application/ld+json">{"@type": [[[}</script>' * 50),
    "deep": page(NESTED),
    "deep-json-ld": page(b'<script type="application/ld+json">' + b"[" * 50_000 + b"</script>"),
    "many-links": page(b"".join(b'<a href="/l%d">x</a>' % n for n in range(20_000))),
    "bad-links": page(b'<base href="http://["><a href="http://[::1">x</a><a href="\x00\xff">y</a>'),
    "bad-canonical": page(b'<link rel="canonical" href="http://%zz\xff\x00/">' + HELLO),
    "nul-bytes": page(b"<title>\x00\x01\x02</title>" + bytes(10_000)),
    "bad-redirect": answer(302, headers=(("Location", "http://[nope"),)),
    "odd-headers": page(HELLO, headers=(("X-\xff", "\x01\xfe"), ("Link", "<<<>;;rel=canonical"))),
    "xml": answer(
        200, b"<?xml version='1.0'?><!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;", content_type="text/xml"
    ),
}
SETTINGS = {
    "ARAGOG_FETCH__USER_AGENT": "aragog-test/1.0 (+http://127.0.0.1/)",
    # Long enough for a busy machine to decompress a bomb up to the cap; two pages last until the
    # deadline.
    "ARAGOG_FETCH__DEADLINE_S": "15",
    "ARAGOG_FETCH__READ_TIMEOUT_S": "3",
    "ARAGOG_FETCH__MAX_WIRE_BYTES": "4000000",
    "ARAGOG_FETCH__MAX_BODY_BYTES": "6000000",
    "ARAGOG_PIPELINE__MAX_ATTEMPTS": "1",
    "ARAGOG_POLITENESS__ROBOTS_ERROR_S": "1",
}


@pytest.fixture(scope="module")
def crawl():
    """One host for every page, crawled once: the facts in the store by name, logs, FAILED jobs."""
    names = {name.replace("/", "-"): f"/{name}" for name in PLAIN_PATHS}
    names |= {name: f"/{name}" for name in PAGES}
    urls = {
        name: f"http://{name}.odd-{n}.test{path}" for n, (name, path) in enumerate(names.items())
    }
    handlers = misbehaviour() | {f"/{name}": body for name, body in PAGES.items()}
    with Origin(handlers) as origin:
        environ = {**SETTINGS, "ARAGOG_FETCH__HOST_MAP": f"*.test={origin.address}"}
        with standalone(environ) as system, Aragog(system.settings) as client:
            client.enqueue(urls.values())
            system.finish(client)
            store = url_store(system.settings)
            records = store.get_many(list(urls.values()))
            store.close()
            broker = system.settings.resolved().broker
            failed = {s.queue: s.sizes.failed for s in Admin.connect(broker.url).statuses()}
            yield dict(zip(urls, records, strict=True)), system.logs(), failed


def test_every_url_has_an_outcome_in_the_store(crawl):
    records, _, _ = crawl

    assert [name for name, record in records.items() if record is None] == []
    assert all(record.facts["outcome"] for record in records.values())


@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        ("binary", "Unreadable"),
        ("pdf", "Unreadable"),
        ("empty", "Fetched"),
        ("fifty-megabytes", "TooLarge"),
        ("garbage", "Unreachable"),
        ("silent", "Unreachable"),
        ("busy", "Busy"),
        ("loop", "Unreachable"),
        ("untyped", "Fetched"),
        ("deep", "Fetched"),
        ("many-links", "Fetched"),
        ("no-such-charset", "Fetched"),
        ("bad-json-ld", "Fetched"),
    ],
)
def test_outcome_matches_the_misbehavior(crawl, name, outcome):
    facts = crawl[0][name].facts

    assert facts["outcome"] == outcome
    assert outcome == "Fetched" or facts["reason"]


@pytest.mark.parametrize("name", ["endless", "endless-chunks"])
def test_beginning_of_an_endless_page_is_kept_and_marked(crawl, name):
    facts = crawl[0][name].facts

    assert facts["outcome"] == "Fetched"
    assert facts["truncated"]


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd", "nested"])
def test_decompression_bomb_is_kept_only_up_to_the_cap(crawl, coding):
    facts = crawl[0][f"bomb-{coding}"].facts

    assert facts["outcome"] in {"Fetched", "TooLarge", "Unreadable"}
    assert facts["outcome"] != "Fetched" or facts["truncated"]
    assert facts.get("bytes", 0) <= 6_000_000


def test_truncated_page_is_kept_and_marked(crawl):
    for name in ("cut", "cut-chunk"):
        facts = crawl[0][name].facts

        assert facts["outcome"] in {"Fetched", "Unreachable"}
        assert facts.get("truncated") or facts["outcome"] == "Unreachable"


def test_no_worker_saw_an_exception_and_no_batch_was_given_up(crawl):
    _, logs, failed = crawl

    assert not re.search(r"Traceback|raised unexpected|Segmentation", logs), logs[-6000:]
    assert not any(failed.values()), json.dumps(failed)
