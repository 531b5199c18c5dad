"""Parsing of a page, and the facts in its head."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from richpins.document import MAX_HEAD_ELEMENTS, parse

URL = "https://shop.test/dir/page"


def page(markup: str, **more):
    return parse(markup.encode(), url=URL, content_type="text/html; charset=utf-8", **more)


def test_head_is_parsed():
    document = page(
        "<html lang=de-AT><head><title> Ein\n  Titel </title>"
        "<meta name=Description content=' kurz '><link rel='Canonical x' href=' /c '></head>"
    )

    assert document.title == "Ein Titel"
    assert document.description == "kurz"
    assert document.language == "de-AT"
    assert document.encoding == "utf-8"
    assert document.link_elements[0].rel == {"canonical", "x"}
    assert document.link_elements[0].href == "/c"
    assert document.problems == ()


def test_element_and_type_names_are_case_insensitive():
    document = page(
        "<BASE HREF=/other/><SCRIPT TYPE='application/LD+JSON'>1</SCRIPT>"
        "<script type='application/ld&#43;json'>2</script><script type=module>3</script>"
    )

    assert document.resolve("x") == "https://shop.test/other/x"
    assert document.json_ld == ("1", "2")


def test_first_base_counts_and_is_itself_resolved():
    assert (
        page("<base href='/other/'><base href='/no/'>").resolve("x") == "https://shop.test/other/x"
    )
    assert page("<base target=_blank>").base_url == URL
    assert page("<base href='javascript:x'>").base_url == URL
    assert page("<base href=''>").base_url == URL


def test_elements_after_the_end_of_the_head_are_in_the_body():
    document = page("<head><link rel=a href=1><div></div><link rel=b href=2></head>")

    assert [link.in_head for link in document.link_elements] == [True, False]


def test_noscript_does_not_end_the_head():
    document = page("<head><noscript><img src=x></noscript><link rel=canonical href=/c></head>")

    assert document.link_elements[0].in_head


def test_title_inside_an_svg_is_not_the_page_title():
    assert page("<body><svg><title>icon</title></svg><title>late</title>").title == "late"


def test_language_may_be_in_a_meta_element():
    assert page("<meta http-equiv=Content-Language content=fr>").language == "fr"
    assert page("<meta property=og:locale content=pt_BR>").language == "pt_BR"
    assert page("<p>").language is None


def test_robots_directives_for_all_and_for_our_agent_are_combined():
    document = page(
        "<meta name=robots content='noarchive, max-snippet:20'>"
        "<meta name=ExampleBot content=nofollow><meta name=otherbot content=noindex>",
        agent="examplebot",
    )

    assert (document.robots.noarchive, document.robots.nofollow, document.robots.noindex) == (
        True,
        True,
        False,
    )
    assert document.robots.max_snippet == 20


def test_title_is_decoded_in_the_declared_charset():
    body = "<meta charset=windows-1251><title>Борщ</title>".encode("cp1251")

    assert parse(body, url=URL).title == "Борщ"


def test_wrong_charset_is_reported_and_the_readable_text_kept():
    body = "<title>caf\xe9</title>".encode("latin-1")

    document = parse(body, url=URL, content_type="text/html; charset=utf-8")

    assert document.title == "caf�"
    assert "not UTF-8 at byte 10" in document.problems[0]


def test_thousands_of_meta_elements_are_limited():
    document = page("".join(f"<meta name=n{n} content=x>" for n in range(5_000)))

    assert len(document.metas) == MAX_HEAD_ELEMENTS
    assert "the rest was not read" in document.problems[0]


@given(st.binary(max_size=2_000))
def test_any_bytes_can_be_parsed(body):
    document = parse(body, url=URL)

    assert document.base_url
    assert document.title is None or document.title.strip() == document.title
