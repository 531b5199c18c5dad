"""Every example of the drafts about usage preferences, and the statements of all other sources."""

import pytest

from aragog.pages import preferences as p
from aragog.pages.preferences import DRAFTS, UseStatement
from richpins.robots_meta import from_headers, from_meta, unavailable_at_ms

S, IN, T = p.SEARCH, p.AI_INPUT, p.AI_TRAIN


def values_of(statements):
    return [(s.purpose, s.value) for s in statements]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("train-ai=n", [(T, "n")]),
        ("train-ai=y, search=n", [(T, "y"), (S, "n")]),
        # The draft uses only the last member; here an n counts at any position.
        ('train-ai=y, train-ai, search=n, search="n"', [(S, "n")]),
        ("train-ai=n, train-ai=y", [(T, "n"), (T, "y")]),
        ("train-ai=y, train-ai=n", [(T, "n")]),
        ("train-ai;allow=n, train-ai=y", [(T, "y")]),
        ('train-ai;has;parameters="?";', []),
        ('train-ai;has;parameters="?"', []),
        ("Train-AI=n", []),
        ("train-ai=no", []),
        ('train-ai=n;why="it\'s ours"', [(T, "n")]),
        ("bots=n, search=y", [(S, "y")]),
        ("train-ai=n,", []),
        ("", []),
    ],
)
def test_content_usage_is_parsed_by_the_vocabulary(text, expected):
    assert values_of(p.content_usage(text, "here")) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("search=yes, ai-train=no", [(S, "y"), (T, "n")]),
        ("search=yes,ai-train=yes,ai-input=yes", [(S, "y"), (T, "y"), (IN, "y")]),
        ("AI-Train = No , use = reference", [(T, "n"), ("use", "reference")]),
        ("search=maybe, ai-input", []),
        ("/content-signals.json", []),
    ],
)
def test_content_signals_ignore_case_and_spacing(text, expected):
    assert values_of(p.content_signal(text, "here")) == expected


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([("Content-Usage", "train-ai=n")], [(T, "n")]),
        ([("content-usage", "train-ai=n"), ("Content-Usage", "search=y")], [(T, "n"), (S, "y")]),
        ([("Content-Signal", "ai-train=yes, search=yes, ai-input=no")], [(T, "y"), (S, "y"), (IN, "n")]),
        ([("TDM-Reservation", "1")], [(IN, "n"), (T, "n")]),
        ([("tdm-reservation", "0")], [(IN, "y"), (T, "y")]),
        ([("tdm-reservation", "2")], []),
        ([("tdm-reservation", "0, 1")], [(IN, "y"), (T, "y"), (IN, "n"), (T, "n")]),
        ([("Content-Usage", "train-ai=n"), ("Content-Usage", "=broken")], [(T, "n")]),
        ([("tdm-policy", "https://a.test/p.json")], [("tdm-policy", "https://a.test/p.json")]),
        ([("Link", '<https://a.test/l.xml>; rel="license"; type="application/rsl+xml"')],
         [("license", "https://a.test/l.xml")]),
        ([("Link", "<https://a.test/by/4.0>; rel=license")], []),
        ([("Link", '</a>; rel=next, </l.xml>; type=application/rsl+xml; rel="license x"')],
         [("license", "/l.xml")]),
    ],
)  # fmt: skip
def test_headers_are_parsed_each_in_its_syntax(headers, expected):
    assert values_of(p.header_statements(headers, DRAFTS)) == expected


POLICY = "https://provider.com/policies/policy.json"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([("tdm-reservation", "1")], [(IN, "n"), (T, "n")]),
        (
            [("tdm-reservation", "1"), ("tdm-policy", POLICY)],
            [(IN, "n"), (T, "n"), ("tdm-policy", POLICY)],
        ),
    ],
)
def test_examples_of_the_tdm_reservation_protocol_are_followed(values, expected):
    """From its text in w3c/tdm-reservation-protocol, 1a547b54 of December 2025."""
    date = ("Date", "Wed, 14 Jul 2021 12:07:48 GMT")
    headers = [date, ("Content-type", "text/html"), *values]

    assert sorted(values_of(p.header_statements(headers, ()))) == sorted(expected)
    assert sorted(values_of(p.meta_statements(values))) == sorted(expected)


def test_unlisted_draft_is_ignored():
    headers = [("Content-Usage", "train-ai=n"), ("Content-Signal", "search=no")]

    assert p.header_statements(headers, ()) == []
    assert values_of(p.header_statements(headers, (p.SIGNALS,))) == [(S, "n")]


