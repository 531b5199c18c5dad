"""Sitemaps in all their forms, also in pieces."""

from __future__ import annotations

import gzip
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aragog.pages import sitemaps
from aragog.pages.feed_entries import read_entries
from aragog.pages.sitemap_dates import instant_ms
from aragog.pages.sitemaps import MAX_URLS, EntryCollector, Sitemap, SitemapUrl, parse
from tests.support.byte_streams import pieces_of
from tests.support.forked import printed

BASE = "https://shop.test/sitemap.xml"
NS = b'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


def urlset(*entries: bytes, ns: bytes = NS) -> bytes:
    head = b'<?xml version="1.0" encoding="UTF-8"?>\n<urlset ' + ns + b">"
    return head + b"".join(b"<url>" + e + b"</url>" for e in entries) + b"</urlset>"


def urls(sitemap: Sitemap) -> list[str]:
    return [entry.url for entry in sitemap.urls]


def test_urlset_gives_its_urls_with_their_dates():
    sitemap = parse(
        urlset(
            b"<loc> https://shop.test/a </loc><lastmod>2024-05-01</lastmod>"
            b"<changefreq>Weekly</changefreq><priority>0.8</priority>",
            b"<loc>https://shop.test/b</loc><priority>7</priority><changefreq>often</changefreq>",
        ),
        BASE,
    )

    assert sitemap == Sitemap(
        urls=(
            SitemapUrl("https://shop.test/a", 1_714_521_600_000, 1_714_607_999_999),
            SitemapUrl("https://shop.test/b"),
        )
    )


def test_index_gives_children():
    sitemap = parse(
        b"<sitemapindex "
        + NS
        + b"><sitemap><loc>/one.xml.gz</loc><lastmod>2024</lastmod></sitemap>"
        b"<sitemap><loc>https://shop.test/two.xml</loc></sitemap></sitemapindex>",
        BASE,
    )

    assert sitemap.urls == ()
    assert [c.url for c in sitemap.children] == [
        "https://shop.test/one.xml.gz",
        "https://shop.test/two.xml",
    ]
    assert sitemap.children[0].lastmod_ms == 1_704_067_200_000


@pytest.mark.parametrize("ns", [b"", b'xmlns="http://wrong.test/"', NS])
def test_any_namespace_is_accepted(ns):
    assert urls(parse(urlset(b"<loc>/a</loc>", ns=ns), BASE)) == ["https://shop.test/a"]


def test_urls_of_images_and_translations_are_not_pages():
    body = urlset(
        b"<loc>/a</loc>"
        b'<image:image xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">'
        b"<image:loc>/picture.jpg</image:loc></image:image>"
        b'<xhtml:link xmlns:xhtml="http://www.w3.org/1999/xhtml" rel="alternate" href="/de/a"/>'
    )

    assert urls(parse(body, BASE)) == ["https://shop.test/a"]


@pytest.mark.parametrize(
    "body",
    [
        b"https://shop.test/a\r\nhttps://shop.test/b\n\n",
        b"\xef\xbb\xbfhttps://shop.test/a\nhttps://shop.test/b",
    ],
)
def test_text_file_has_one_url_per_line(body):
    assert urls(parse(body, BASE)) == ["https://shop.test/a", "https://shop.test/b"]


def test_lines_that_are_not_urls_are_counted():
    sitemap = parse(b"hello\nhttps://shop.test/a\nhttp://[\n", BASE)

    assert (urls(sitemap), sitemap.invalid) == (["https://shop.test/a"], 2)


RSS = b"""<rss version='2.0'><channel><link>https://shop.test/</link><item><title>x</title>
<link>https://shop.test/a</link><pubDate>Wed, 01 May 2024 00:00:00 GMT</pubDate></item>
</channel></rss>"""
ATOM = b"""<feed xmlns='http://www.w3.org/2005/Atom'><link href='/feed' rel='self'/><entry>
<link rel='edit' href='/edit'/><link href='/a'/><updated>2024-05-01T02:00:00+02:00</updated>
</entry></feed>"""


@pytest.mark.parametrize("feed", [RSS, ATOM], ids=["rss", "atom"])
def test_entries_of_a_feed_are_pages(feed):
    assert parse(feed, BASE).urls == (SitemapUrl("https://shop.test/a", 1_714_521_600_000),)


def test_feed_item_may_start_with_a_link_to_its_feed():
    feed = RSS.replace(b"<item>", b"<item xmlns:a='http://www.w3.org/2005/Atom'><a:link href='/'/>")

    assert urls(parse(feed, BASE)) == ["https://shop.test/a"]


