from aragog.crawl.traps.traits import are_alike, traits_of, traits_of_texts
from bench.traps.writer import Writer
from richpins import document


def page(body):
    return document.parse(
        f"<!doctype html><title>A page</title><main>{body}</main>".encode(),
        url="https://example.org/",
        content_type="text/html; charset=utf-8",
    )


def test_link_texts_are_not_words_of_the_page():
    linked = traits_of(page("<a href=/x>a narrow bridge of stone</a>"))
    own = traits_of(page("<p>a narrow bridge of stone</p>"))

    assert len(own.pairs) > len(linked.pairs)
    assert are_alike(own.sketch, linked.sketch)


def test_short_texts_are_compared_too():
    missing = (
        "We are sorry. The article {} is not here any more, or never was. Try the search above."
    )
    one, other = (traits_of_texts(missing.format(n), "") for n in (7, 8))
    different = traits_of_texts("Heavy rain on the northern coast until noon, then dry.", "")

    assert are_alike(one.sketch, other.sketch)
    assert not are_alike(one.sketch, different.sketch)


def test_near_duplicate_pages_share_a_band():
    text = Writer("a").paragraph(20)
    one, other = (traits_of_texts(f"{text} Version {n}", "") for n in (1, 2))

    assert set(one.bands) & set(other.bands)
    assert not set(one.bands) & set(traits_of_texts(Writer("b").paragraph(20), "").bands)


def test_page_without_words_has_no_traits():
    assert traits_of_texts("", "").sketch == b""
    assert not are_alike(b"", b"")
