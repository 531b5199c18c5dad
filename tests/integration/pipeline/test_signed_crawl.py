"""A crawl with a key: every request is signed, whichever part of aragog sends it."""

from __future__ import annotations

import os

import pytest

from aragog.crawl.identity.keys import read_keys
from aragog.crawl.stages.enqueue_options import EnqueueOptions
from aragog.settings import RenderingSettings
from tests.support.chromium import chromium_or_skip
from tests.support.origin import answer, page, redirect
from tests.support.signatures import assert_verified, identity

pytestmark = pytest.mark.redis

SITEMAP = b"""<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<url><loc>http://plain.test/moved</loc></url><url><loc>http://plain.test/busy?n=1</loc></url></urlset>"""
SCRIPTED = b"""<!doctype html><title>plain</title><script src=/app.js></script>"""
APP = b"""fetch("/data").then(r => r.text()).then(text => { document.title = text; });"""


def test_pages_redirects_retries_robots_sitemaps_and_resources_are_signed(crawl_harness, tmp_path):
    settings = identity(tmp_path)
    busy = iter([answer(503, headers=(("Retry-After", "0"),))])
    harness = crawl_harness(
        {
            "/sitemap.xml": answer(200, SITEMAP, content_type="application/xml"),
            "/moved": redirect("http://other.test/there?a=b"),
            "//other.test/there": page(b"<title>there</title>"),
            "/busy": lambda _request, _wire: next(busy, page(b"<title>quiet</title>")),
            "//shop.test/": page(SCRIPTED),
            "/app.js": answer(200, APP, content_type="text/javascript"),
            "/data": answer(200, b"rendered", content_type="text/plain"),
        },
        allowed_networks=(),
        identity=settings,
        retry_first_s=0.05,
        # Chromium's own sandbox needs a user other than root.
        rendering=RenderingSettings(
            hosts=("shop.test",), browser=chromium_or_skip(), sandbox=os.geteuid() != 0
        ),
    )

    harness.crawl(["http://plain.test/sitemap.xml"], EnqueueOptions(sitemap=True, depth=1))
    harness.crawl(["http://shop.test/"], EnqueueOptions())

    assert harness.urls.get("http://shop.test/").fields["page.title"] == b'"rendered"'
    assert harness.urls.get("http://plain.test/busy?n=1").fields["page.title"] == b'"quiet"'
    sent = [f"{request.host}{request.target}" for request in harness.origin.seen]
    assert sorted(sent) == [
        "other.test/robots.txt",
        "other.test/there?a=b",
        "plain.test/busy?n=1",
        "plain.test/busy?n=1",
        "plain.test/moved",
        "plain.test/robots.txt",
        "plain.test/sitemap.xml",
        "shop.test/",
        "shop.test/app.js",
        "shop.test/data",
        "shop.test/robots.txt",
    ]
    assert_verified(harness.origin.seen, read_keys(settings.key))
    assert len({request.header("signature") for request in harness.origin.seen}) == len(sent)
