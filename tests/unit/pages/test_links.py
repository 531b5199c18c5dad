"""Anchors as links."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from aragog.pages.document import parse
from aragog.pages.links import MAX_TEXT_CHARS, MAX_TOTAL_CHARS, Link, extract

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


def test_a_target_is_one_link_whatever_the_fragments_and_the_spelling_of_the_element():
    assert links("<AREA HREF=b#1><a href=b#2>B</a><a href=b#3>C</a><a href=page#4>D</a>") == (
        Link("https://shop.test/dir/b", "B"),
    )


def test_a_long_base_does_not_turn_short_links_into_megabytes():
    for length in (8_000, 60_000):
        base = "b" * length
        markup = f"<base href='/{base}/'>" + "".join(f"<a href='{n}'>" for n in range(1_000))

        targets = urls(markup)

        assert targets[0].startswith("https://shop.test/")
        assert sum(map(len, targets)) <= MAX_TOTAL_CHARS


def test_only_http_is_a_link():
    assert urls(
        "<a href='mailto:a@b.c'><a href='javascript:x()'><a href='tel:1'><a href='data:,x'>"
        "<a href='ftp://a.test/'><a href='http://'><a href='https://ok.test/'><a name=x>"
    ) == ["https://ok.test/"]


def test_places_in_the_page_itself_are_no_links():
    assert urls("<a href='#top'><a href='page#x'><a href='/dir/page#y'><a href='other#z'>") == [
        "https://shop.test/dir/other"
    ]


def test_a_fragment_leads_elsewhere_where_the_base_is_another():
    assert urls("<base href=/else/><a href='#x'>") == ["https://shop.test/else/"]


def test_a_target_is_given_once_with_the_first_text():
    extracted = links("<a href=x><img src=i></a><a href=x> First\n text </a><a href=x>second</a>")

    assert extracted == (Link("https://shop.test/dir/x", "First text"),)


def test_the_text_may_be_a_title_a_label_or_an_image():
    extracted = links("<a href=1 title=T></a><a href=2 aria-label=L></a><a href=3><img alt=I></a>")

    assert [link.text for link in extracted] == ["T", "L", "I"]


def test_of_two_targets_of_an_svg_link_the_plain_one_counts():
    markup = "<svg><a xlink:href='#icon' href=/real>R</a><a href=/b xlink:href='#c'>B</a></svg>"

    assert urls(markup) == ["https://shop.test/real", "https://shop.test/b"]


def test_relations_hold_if_every_anchor_has_them():
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


def test_anchors_within_anchors_do_not_read_the_same_text_again_and_again():
    def nested(target: str, count: int) -> str:
        return "".join(f"<a href='{target.format(n)}'><object>" for n in range(count))

    text = "word " * 20_000
    read = [link.text for link in links(nested("/{}", 900) + text)]
    without_text = nested("/same", 10_000)

    assert len(read) == 900
    assert 1 <= sum(map(bool, read)) < 5
    assert links(without_text) == (Link("https://shop.test/same"),)


def test_a_reference_of_a_megabyte_is_no_link():
    assert urls(f"<a href='/{'x' * 1_000_000}'>") == []


@given(
    st.text(
        alphabet=st.characters(blacklist_characters="'", blacklist_categories=["Cs"]), max_size=80
    )
)
def test_any_reference_is_a_normalized_link_or_none(href):
    for link in links(f"<a href='{href}'>x</a>"):
        assert link.url.startswith(("http://", "https://"))
        assert "#" not in link.url
