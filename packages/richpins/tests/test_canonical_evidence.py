"""Evidence for a canonical URL, and robots directives of a page."""

from __future__ import annotations

from richpins.canonical_evidence import collect, page_robots
from richpins.document import parse
from urlspelling.canonical import Redirect

URL = "https://shop.test/a?utm_source=x"
FINAL = "https://shop.test/b"


def evidence(markup: str, **more):
    document = parse(markup.encode(), url=FINAL, content_type="text/html; charset=utf-8")
    return collect(document, url=URL, final_url=FINAL, **more)


def test_sources_are_kept_apart_and_normalized():
    facts = evidence(
        "<head><link rel=canonical href='/c?b=1&a=2'><link rel=canonical href=//Www.Shop.test/d>"
        "<link rel=amphtml href=/amp><link rel=alternate hreflang=De href=/de>"
        "<meta property=og:url content='/og#x'><meta http-equiv=Refresh content='2; url=/r'></head>"
        "<body><link rel=canonical href=/spam>",
        headers=[
            ("LINK", '</h>; rel="canonical", </x>; rel=next'),
            ("Link", "</h2>; rel=canonical"),
        ],
    )

    assert facts.link_canonical == ("https://shop.test/c?a=2&b=1", "https://www.shop.test/d")
    assert facts.body_canonical == ("https://shop.test/spam",)
    assert facts.link_header == ("https://shop.test/h", "https://shop.test/h2")
    assert facts.og_url == "https://shop.test/og"
    assert facts.meta_refresh == (2.0, "https://shop.test/r")
    assert facts.amp_url == "https://shop.test/amp"
    assert facts.hreflang == (("de", "https://shop.test/de"),)
    assert not facts.is_amp


def test_evidence_includes_the_fetch():
    hop = Redirect(URL, FINAL, permanent=True)

    facts = evidence("", status=203, redirects=(hop,))

    assert (facts.url, facts.final_url, facts.status, facts.redirects) == (URL, FINAL, 203, (hop,))


def test_amp_page_is_recognized():
    assert evidence("<html ⚡>").is_amp
    assert evidence("<html amp lang=en>").is_amp


def test_unparsable_candidates_are_kept_with_their_source():
    facts = evidence(
        "<link rel=canonical href='http://['><meta property=og:url content='mailto:x'>"
    )

    assert facts.link_canonical == ()
    assert facts.unparsable == (("link canonical", "http://["), ("og:url", "mailto:x"))


def test_page_that_only_reloads_itself_has_no_refresh_target():
    assert evidence("<meta http-equiv=refresh content=60>").meta_refresh is None


def test_duplicate_canonicals_are_merged():
    facts = evidence("<link rel=canonical href=/c><link rel='canonical' href='/c#x'>")

    assert facts.link_canonical == ("https://shop.test/c",)


def robots(markup: str, *headers: str):
    document = parse(markup.encode(), url=FINAL, agent="examplebot")
    return page_robots(document, [("X-Robots-Tag", value) for value in headers], agent="examplebot")


def test_directives_of_header_and_page_are_combined():
    directives = robots("<meta name=robots content=nofollow>", "NoIndex, noarchive")

    assert directives.nofollow
    assert directives.noindex
    assert directives.noarchive
    assert directives.sources == ("meta", "x-robots-tag")


def test_header_for_another_agent_is_ignored():
    assert not robots("", "googlebot: noindex, nofollow").noindex
    assert robots("", "otherbot: noarchive, examplebot: noindex").noindex
    assert not robots("", "otherbot: noarchive, examplebot: noindex").noarchive
    assert robots("", "examplebot: nofollow").nofollow
    assert robots("", "*: none").noindex
    assert robots("<meta name=ExampleBot content=noindex>").noindex
    assert not robots("<meta name=otherbot content=noindex>").noindex


def test_agent_name_may_contain_a_digit():
    assert not robots("", "bot-2: noindex").noindex
    assert not robots("", "bot2: noindex, nofollow").nofollow
    assert page_robots(
        parse(b"", url=FINAL), [("X-Robots-Tag", "bot2: noindex")], agent="bot2"
    ).noindex


def test_values_with_colons_and_commas_are_not_agent_names():
    directives = robots(
        "",
        "max-snippet: 50, max-image-preview: standard",
        "unavailable_after: 25 Jun 2030 15:00:00 PST",
    )

    assert directives.max_snippet == 50
    assert directives.max_image_preview == "standard"
    assert directives.unavailable_after == "25 Jun 2030 15:00:00 PST"


def test_stricter_limit_wins():
    directives = robots(
        "<meta name=robots content='max-snippet:-1,max-image-preview:large'>",
        "max-snippet:10, max-image-preview:none",
    )

    assert (directives.max_snippet, directives.max_image_preview) == (10, "none")


def test_page_without_directives_forbids_nothing():
    directives = robots("<meta name=robots content='index, follow, all, nonsense:1'>")

    assert not any([directives.noindex, directives.nofollow, directives.nosnippet])
