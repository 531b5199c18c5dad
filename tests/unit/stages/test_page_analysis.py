"""A part of a page's analysis that fails leaves the others intact and is reported once."""

import logging

from aragog.stages.page_analysis import _Parts, read_page
from tests.support.byte_streams import html_result


def fail():
    raise KeyError("href")


def test_a_part_that_fails_is_replaced_and_named():
    parts = _Parts("https://a.test/")

    assert parts.get("links", fail, ()) == ()
    assert parts.get("rich pin", lambda: 1, 0) == 1
    assert parts.problems == ["links: KeyError: 'href'"]


def test_the_same_failure_is_logged_once(caplog):
    with caplog.at_level(logging.ERROR):
        for number in range(3):
            _Parts(f"https://a.test/{number}").get("a part of this test", fail, None)

    assert len(caplog.records) == 1


def test_a_link_in_svg_is_a_link():
    url = "https://a.test/"
    body = b'<svg><a xlink:href="/x">t</a></svg><a href=/y>u'

    analysis = read_page(html_result(url), body, agent="aragog", max_links=9)

    assert [link.url for link in analysis.links] == [f"{url}x", f"{url}y"]
    assert analysis.problems == ()
    assert analysis.complete
