"""HTTP details of responses: compression, ETags, ranges, caching, and pages of other origins."""

import gzip

import orjson
import pytest
import zstandard

from aragog.api.server.http.compression import coding_for
from tests.support.api_server import running
from tests.support.stores import body, page, store_harness
from zengraph.tables.memory import MemoryTables

A, B, C = "http://a.example/", "http://b.example/", "http://c.example/"
AT = f"/v1/urls?url={A}&include="
TAGGED = [
    f"{AT}&fields=team.long", f"{AT}&fields=page.title", f"/v1/urls?url={A}",
    f"/v1/content?url={B}", f"/v1/content?url={C}",
]  # fmt: skip
"""Large and small responses with an ETag, of each implementation."""
APP = "https://app.example.com"


@pytest.fixture(scope="module")
def api():
    harness = store_harness(MemoryTables())
    harness.store.write_pages([page(A, fields={"page.title": b'"A"'}, content=body("0123456789"))])
    harness.store.put(A, {"team.long": b"x" * 5000, "team.big": b"y" * 200_000})
    harness.store.put_content(B, b"0123456789", {"content_type": "text/plain"})
    harness.store.put_content(C, b"<p>long " * 1000, {"content_type": "text/html"})
    with running(harness.store, cors_origins=(APP,)) as running_api:
        yield running_api


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("gzip, zstd", "zstd"), ("gzip", "gzip"), ("zstd;q=0, gzip;q=0.5", "gzip"),
        ("br", None), ("", None), ("gzip;q=0.000", None), ("GZIP", "gzip"), ("*", None),
    ],
)  # fmt: skip
def test_response_coding_is_one_that_the_client_accepts(accepted, coding):
    assert coding_for(accepted) == coding


@pytest.mark.parametrize("fields", ["team.long", "team.big"])
@pytest.mark.parametrize(
    ("coding", "decode"),
    [
        ("gzip", gzip.decompress),
        ("zstd", lambda data: zstandard.ZstdDecompressor().decompress(data, 10**7)),
    ],
)
def test_large_response_is_compressed_on_request(api, coding, decode, fields):
    plain = api.get(f"{AT}&fields={fields}")
    packed = api.get(f"{AT}&fields={fields}", Accept_Encoding=coding)

    assert packed.headers["content-encoding"] == coding
    assert len(packed.body) < len(plain.body) / 10
    assert decode(packed.body) == plain.body
    assert "accept-encoding" in packed.headers["vary"].lower()
    assert packed.headers["etag"] != plain.headers["etag"]


def test_etag_of_a_compressed_response_is_recognized(api):
    packed = api.get(AT, Accept_Encoding="gzip")

    again = api.get(AT, Accept_Encoding="gzip", If_None_Match=packed.headers["etag"])
    written = api.ask("PATCH", f"/v1/urls?url={A}", {"fields": {}}, If_Match=packed.headers["etag"])

    assert (again.status, again.body) == (304, b"")
    assert written.status == 200


def test_small_response_and_range_are_not_compressed(api):
    small = api.get(f"{AT}&fields=page.title", Accept_Encoding="gzip")
    part = api.get(f"/v1/content?url={A}", Accept_Encoding="gzip", Range="bytes=2-4")

    assert "content-encoding" not in small.headers
    assert (part.status, part.body) == (206, b"234")


def test_content_has_an_etag_for_caches_and_ranges(api):
    whole = api.get(f"/v1/content?url={A}")
    tag = whole.headers["etag"]

    assert api.get(f"/v1/content?url={A}", If_None_Match=tag).status == 304
    assert api.get(f"/v1/content?url={A}", Range="bytes=0-1", If_Range=tag).body == b"01"
    assert api.get(f"/v1/content?url={A}", Range="bytes=0-1", If_Range='"old"').status == 200
    assert whole.headers["cache-control"] == "private, no-cache"


def test_range_applies_only_to_get_and_after_conditions(api):
    path = f"/v1/content?url={A}"
    tag = api.get(path).headers["etag"]

    assert api.ask("HEAD", path, Range="bytes=0-1").status == 200
    assert api.get(path, Range="bytes=99-", If_None_Match=tag).status == 304
    assert api.get(path, Range="Bytes=0-1").body == b"01"


def test_responses_have_cache_control(api):
    assert api.get("/healthz").headers["cache-control"] == "no-store"
    assert api.get(AT).headers["cache-control"] == "private, no-cache"


def test_only_pages_of_allowed_origins_may_use_the_api(api):
    ask = {"Access_Control_Request_Method": "PUT", "Access_Control_Request_Headers": "content-type"}
    allowed = api.ask("OPTIONS", AT, Origin=APP, **ask)
    refused = api.ask("OPTIONS", AT, Origin="https://evil.test", **ask)
    read = api.get(AT, Origin=APP)
    failed = api.get("/v1/urls", Origin=APP)

    assert allowed.status == 200
    assert allowed.headers["access-control-allow-origin"] == APP
    assert "access-control-allow-origin" not in refused.headers
    assert read.headers["access-control-allow-origin"] == APP
    assert (failed.status, failed.headers["access-control-allow-origin"]) == (400, APP)
    assert orjson.loads(failed.body)["status"] == 400


