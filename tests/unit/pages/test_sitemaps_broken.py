"""Malformed sitemaps and feeds: a fault may lose an entry, but never changes one."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aragog.pages.sitemaps import Sitemap, parse

BASE = "https://shop.test/sitemap.xml"
NS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
URLS = [f"https://shop.test/a.php?id={n}&lang=en" for n in range(3)]
ENTRIES = [
    f"<url><loc>https://shop.test/a.php?id={n}&amp;lang=en</loc><lastmod>2024-05-01</lastmod></url>"
    for n in range(3)
]
HEAD, TAIL = f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset {NS}>', "</urlset>"
WHOLE = f"{HEAD}{''.join(ENTRIES)}{TAIL}"


def urls(sitemap: Sitemap) -> list[str]:
    return [entry.url for entry in sitemap.urls]


def after(fault: str) -> bytes:
    """A file with a fault between its first and second entries."""
    return f"{HEAD}{ENTRIES[0]}{fault}{''.join(ENTRIES[1:])}{TAIL}".encode(
        "utf-8", "surrogateescape"
    )


@pytest.mark.parametrize(
    "fault",
    [
        "\x01", "\udce9", "\udcff\udcfe", "<!-- a -- b -->", "<!--->-->", "</wrong>", "</url>",
        "<url>", "<url><lastmod>", "<url></loc></url>", "&nbsp;", "&", "&#xD800;", "&#0;", "<", "< >",
        "<5>", "<a b=c>", '<a b="c>', "<?php echo 1 ?>", "<?xml version='1.0'?>", "]]>", "\ufeff",
        "<url><lastmod>&#xD800;</lastmod></url>", "<br>", "<p>text", "<!DOCTYPE a [ <!ENTITY b 'c'> ]>",
    ],
)  # fmt: skip
def test_fault_between_two_entries_changes_neither(fault):
    sitemap = parse(after(fault), BASE)

    assert urls(sitemap) == URLS
    assert all(entry.lastmod_ms == 1_714_521_600_000 for entry in sitemap.urls)


@pytest.mark.parametrize("start", ["\n\n", " ", "\ufeff", "\ufeff\ufeff", "\ufeff\n\ufeff", "\0",
                                   "Warning: mysql_connect() on line 3\n", "<br />\n<b>Notice</b>: x",
                                   "<!-- a -- b -->"])  # fmt: skip
def test_text_before_the_declaration_hides_nothing(start):
    assert urls(parse((start + WHOLE).encode(), BASE)) == URLS


@pytest.mark.parametrize(
    "spoiled",
    ["\x01", "\udce9", "&nbsp;", "&nosuch;", "&copy;", "&#xD800;", "&#0;", "&#x110000;", "&#", "&#b;", "<",
     "<b", "<b>", "<b/>", "</b>", "<loc>", "&amph", "\x85"],
)  # fmt: skip
def test_fault_inside_a_location_loses_only_that_entry(spoiled):
    text = WHOLE.replace("id=1", f"id=1{spoiled}").encode("utf-8", "surrogateescape")

    sitemap = parse(text, BASE)

    assert urls(sitemap) == [URLS[0], URLS[2]]
    assert sitemap.invalid >= 1
    assert not sitemap.complete


PLACES = st.integers(0, len(WHOLE))
FAULTS = st.sampled_from(
    ["\x01", "\udcff", "&nbsp;", "&#xD800;", "<", "<b", "<b>", "</b>", "<!-- - -->", "<!--", "<loc>", "<url>",
     "</url>", "<?", "<![CDATA[", "]]>", '"', "'", "=", "<a b='", "</urlset>", "<lastmod>", "<x:loc>"]
)  # fmt: skip
IN_A_URL = ['"', "'", "=", "]]>"]
"""They are correctly read as part of a URL there."""


@given(st.lists(st.tuples(PLACES, FAULTS), min_size=1, max_size=4), PLACES)
def test_no_fault_creates_a_url_that_is_not_listed(faults, cut):
    text = WHOLE
    for at, fault in sorted(faults, reverse=True):
        in_url = (
            text[:at].rpartition(">")[0].endswith("<loc")
            and "<" not in text[:at].rpartition(">")[2]
        )
        if not (in_url and fault in IN_A_URL) and not (in_url and fault == "<!-- - -->"):
            text = text[:at] + fault + text[at:]

    for part in (text, text[: len(text) - cut]):
        found = urls(parse(part.encode("utf-8", "surrogateescape"), BASE))
        assert set(found) <= set(URLS)


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("<url><loc>/1</loc><loc>/2</loc></url>", ["/1", "/2"]),
        ("<loc>/1</loc><loc>/2</loc>", ["/1", "/2"]),
        ("<url><loc>/1</loc><url><loc>/2</loc></url>", ["/1", "/2"]),
        ("<url><lastmod>2024<loc>/1</loc></url>", ["/1"]),
        ("<url><loc>/1</lok></url><url><loc>/2</loc></url>", ["/2"]),
        ("<url><loc>/1<lastmod>2024</lastmod></url><url><loc>/2</loc></url>", ["/2"]),
        ("<url><loc>/1</loc ></url >", ["/1"]),
        ("<url><loc>\n  /1\n</loc></url>", ["/1"]),
        ("<url><loc><![CDATA[ /1?a=1&amp;b ]]></loc></url>", ["/1?a=1&amp;b"]),
        ("<url><loc>/1?a&#61;1&#x26;b=&lt;</loc></url>", ["/1?a=1&b=%3C"]),
        ("<url><loc>shop.test/1</loc></url>", []),
        ("<url><loc>undefined</loc></url>", []),
        ("<url><loc></loc></url><url/>", []),
        ("<url id='a>b'><loc>/1</loc></url>", ["/1"]),
    ],
)
def test_locations_are_found_anywhere(entry, expected):
    sitemap = parse(f"{HEAD}{entry}{TAIL}".encode(), BASE)

    assert urls(sitemap) == [f"https://shop.test{path}" for path in expected]


IMAGE = 'xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'


@pytest.mark.parametrize(
    "image",
    [
        f"<image:image {IMAGE}><image:loc>/i.jpg</image:loc></image:image>",
        f"<image:loc {IMAGE}>/i.jpg</image:loc>",
        "<image:loc>/i.jpg</image:loc>",
        '<image xmlns="http://www.google.com/schemas/sitemap-image/1.1"><loc>/i.jpg</loc></image>',
        "<image><loc>/i.jpg</loc></image>",
    ],
)
def test_location_of_an_image_is_not_a_page(image):
    body = f"{HEAD}<url>{image}<loc>/1</loc>{image}</url>{TAIL}"

    assert urls(parse(body.encode(), BASE)) == ["https://shop.test/1"]


def test_prefix_for_the_sitemap_namespace_is_accepted():
    body = (
        "<s:urlset xmlns:s='http://www.sitemaps.org/schemas/sitemap/0.9'><s:url><s:loc>/1</s:loc>"
    )

    assert urls(parse(body.encode(), BASE)) == ["https://shop.test/1"]


def test_entry_truncated_after_its_location_counts():
    for cut in range(WHOLE.index("id=2"), len(WHOLE)):
        found = urls(parse(WHOLE[:cut].encode(), BASE))
        assert found == (URLS if "</loc>" in WHOLE[WHOLE.index("id=2") : cut] else URLS[:2])


def test_children_of_an_index_after_a_fault_are_unchanged():
    index = "<sitemapindex>\x01<sitemap><loc>/map.php?type=post&amp;page=1</loc></sitemap>"

    (child,) = parse(index.encode(), BASE).children

    assert child.url == "https://shop.test/map.php?page=1&type=post"


ATOM = "<feed xmlns='http://www.w3.org/2005/Atom' {0}><entry {1}><link href='{2}'/></entry></feed>"


@pytest.mark.parametrize(
    ("on_feed", "on_entry", "href", "url"),
    [
        ("xml:base='https://shop.test/blog/'", "", "1", "https://shop.test/blog/1"),
        ("xml:base='/blog/'", "xml:base='may/'", "1", "https://shop.test/blog/may/1"),
        ("", "xml:base='https://www.shop.test/'", "/1", "https://www.shop.test/1"),
        ("", "xml:base='may/'", "", "https://shop.test/may/"),
        ("xml:base='/blog/'", "", "", "https://shop.test/blog/"),
        ("xml:base='http://['", "", "1", "https://shop.test/1"),
        ("", "", "1?a=1&amp;b=2", "https://shop.test/1?a=1&b=2"),
    ],
)
def test_atom_links_are_resolved_against_xml_base(on_feed, on_entry, href, url):
    assert urls(parse(ATOM.format(on_feed, on_entry, href).encode(), BASE)) == [url]


def test_link_to_a_page_is_chosen_among_the_links_of_an_entry():
    links = ("<link rel='alternate' type='application/json' href='/1.json'/>"
             "<link rel='self' href='/1.atom'/><link type='text/html' href='/1'/>")  # fmt: skip
    body = f"<feed xmlns='http://www.w3.org/2005/Atom'><entry>{links}</entry></feed>"

    assert urls(parse(body.encode(), BASE)) == ["https://shop.test/1"]


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ("<guid>https://shop.test/1</guid>", ["https://shop.test/1"]),
        ("<guid isPermaLink='true'>https://shop.test/1</guid>", ["https://shop.test/1"]),
        ("<guid isPermaLink='false'>https://shop.test/1</guid>", []),
        ("<guid>post-1</guid>", []),
        (
            "<guid>https://shop.test/g</guid><link>https://shop.test/1</link>",
            ["https://shop.test/1"],
        ),
        ("<link></link><guid>https://shop.test/1</guid>", ["https://shop.test/1"]),
        ("<media:link>https://x.test/</media:link><link>/1</link>", ["https://shop.test/1"]),
        ("<source><link>/2</link></source><link>/1</link>", ["https://shop.test/1"]),
    ],
)
def test_rss_item_gives_its_link_or_permalink(item, expected):
    image = "<image><url>https://shop.test/logo.png</url></image>"
    body = f"<rss version='2.0'><channel>{image}<item>{item}</item></channel></rss>"

    sitemap = parse(body.encode(), BASE)

    assert (urls(sitemap), sitemap.invalid) == (expected, 0 if expected else 1)


def test_translations_are_given_as_alternates_and_are_not_pages():
    links = ("<xhtml:link rel='alternate' hreflang='de' href='/de/1?a=1&amp;b=2'/>"
             "<xhtml:link rel='alternate' hreflang='x-default' href='https://shop.test/1'/>"
             "<xhtml:link rel='alternate' href='/none'/>")  # fmt: skip
    body = f"{HEAD}<url><loc>/1</loc>{links}</url>{TAIL}"

    (entry,) = parse(body.encode(), BASE).urls

    assert entry.alternates == (
        ("de", "https://shop.test/de/1?a=1&b=2"), ("x-default", "https://shop.test/1"),
    )  # fmt: skip


TEXT = "https://shop.test/café?q=中\nhttps://shop.test/2\n"
RSS = "<rss><channel><item><link>https://shop.test/café?q=中</link></item><item><link>https://shop.test/2</link></item></channel></rss>"
FEED = "<feed><entry><link href='/café?q=中'/></entry><entry><link href='/2'/></entry></feed>"
XML = f"<urlset {NS}><url><loc>https://shop.test/café?q=中</loc></url><url><loc>/2</loc></url></urlset>"
FILES = {"sitemap": XML, "rss": RSS, "atom": FEED, "text": TEXT}
EXPECTED = ["https://shop.test/caf%C3%A9?q=%E4%B8%AD", "https://shop.test/2"]


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize(
    ("codec", "declared"),
    [("utf-8", "utf-8"), ("utf-8-sig", "iso-8859-1"), ("utf-16", ""), ("utf-16-le", "utf-16"),
     ("utf-16-be", "utf-16"), ("gb18030", "gb18030"), ("utf-8", "utf-16"), ("utf-8", "windows-1252")],
)  # fmt: skip
@pytest.mark.parametrize("way", ["header", "declaration"])
def test_entries_do_not_depend_on_the_encoding(kind, codec, declared, way):
    body = FILES[kind]
    if way == "declaration" and kind != "text":
        body = f'<?xml version="1.0" encoding="{declared or "utf-16"}"?>\n{body}'
    elif way == "declaration" and codec == "gb18030":
        return  # a text file has no declaration
    header = f"text/xml; charset={declared}" if way == "header" and declared else None

    assert urls(parse(body.encode(codec), BASE, header)) == EXPECTED


@pytest.mark.parametrize("way", ["header", "declaration"])
def test_windows_1252_is_decoded(way):
    body = f"<urlset {NS}><url><loc>/café–</loc></url></urlset>"
    if way == "declaration":
        body = f"<?xml version='1.0' encoding='windows-1252'?>{body}"
    header = "text/xml; charset=windows-1252" if way == "header" else None

    found = urls(parse(body.encode("windows-1252"), BASE, header))

    assert found == ["https://shop.test/caf%C3%A9%E2%80%93"]


def test_content_type_overrides_the_declaration():
    body = "<?xml version='1.0' encoding='iso-8859-1'?><urlset><url><loc>/ж</loc></url></urlset>"

    sitemap = parse(body.encode("windows-1251"), BASE, "application/xml; charset=windows-1251")

    assert urls(sitemap) == ["https://shop.test/%D0%B6"]


@pytest.mark.parametrize("mark", [codecs.BOM_UTF16_LE * 2, codecs.BOM_UTF16_LE])
def test_byte_order_marks_of_utf_16_are_skipped(mark):
    assert urls(parse(mark + WHOLE.encode("utf-16-le"), BASE)) == URLS


@pytest.mark.parametrize(
    ("written", "letter"), [("&eacute;", "%C3%A9"), ("&Auml;", "%C3%84"), ("&szlig;", "%C3%9F")]
)
def test_html_entity_of_a_letter_is_decoded(written, letter):
    sitemap = parse(WHOLE.replace("id=1", f"id=1{written}").encode(), BASE)

    assert urls(sitemap) == [URLS[0], URLS[1].replace("id=1", f"id=1{letter}"), URLS[2]]
    assert sitemap.invalid == 0


@pytest.mark.parametrize(
    ("children", "expected"),
    [
        ("<content src='/c'/>", ["http://a.test/c"]),
        ("<content src='c' type='text/html' xml:base='/x/'/>", ["http://a.test/x/c"]),
        ("<id>http://b.test/1</id>", ["http://b.test/1"]),
        ("<id> HTTPS://b.test/1 </id><link rel='self' href='/feed'/>", ["https://b.test/1"]),
        ("<id>http://b.test/1</id><content src='/c'/>", ["http://a.test/c"]),
        ("<id>http://b.test/1</id><content src='/c'/><link href='/p'/>", ["http://a.test/p"]),
        ("<link rel=' Alternate ' href='/p'/><id>http://b.test/1</id>", ["http://a.test/p"]),
        ("<id>http://b.test/1</id><content>text</content>", ["http://b.test/1"]),
        ("<id>urn:uuid:1</id>", []),
        ("<id>/1</id>", []),
        ("<id>tag:a.test,2026:1</id><link rel='edit' href='/p'/>", []),
        ("<x:id xmlns:x='urn:x'>http://b.test/1</x:id>", []),
        ("<source><id>http://b.test/</id></source>", []),
        ("<content type='html'>&lt;img src='/c'></content>", []),
        ("<link href='/p<x'/><id>http://b.test/1</id>", []),
        ("<link href='http://['/><id>http://b.test/1</id>", []),
        ("<link/><id>http://b.test/1</id>", []),
        ("<id>http://b.test/1<b/>2</id>", []),
    ],
)
def test_atom_entry_without_a_link_has_the_url_of_its_content_or_identifier(children, expected):
    """Entries without an alternate link were lost; a broken link must not become another URL."""
    feed = f"<feed xmlns='http://www.w3.org/2005/Atom'><entry>{children}</entry></feed>"

    assert urls(parse(feed.encode(), "http://a.test/feed")) == expected