def test_file_with_the_maximum_number_of_entries_is_complete():
    body = urlset(*(b"<loc>/%d</loc>" % n for n in range(MAX_URLS)))
    lines = b"".join(b"https://shop.test/%d\n" % n for n in range(MAX_URLS))

    for sitemap in (parse(body, BASE), parse(lines, BASE)):
        assert (len(sitemap.urls), sitemap.complete) == (MAX_URLS, True)


def test_gzip_is_unpacked_with_any_number_of_members():
    body = urlset(b"<loc>/a</loc>", b"<loc>/b</loc>")

    assert parse(gzip.compress(body[:99]) + gzip.compress(body[99:]), BASE) == parse(body, BASE)


def test_truncated_gzip_gives_the_readable_entries():
    body = urlset(*(b"<loc>/%d</loc>" % n for n in range(1000)))

    sitemap = parse(gzip.compress(body)[:1500], BASE)

    assert not sitemap.complete
    assert 10 < len(sitemap.urls) < 1000


def test_truncated_file_gives_only_whole_entries():
    body = urlset(*(b"<loc>/page-%d</loc>" % n for n in range(20)))

    for cut in range(100, len(body) - 1, 7):
        sitemap = parse(body[:cut], BASE)
        assert set(urls(sitemap)) <= {f"https://shop.test/page-{n}" for n in range(20)}
        assert not sitemap.complete


def test_bare_ampersands_are_accepted():
    body = urlset(
        b"<loc>/a?x=1&y=2</loc>", b"<loc>/a?x=1&amp;y=3</loc>", b"<loc><![CDATA[/a?x=1&y=4]]></loc>"
    )

    sitemap = parse(body, BASE)

    assert urls(sitemap) == [f"https://shop.test/a?x=1&y={n}" for n in (2, 3, 4)]
    assert sitemap.complete


def test_entities_are_not_expanded():
    laughs = b"".join(b'<!ENTITY l%d "%s">' % (n, b"&l%d;" % (n - 1) * 10) for n in range(1, 30))
    files = b'<!ENTITY secret SYSTEM "file:///etc/passwd">'
    body = (
        b'<?xml version="1.0"?><!DOCTYPE urlset [<!ENTITY l0 "ha">' + laughs + files + b"]>"
        b"<urlset><url><loc>/a?&l29;</loc></url><url><loc>/b?&secret;</loc></url>"
        b"<url><loc>/c</loc></url></urlset>"
    )
    before_s = time.process_time()

    sitemap = parse(body, BASE)

    assert time.process_time() - before_s < 5
    assert all(len(url) < 100 and "root" not in url for url in urls(sitemap))
    assert "https://shop.test/c" in urls(sitemap)


def test_page_that_is_not_a_sitemap_gives_nothing():
    sitemap = parse(b"<!doctype html><title>not found</title><p>sorry<br>", BASE)

    assert (sitemap.urls, sitemap.children, sitemap.complete) == ((), (), False)


def test_entries_beyond_the_limit_of_the_protocol_are_not_read():
    body = urlset(*(b"<loc>/%d</loc>" % n for n in range(MAX_URLS + 10)))

    sitemap = parse(body, BASE)

    assert (len(sitemap.urls), sitemap.complete) == (MAX_URLS, False)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024", 1_704_067_200_000),
        ("2024-05", 1_714_521_600_000),
        (" 2024-05-01 ", 1_714_521_600_000),
        ("2024-05-01T00:00Z", 1_714_521_600_000),
        ("2024-05-01T02:00:00+02:00", 1_714_521_600_000),
        ("2024-05-01T02:00:00.123456+0200", 1_714_521_600_000),
        ("2024-05-01 00:00:00", 1_714_521_600_000),
        ("Wed, 01 May 2024 00:00:00 GMT", 1_714_521_600_000),
        ("2024-13-01", None),
        ("yesterday", None),
        ("", None),
        ("0000-00-00", None),
    ],
)
def test_dates_are_in_w3c_or_mail_format(text, expected):
    assert instant_ms(text) == expected


@given(st.binary(max_size=400))
def test_any_bytes_can_be_parsed(data):
    for body in (data, b"<urlset>" + data, b"\x1f\x8b" + data):
        assert all(entry.url.startswith("http") for entry in parse(body, BASE).urls)


@given(st.text(max_size=60))
def test_any_text_is_a_date_or_none(text):
    assert instant_ms(text) is None or isinstance(instant_ms(text), int)


