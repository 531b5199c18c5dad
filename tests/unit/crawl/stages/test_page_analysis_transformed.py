"""A page gives the same facts in other codings, packet sizes and encodings."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from aragog.crawl.fetcher.body_limits import Bounds, collect
from aragog.crawl.fetcher.http1.decoders import decoders_for
from aragog.pages.sitemaps import parse as parse_sitemap
from richpins import document, links
from richpins.extraction import extract_from
from richpins.rich_pins import to_fields
from tests.support.byte_streams import pieces_of

DATA = Path(__file__).parents[4] / "packages" / "richpins" / "tests" / "html"
CHINESE = """<!doctype html><html lang=zh><head><meta charset=utf-8><title>葱爆豆腐的做法</title>
<link rel=canonical href="https://shop.test/菜/豆腐"><meta name=description content="简单的豆腐，二十分钟">
<script type="application/ld+json">{"@context": "https://schema.org", "@type": "Recipe", "name": "葱爆豆腐",
"recipeIngredient": ["豆腐 300克", "葱 2根"], "author": {"@type": "Person", "name": "王小明"}}</script></head>
<body><h1>葱爆豆腐</h1><p>豆腐切块，葱切段。<a href="/菜/白菜">白菜</a> <a href="/a?b=1&amp;c=2">更多</a></body></html>"""
FRENCH = """<!doctype html><html lang=fr><head><meta charset=utf-8><title>Crème brûlée – l’été</title>
<meta property="og:title" content="Crème brûlée"></head><body itemscope itemtype="https://schema.org/Product">
<h1 itemprop=name>Crème brûlée à l’ancienne</h1><span itemprop=brand>Noël</span>
<p itemprop=offers itemscope itemtype="https://schema.org/Offer"><span itemprop=price content="4.50">4,50 €</span>
<meta itemprop=priceCurrency content=EUR></p><a href="/café?x=1">Café</a></body></html>"""
PAGES = {path.stem: path.read_text("utf-8") for path in sorted(DATA.glob("*.html"))}
assert PAGES, f"no pages in {DATA}"
PAGES |= {"french": FRENCH, "chinese": CHINESE}
URL = "https://shop.test/p/1"


def fitting(text: str, codec: str) -> str:
    """The text with characters replaced that the encoding lacks."""
    return "".join(c if c.encode(codec, "ignore") else "é" for c in text)


def facts(body: bytes, content_type: str | None) -> tuple[object, ...]:
    """The facts of a page: its pin, its links and its title."""
    page = document.parse(body, url=URL, content_type=content_type)
    fields = {name: json.loads(value) for name, value in to_fields(extract_from(page))[0].items()}
    return fields, links.extract(page), page.title


@cache
def plain_facts(text: str) -> tuple[object, ...]:
    return facts(text.encode(), "text/html; charset=utf-8")


CHARSETS = {
    "utf-16le": "utf-16-le",
    "utf-16be": "utf-16-be",
    "windows-1252": "cp1252",
    "gb18030": "gb18030",
    "utf-8": "utf-8",
}


DECLARED = [
    *((charset, "header") for charset in CHARSETS),
    *((charset, "mark") for charset in CHARSETS if charset.startswith("utf")),
    *((charset, "meta") for charset in CHARSETS if not charset.startswith("utf-16")),
]


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize(("charset", "way"), DECLARED)
def test_facts_do_not_depend_on_the_encoding(name, charset, way):
    codec = CHARSETS[charset]
    text = fitting(PAGES[name], codec) if codec == "cp1252" else PAGES[name]
    declared = re.sub(r"charset=[\"']?utf-8[\"']?", f"charset={charset}", text, flags=re.IGNORECASE)
    if way == "header":
        body, content_type = text.encode(codec), f"text/html; charset={charset}"
    elif way == "mark":
        body, content_type = ("\ufeff" + text).encode(codec), "text/html; charset=windows-1252"
    else:
        body, content_type = declared.encode(codec), "text/html"

    assert facts(body, content_type) == plain_facts(text)


def raw_deflate(data: bytes) -> bytes:
    return zlib.compress(data)[2:-4]


def members(compress: Callable[[bytes], bytes], data: bytes) -> bytes:
    """The data as several gzip members or zstd frames."""
    third = len(data) // 3
    return b"".join(map(compress, (data[:third], data[third : 2 * third], data[2 * third :])))


CODERS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "identity": ("", bytes),
    "no coding": ("utf-8", bytes),
    "gzip": ("gzip", gzip.compress),
    "gzip members": ("gzip", partial(members, gzip.compress)),
    "deflate": ("deflate", zlib.compress),
    "raw deflate": ("deflate", raw_deflate),
    "br": ("br", brotli.compress),
    "zstd": ("zstd", zstandard.compress),
    "zstd frames": ("zstd", partial(members, zstandard.compress)),
    "br in gzip": ("br, gzip", lambda data: gzip.compress(brotli.compress(data))),
}


def received(data: bytes, coder: str, size: int, after: bytes = b"") -> bytes:
    """The decoded body of a response in that coding, received in packets of `size` bytes."""
    names, compress = CODERS[coder]
    decoders = decoders_for([name for name in names.split(", ") if name], ())
    packed = compress(data) + (after if decoders else b"")
    return collect(pieces_of(packed, size), decoders, Bounds(10_000_000, 10_000_000)).data


@pytest.mark.parametrize("name", ["french", "chinese", "recipe_graph"])
@pytest.mark.parametrize("coder", CODERS)
@pytest.mark.parametrize("size", [1, 1460, 65_536])
def test_facts_do_not_depend_on_the_coding_or_packet_size(name, coder, size):
    body = received(PAGES[name].encode("gb18030"), coder, size, after=b"\n<!-- cached -->")

    assert facts(body, "text/html; charset=gb18030") == plain_facts(PAGES[name])


@given(st.sampled_from(sorted(CODERS)), st.integers(1, 3000), st.binary(max_size=30))
def test_body_does_not_depend_on_packets_or_trailing_bytes(coder, size, after):
    assert received(CHINESE.encode(), coder, size, after) == CHINESE.encode()


FILES = {
    "urlset": "<urlset><url><loc>https://shop.test/café?a=1&amp;b=2</loc>"
              "<lastmod>2024-05-01</lastmod></url></urlset>",
    "index": "<sitemapindex><sitemap><loc>https://shop.test/café.xml?a=1&amp;b=2</loc></sitemap></sitemapindex>",
    "rss": "<rss><channel><item><link>https://shop.test/café?a=1&amp;b=2</link>"
           "<pubDate>Wed, 01 May 2024 00:00:00 GMT</pubDate></item></channel></rss>",
    "atom": "<feed xmlns='http://www.w3.org/2005/Atom'><entry><link href='/café?a=1&amp;b=2'/>"
            "<updated>2024-05-01T02:00:00+02:00</updated></entry></feed>",
    "text": "https://shop.test/café?a=1&b=2\nhttps://shop.test/2\n",
}  # fmt: skip


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("charset", CHARSETS)
@pytest.mark.parametrize("coder", CODERS)
def test_sitemap_does_not_depend_on_encoding_or_coding(kind, charset, coder):
    plain = parse_sitemap(FILES[kind].encode(), URL)
    body = received(FILES[kind].encode(CHARSETS[charset]), coder, 7, after=b"\0\0")

    sitemap = parse_sitemap(body, URL, f"application/xml; charset={charset}")

    assert sitemap == plain
    assert sitemap.urls or sitemap.children
    assert all(
        "caf%C3%A9" in e.url or e.url.endswith("/2") for e in sitemap.urls + sitemap.children
    )
