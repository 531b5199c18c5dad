import pytest
from hypothesis import given
from hypothesis import strategies as st

from urlspelling import parse_link_header
from urlspelling.link_header import MAX_LINKS, HeaderLink

BASE = "http://a.test/b/"


def parse_links(*values):
    return [(link.url, link.rel) for link in parse_link_header(values, base=BASE)]


@pytest.mark.parametrize(
    ("value", "links"),
    [
        ("<c>; rel=canonical", [("http://a.test/b/c", ("canonical",))]),
        ('</c>;rel="Canonical  NEXT"', [("http://a.test/c", ("canonical", "next"))]),
        ("<c>; rel = 'canonical'", [("http://a.test/b/c", ("'canonical'",))]),
        ("<http://x.test/a,b;c>; rel=canonical", [("http://x.test/a,b;c", ("canonical",))]),
        ('<c>; title="d, <e>; rel=x"; rel=canonical', [("http://a.test/b/c", ("canonical",))]),
        ('<c>; title="a \\"quoted\\" , <e>"; rel=up', [("http://a.test/b/c", ("up",))]),
        (
            "<c>; rel=prev, <d>; rel=next",
            [("http://a.test/b/c", ("prev",)), ("http://a.test/b/d", ("next",))],
        ),
        ("<c>;;; ;rel=up;,,<d>", [("http://a.test/b/c", ("up",)), ("http://a.test/b/d", ())]),
        ("<c>; rel=first; rel=second", [("http://a.test/b/c", ("first",))]),
        ("<c>; REL=up; crossorigin", [("http://a.test/b/c", ("up",))]),
        ('<c>; rel="never closed', [("http://a.test/b/c", ("never", "closed"))]),
        ("<>; rel=self", [("http://a.test/b/", ("self",))]),
        ("nonsense, <c>; rel=up", [("http://a.test/b/c", ("up",))]),
        ("<c; rel=up", []),
        ("<mailto:me@x.test>; rel=author, <d>; rel=up", [("http://a.test/b/d", ("up",))]),
        ("", []),
        (
            "<http://x.test/?b=1&utm_source=y#z>; rel=canonical",
            [("http://x.test/?b=1", ("canonical",))],
        ),
    ],
)
def test_header_value_is_parsed_as_in_the_rfc(value, links):
    assert parse_links(value) == links


def test_several_headers_are_parsed_in_order():
    assert parse_links("<c>; rel=x", "<d>; rel=y") == [
        ("http://a.test/b/c", ("x",)),
        ("http://a.test/b/d", ("y",)),
    ]


def test_link_about_another_page_is_left_out():
    assert parse_links('<c>; rel=canonical; anchor="/other"') == []
    assert parse_links('<c>; rel=canonical; anchor="#here"') == [
        ("http://a.test/b/c", ("canonical",))
    ]


def test_relative_targets_are_left_out_without_a_base():
    assert [link.url for link in parse_link_header(["<c>, <http://a.test/>"])] == ["http://a.test/"]


def test_parameters_are_kept():
    (link,) = parse_link_header(
        ['<c>; rel=alternate; HrefLang=de; hreflang=en; title="x y"'], base=BASE
    )

    assert link == HeaderLink(
        "http://a.test/b/c",
        ("alternate",),
        (("rel", "alternate"), ("hreflang", "de"), ("hreflang", "en"), ("title", "x y")),
    )
    assert (link.parameter("hreflang"), link.parameter("type")) == ("de", None)


def test_number_of_links_is_limited():
    assert len(parse_links(*["<c>," * 2_000] * 3)) == MAX_LINKS


@given(st.lists(st.text(st.sampled_from('<>;,="\\ \tarel/é\x00'), max_size=40), max_size=3))
def test_any_text_gives_links_and_never_raises(values):
    assert all(link.url.startswith("http") for link in parse_link_header(values, base=BASE))


@pytest.mark.parametrize(
    "piece",
    [
        "<",
        "<,",
        ",<",
        "<a>,",
        "<a>",
        "<a>;",
        ";",
        '"',
        "\\",
        '<a>;x="',
        " ",
        ",",
        "<a>;a\t",
        "<a>;x=\\",
    ],
)
def test_long_header_is_parsed_in_linear_time(piece):
    value = "<a>" + piece * (400_000 // len(piece))

    assert len(parse_links(value)) <= MAX_LINKS