@pytest.mark.parametrize(
    ("accept", "html"),
    [
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", True),
        ("text/html;q=0.1", True),
        ("application/json, Text/HTML", True),
        ("application/json\r\nAccept: text/html", True),
        ("text/html;q=0, application/json", False),
        ("text/html;level=1; q=0.000", False),
        ("application/json, text/html;q=0.5", False),
        ("text/html;q=x", False),
        ("text/html;q=nan", False),
        ("text/htmlx", False),
        ("*/*", False),
        ("", False),
    ],
)
def test_front_page_has_the_format_that_the_client_prefers(api, accept, html):
    kind = api.get("/", Accept=accept).headers["content-type"]

    assert kind.startswith("text/html" if html else "application/json")


@pytest.mark.parametrize("accepted", ["gzip", "zstd", "br", ""])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize(
    "path", [f"{AT}&fields=team.long", f"{AT}&fields=page.title", f"/v1/links?url={A}", "/metrics"]
)
def test_compressible_response_has_vary(api, method, path, accepted):
    """
    A cache with the uncompressed response must ask again for clients that accept a different
    coding.
    """
    response = api.ask(method, path, None, Accept_Encoding=accepted)

    assert response.status == 200
    assert "accept-encoding" in response.headers["vary"].lower()


@pytest.mark.parametrize("accepted", ["gzip", ""])
def test_partial_and_unchanged_responses_have_the_same_vary(api, accepted):
    tag = api.get(AT, Accept_Encoding=accepted).headers["etag"]
    same = api.get(AT, Accept_Encoding=accepted, If_None_Match=tag)
    part = api.get(f"/v1/content?url={B}", Accept_Encoding=accepted, Range="bytes=2-4")

    assert (same.status, part.status) == (304, 206)
    for response in (same, part):
        assert "accept-encoding" in response.headers["vary"].lower()


@pytest.mark.parametrize("spelled", ["{}", "W/{}", '"other" , {}', '"other"\r\nIf-None-Match: {}'])
@pytest.mark.parametrize("accepted", ["gzip", "zstd", "zstd, gzip", "br", "", "gzip;q=0"])
@pytest.mark.parametrize("path", TAGGED)
def test_304_has_the_tag_and_caching_headers_of_the_200_that_the_client_has(
    api, path, accepted, spelled
):
    """A 304 with a different tag, so that caches kept the old response as stale."""
    got = api.get(path, Accept_Encoding=accepted)
    tag = got.headers["etag"]

    again = api.get(path, Accept_Encoding=accepted, If_None_Match=spelled.format(tag))

    assert (got.status, again.status, again.body) == (200, 304, b"")
    same = ("etag", "cache-control", "vary", "content-location")
    assert [again.headers.get(name) for name in same] == [got.headers.get(name) for name in same]


@pytest.mark.parametrize("path", TAGGED)
def test_compressed_body_that_the_client_does_not_accept_anymore_is_sent_again(api, path):
    packed = api.get(path, Accept_Encoding="gzip").headers["etag"]
    plain = api.get(path).headers["etag"]

    without = api.get(path, If_None_Match=packed)
    other = api.get(path, Accept_Encoding="zstd", If_None_Match=packed)
    both = api.get(path, Accept_Encoding="zstd, gzip", If_None_Match=packed)
    uncompressed = api.get(path, Accept_Encoding="gzip", If_None_Match=plain)

    changed = 304 if packed == plain else 200
    assert [without.status, other.status, both.status] == [changed, changed, 304]
    assert (uncompressed.status, uncompressed.headers["etag"]) == (304, plain)


@pytest.mark.parametrize("accepted", ["gzip", "zstd", ""])
@pytest.mark.parametrize("path", TAGGED)
def test_head_has_the_headers_of_get(api, path, accepted):
    """A HEAD with a different tag and length, so that caches dropped what they had stored."""
    got = api.get(path, Accept_Encoding=accepted)
    head = api.ask("HEAD", path, Accept_Encoding=accepted)

    assert head.body == b""
    assert {**head.headers, "date": ""} == {**got.headers, "date": ""}


@pytest.mark.parametrize(
    ("header", "length"),
    [
        ("bytes=2-5", 4), ("Bytes = 2 - 5", 4), ("bytes=2-5,", 4), ("bytes= ,2-5 , ", 4),
        ("bytes=-4", 4), ("bytes=6-", 4), ("bytes=0-99", 10), ("bytes=-99", 10),
        ("bytes=1 0-1 9", 10), ("bytes=2-5 and more", 10), ("bytes=1_0-19", 10),
        ("bytes=٢-٥", 10), ("bytes=+2-5", 10), ("bytes=0x2-5", 10), ("bytes=5-2", 10),
        ("bytes=2-3,5-6", 10), ("items=2-5", 10), ("bytes=", 10), ("bytes=-", 10),
    ],
)  # fmt: skip
def test_range_is_used_if_it_is_a_valid_one(api, header, length):
    """Blanks within numbers were removed, so that 1 0-1 9 was read as 10-19."""
    got = api.get(f"/v1/content?url={B}", Range=header.encode().decode("latin-1"))

    assert got.status in (200, 206)
    assert (len(got.body), "content-range" in got.headers) == (length, got.status == 206)
