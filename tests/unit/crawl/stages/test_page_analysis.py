"""A failing part of a page analysis leaves the others intact and is reported once."""

import json
import logging

from aragog.crawl.stages.page_analysis import _Parts, read_page, text_fields
from aragog.settings import PipelineSettings
from tests.support.byte_streams import html_result


def fail():
    raise KeyError("href")


def test_failing_part_is_replaced_and_named():
    parts = _Parts("https://a.test/")

    assert parts.get("links", fail, ()) == ()
    assert parts.get("rich pin", lambda: 1, 0) == 1
    assert parts.problems == ["links: KeyError: 'href'"]


def test_same_failure_is_logged_once(caplog):
    with caplog.at_level(logging.ERROR):
        for number in range(3):
            _Parts(f"https://a.test/{number}").get("a part of this test", fail, None)

    assert len(caplog.records) == 1


def test_link_in_svg_is_a_link():
    url = "https://a.test/"
    body = b'<svg><a xlink:href="/x">t</a></svg><a href=/y>u'

    analysis = read_page(html_result(url), body, agent="aragog", max_links=9)

    assert [link.url for link in analysis.links] == [f"{url}x", f"{url}y"]
    assert analysis.problems == ()
    assert analysis.complete


def test_main_text_is_stored_in_the_configured_forms():
    body = b"<title>A</title><article><p>" + b"The first sentence of a page. " * 9 + b"</article>"
    texts = text_fields(PipelineSettings(store_text=("text",)))

    analysis = read_page(
        html_result("https://a.test/"), body, agent="aragog", max_links=9, texts=texts
    )

    assert json.loads(analysis.fields["page.text"]).startswith("The first sentence of a page.")
    assert json.loads(analysis.fields["page.text_version"]).endswith(": text")
    assert "page.markdown" not in analysis.fields
    assert text_fields(PipelineSettings()) is None


def test_failing_text_finder_loses_only_the_text():
    body = b"<title>A title</title>"

    analysis = read_page(
        html_result("https://a.test/"), body, agent="aragog", max_links=9, texts=lambda _: fail()
    )

    assert analysis.fields["page.title"] == b'"A title"'
    assert analysis.problems == ("main text: KeyError: 'href'",)
