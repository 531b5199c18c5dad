"""Links extracted from anchors."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from richpins.document import parse
from richpins.links import MAX_TEXT_CHARS, MAX_TOTAL_CHARS, Link, extract

URL = "https://shop.test/dir/page"


def links(markup: str, **more) -> tuple[Link, ...]:
    return extract(parse(markup.encode(), url=URL, content_type="text/html; charset=utf-8"), **more)


def urls(markup: str) -> list[str]:
    return [link.url for link in links(markup)]


def test_targets_are_absolute_normalized_and_in_order():
    assert urls("<a href='b?z=1&a=2'>1</a><area href=//Other.test/x><a href=' /c '>") == [
        "https://shop.test/dir/b?a=2&z=1",
        "https://other.test/x",
        "https://shop.test/c",
    ]


def test_fragments_and_spelling_do_not_duplicate_a_link():
    assert links("<AREA HREF=b#1><a href=b#2>B</a><a href=b#3>C</a><a href=page#4>D</a>") == (
        Link("https://shop.test/dir/b", "B"),
    )


def test_long_base_does_not_turn_short_links_into_megabytes():
    for length in (8_000, 60_000):
        base = "b" * length
        markup = f"<base href='/{base}/'>" + "".join(f"<a href='{n}'>" for n in range(1_000))

        targets = urls(markup)

        assert targets[0].startswith("https://shop.test/")
        assert sum(map(len, targets)) <= MAX_TOTAL_CHARS


def test_only_http_urls_are_links():
    assert urls(
        "<a href='mailto:a@b.c'><a href='javascript:x()'><a href='tel:1'><a href='data:,x'>"
        "<a href='ftp://a.test/'><a href='http://'><a href='https://ok.test/'><a name=x>"
    ) == ["https://ok.test/"]


def test_fragments_of_the_page_itself_are_not_links():
    assert urls("<a href='#top'><a href='page#x'><a href='/dir/page#y'><a href='other#z'>") == [
        "https://shop.test/dir/other"
    ]


def test_fragment_is_a_link_if_the_base_is_another_page():
    assert urls("<base href=/else/><a href='#x'>") == ["https://shop.test/else/"]


def test_target_is_listed_once_with_the_first_text():
    extracted = links("<a href=x><img src=i></a><a href=x> First\n text </a><a href=x>second</a>")

    assert extracted == (Link("https://shop.test/dir/x", "First text"),)


def test_link_text_may_come_from_a_title_a_label_or_an_image():
    extracted = links("<a href=1 title=T></a><a href=2 aria-label=L></a><a href=3><img alt=I></a>")

    assert [link.text for link in extracted] == ["T", "L", "I"]


def test_plain_target_of_an_svg_link_wins():
    markup = "<svg><a xlink:href='#icon' href=/real>R</a><a href=/b xlink:href='#c'>B</a></svg>"

    assert urls(markup) == ["https://shop.test/real", "https://shop.test/b"]


def test_rel_applies_only_if_every_anchor_has_it():
    extracted = links(
        "<a href=1 rel='nofollow UGC'>a</a><a href=2 rel=sponsored,nofollow>b</a>"
        "<a href=1 rel=nofollow>a</a><a href=2>b</a>"
    )

    assert extracted[0] == Link("https://shop.test/dir/1", "a", nofollow=True)
    assert extracted[1] == Link("https://shop.test/dir/2", "b")


def test_long_texts_and_many_links_are_cut():
    many = "".join(f"<a href={n}>{'x' * 500}</a>" for n in range(50))

    extracted = links(many, limit=7)

    assert len(extracted) == 7
    assert len(extracted[0].text) == MAX_TEXT_CHARS


def test_nested_anchors_do_not_repeat_the_same_text():
    def nested(target: str, count: int) -> str:
        return "".join(f"<a href='{target.format(n)}'><object>" for n in range(count))

    text = "word " * 20_000
    read = [link.text for link in links(nested("/{}", 900) + text)]
    without_text = nested("/same", 10_000)

    assert len(read) == 900
    assert 1 <= sum(map(bool, read)) < 5
    assert links(without_text) == (Link("https://shop.test/same"),)


def test_reference_of_a_megabyte_is_not_a_link():
    assert urls(f"<a href='/{'x' * 1_000_000}'>") == []


@given(
    st.text(
        alphabet=st.characters(blacklist_characters="'", blacklist_categories=["Cs"]), max_size=80
    )
)
def test_any_reference_gives_a_normalized_link_or_none(href):
    for link in links(f"<a href='{href}'>x</a>"):
        assert link.url.startswith(("http://", "https://"))
        assert "#" not in link.url


LEGACY = {
    "windows-1251": ("/s?q=привет", "/s?q=%EF%F0%E8%E2%E5%F2"),
    "iso-8859-1": ("/é?q=é#é", "/%C3%A9?q=%E9"),
    "windows-1252": ("/s?q=€", "/s?q=%80"),
    "koi8-r": ("?q=п", "/dir/page?q=%D0"),
    "gbk": ("/s?q=中€", "/s?q=%D6%D0%80"),
    "big5": ("/s?q=碁", "/s?q=%F9%D6"),
    "shift_jis": ("/s?q=日本", "/s?q=%93%FA%96%7B"),
    "euc-jp": ("/s?q=日本", "/s?q=%C6%FC%CB%DC"),
    "euc-kr": ("/s?q=한", "/s?q=%C7%D1"),
    "utf-8": ("/s?q=é", "/s?q=%C3%A9"),
}


@pytest.mark.parametrize("charset", LEGACY)
def test_query_is_in_the_page_encoding_and_the_path_in_utf_8(charset):
    href, target = LEGACY[charset]
    codec = {"gbk": "cp936", "windows-1252": "cp1252", "big5": "cp950"}.get(charset, charset)
    written = href.replace("€", "&euro;").encode(codec)
    page = parse(
        b"<a href='" + written + b"'>", url=URL, content_type=f"text/html; charset={charset}"
    )

    assert [link.url for link in extract(page)] == [f"https://shop.test{target}"]


def test_queries_of_utf_16_pages_are_in_utf_8():
    for charset, codec in (("utf-16le", "utf-16-le"), ("utf-16be", "utf-16-be")):
        page = parse(
            "<a href='/s?q=é'>".encode(codec), url=URL, content_type=f"text/html; charset={charset}"
        )
        assert [link.url for link in extract(page)] == ["https://shop.test/s?q=%C3%A9"]
    page = parse(b"<a href='/s?q=%C3%A9'>", url=URL, content_type="text/html; charset=iso-8859-1")
    assert [link.url for link in extract(page)] == ["https://shop.test/s?q=%C3%A9"]


def test_characters_missing_in_the_page_encoding_become_references_as_in_browsers():
    page = parse(
        b"<a href='/s?q=&#9731;&#xE9;'>", url=URL, content_type="text/html; charset=iso-8859-1"
    )

    assert [link.url for link in extract(page)] == ["https://shop.test/s?q=%26%239731%3B%E9"]


def test_base_and_canonical_use_the_page_encoding():
    page = parse(
        "<base href='/b?x=é'><link rel=canonical href='?y=é'><a href=''>".encode("latin-1"),
        url=URL,
        content_type="text/html; charset=iso-8859-1",
    )

    assert [link.url for link in extract(page)] == ["https://shop.test/b?x=%E9"]
    assert page.resolve(page.link_elements[0].href) == "https://shop.test/b?y=%E9"