@pytest.mark.parametrize(
    ("directives", "expected"),
    [
        ("noindex", [(S, "n")]),
        ("none", [(S, "n"), ("robots", "nofollow")]),
        ("nosnippet", [(IN, "n")]),
        ("max-snippet:0", [(IN, "n"), ("robots", "max-snippet:0")]),
        ("max-snippet:20, max-image-preview:large, max-video-preview:-1",
         [("robots", "max-snippet:20"), ("robots", "max-image-preview:large"), ("robots", "max-video-preview:-1")]),
        ("noai, noimageai", [(IN, "n"), (T, "n"), ("robots", "noimageai")]),
        ("noarchive, noimageindex, notranslate",
         [("robots", "noarchive"), ("robots", "noimageindex"), ("robots", "notranslate")]),
        ("unavailable_after: Sat, 31 Dec 2050 12:00:00 GMT",
         [("robots", "unavailable_after: 31 Dec 2050 12:00:00 GMT")]),
        ("all", []),
        ("otherbot: noai, noindex", []),
        ("mybot: noai", [(IN, "n"), (T, "n")]),
    ],
)  # fmt: skip
def test_robots_directives_apply_only_to_our_agent(directives, expected):
    robots = from_headers([("X-Robots-Tag", directives)], agent="mybot")

    assert values_of(p.robots_statements(robots, "X-Robots-Tag")) == expected


def test_meta_elements_apply_to_all_agents_or_to_ours():
    metas = [("robots", "nosnippet"), ("mybot", "noai"), ("otherbot", "noindex")]

    robots = from_meta(metas, agent="mybot")

    assert values_of(p.robots_statements(robots, "meta")) == [(IN, "n"), (IN, "n"), (T, "n")]
    assert values_of(p.meta_statements([("TDM-Reservation", " 1 ")])) == [(IN, "n"), (T, "n")]


@pytest.mark.parametrize(
    ("text", "at_s"),
    [
        ("25 Jun 2010 15:00:00 PST", 1_277_506_800),
        ("Friday, 25-Jun-10 15:00:00 GMT", 1_277_478_000),
        ("2010-06-25T15:00:00+00:00", 1_277_478_000),
        ("2010-06-25", 1_277_510_400),
        ("25 Jun 2010", 1_277_510_399),
        ("soon", None),
        ("", None),
    ],
)
def test_unavailable_after_is_parsed_in_every_common_form(text, at_s):
    assert unavailable_at_ms(text) == (None if at_s is None else at_s * 1000)


def test_earlier_of_two_dates_counts():
    robots = from_headers(
        [
            ("X-Robots-Tag", f"unavailable_after: {day}")
            for day in ("2030-01-01", "2029-01-01", "x")
        ],
        agent="a",
    )

    assert robots.unavailable_after == "2029-01-01"


def test_strictest_of_several_statements_decides_and_is_named():
    robots = p.pack_statements(
        [UseStatement(T, "y", "robots.txt line 3"), UseStatement("use", "full", "there")]
    )
    page = p.pack_statements(
        [UseStatement(T, "n", "meta robots: noai"), UseStatement(S, "y", "header")]
    )

    assert p.verdict((robots, page), T) == (False, "ai-train=n (meta robots: noai)")
    assert p.verdict((robots, None), T) == (True, "ai-train=y (robots.txt line 3)")
    assert p.verdict((robots, page), S) == (True, "search=y (header)")
    assert p.verdict((robots, page), IN) == (None, "")


def test_statement_cannot_inject_another_one():
    statements = p.header_statements([("tdm-policy", "x\nai-train=y (forged)")], ())

    assert p.pack_statements(statements).count("\n") == 0


@pytest.mark.parametrize(
    ("before", "later", "both"),
    [
        (None, "search=n (b)", "search=n (b)"),
        ("search=n (a)", "search=y (b)", "search=n (a)\nsearch=y (b)"),
        ("search=n (a)", "", "search=n (a)"),
        ("ai-train=y (a)", "ai-train=n (b)", "ai-train=n (b)\nai-train=y (a)"),
        ("search=n (a)", "search=n (b)\nai-input=n (b)", "ai-input=n (b)\nsearch=n (b)"),
        ("robots=noarchive (a)", "search=n (b)", "search=n (b)\nrobots=noarchive (a)"),
    ],
)
def test_later_statements_permit_nothing(before, later, both):
    assert p.merge_statements(before, later) == both