_UNPACKED = 40_000_000
BOMBS = {
    "short lines": (b"", b"a\n"),
    "one url": (b"", b"http://a.test/\n"),
    "empty elements": (b"<urlset>", b"<a/>"),
    "children of an entry": (b"<urlset><url>", b"<a/>"),
    "ampersands": (b"<urlset>", b"&"),
    "open elements": (b"<urlset>", b"<a>"),
    "unterminated text": (b"<urlset><url><loc>", b"x"),
    "an unterminated tag": (b"<urlset><a ", b"b='c' "),
    "open CDATA": (b"<urlset>", b"<![CDATA["),
    "comments": (b"<urlset>", b"<!---->"),
    "blanks": (b"", b" "),
}
"""The start of each, and what it repeats."""
_MANY_EVENTS = {"empty elements", "children of an entry", "comments"}
"""A quarter of their size suffices: one kept object of 50 bytes per event would take 70 MB."""


@pytest.mark.parametrize("name", BOMBS)
def test_memory_does_not_grow_with_the_unpacked_size(name, tmp_path):
    file = tmp_path / "sitemap.gz"
    front, unit = BOMBS[name]
    size = _UNPACKED // 4 if name in _MANY_EVENTS else _UNPACKED
    file.write_bytes(gzip.compress(front + unit * (size // len(unit)), 1))
    code = (
        "import sys; from pathlib import Path; from aragog.pages import sitemaps\n"
        "def peak_kb(): return int(Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0])\n"
        "body = Path(sys.argv[1]).read_bytes(); before = peak_kb()\n"
        "found = sitemaps.parse(body, 'http://a.test/s.xml')\n"
        "print(peak_kb() - before)"
    )

    assert int(printed(code, str(file))) < 40_000


@pytest.mark.parametrize("size", [1, 7, 65_536])
def test_reference_across_two_pieces_is_read_whole(size):
    entries = "".join(
        f"<url><loc>http://a.test/{n}?a=1&amp;b&c<![CDATA[&d=]]>&#38;e</loc></url>"
        for n in range(300)
    )
    body = f"<urlset>{entries}</urlset>".encode()
    collected = EntryCollector()

    complete = read_entries(pieces_of(body, size), "http://a.test/", "utf-8", collected)

    assert complete
    assert list(collected.urls) == [f"http://a.test/{n}?a=1&b&c&d=&e" for n in range(300)]


def test_several_gzip_members_are_one_file():
    parts = [b"http://a.test/1\nhttp://a.te", b"st/2\n", b"http://a.test/3"]

    sitemap = sitemaps.parse(b"".join(map(gzip.compress, parts)), "http://a.test/")

    assert [entry.url for entry in sitemap.urls] == [f"http://a.test/{n}" for n in (1, 2, 3)]
    assert sitemap.complete


def test_file_compressed_twice_is_unpacked_twice():
    body = urlset(b"<loc>https://a.test/1</loc>")
    packed = gzip.compress(gzip.compress(body[:40])[:] + gzip.compress(body[40:]))

    sitemap = parse(packed, "https://a.test/s.xml.gz")

    assert urls(sitemap) == ["https://a.test/1"]
    assert sitemap.complete


def test_excessive_gzip_layers_are_not_unpacked():
    body = b"x"
    for _ in range(12):
        body = gzip.compress(body)

    assert urls(parse(body, "https://a.test/s.xml.gz")) == []


@pytest.mark.parametrize("size", [1, 2, 65_535, 65_536, 65_537])
def test_trailing_data_is_ignored_for_any_piece_size(size):
    body = urlset(b"<loc>https://a.test/1</loc>")
    filler = gzip.compress(b" " * size, 0)

    sitemap = parse(gzip.compress(body) + filler + b"junk", "https://a.test/s.xml.gz")

    assert urls(sitemap) == ["https://a.test/1"]


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("2024-05-01T24:00:00Z", "2024-05-02T00:00:00Z"),
        ("2024-12-31T24:00:00+02:00", "2025-01-01T00:00:00+02:00"),
        ("2024-02-29T24:00Z", "2024-03-01T00:00Z"),
    ],
)
def test_hour_24_is_midnight_of_the_next_day(text, same):
    assert instant_ms(text) == instant_ms(same) is not None


@pytest.mark.parametrize(
    "text", ["2024-05-01T24:01:00Z", "2024-05-01T24:00:01Z", "2024-05-01T25:00:00Z"]
)
def test_time_after_hour_24_is_invalid(text):
    assert instant_ms(text) is None
