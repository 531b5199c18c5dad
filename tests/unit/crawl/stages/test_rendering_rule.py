"""Which pages are rendered: complete pages of the configured hosts and types, but not sitemaps."""

import pytest

from aragog.crawl.pipeline.messages import UrlJob
from aragog.crawl.pipeline.routing import Destination
from aragog.crawl.stages.rendering_rule import RenderingRule
from aragog.crawl.stages.revalidation import StoredValidators
from aragog.errors import ConfigError
from aragog.fetch_record.outcome import OutcomeKind
from aragog.settings import RenderingSettings
from tests.support.fetch_results import fetch_result


def shop(**changes):
    """A fetched page of a shop, reached through another host."""
    values = {
        "job": UrlJob(url="http://other.example/", priority=3),
        "outcome": OutcomeKind.FETCHED,
        "final_url": "http://www.shop.example/",
        "content_type": "text/html; charset=utf-8",
        "token": "t",
    }
    return fetch_result(**values | changes)


SHOP = shop()


@pytest.fixture
def rule():
    return RenderingRule(RenderingSettings(hosts=("Shop.example", "bücher.example")))


@pytest.mark.parametrize(
    ("change", "matches"),
    [
        ({}, True),
        ({"final_url": "http://shop.example:8080/p?q"}, True),
        ({"final_url": "http://xn--bcher-kva.example/"}, True),
        ({"content_type": None}, True),
        ({"final_url": "http://workshop.example/"}, False),
        ({"final_url": "http://shop.example.org/"}, False),
        ({"content_type": "application/json"}, False),
        ({"truncated": True}, False),
        ({"token": None}, False),
        ({"outcome": OutcomeKind.NOT_MODIFIED}, False),
        ({"job": UrlJob(url="http://shop.example/sitemap.xml", sitemap=True)}, False),
    ],
)
def test_rendering_depends_on_final_host_type_and_completeness(rule, change, matches):
    assert rule.matches(shop(**change)) is matches


def test_nothing_is_rendered_by_default():
    rule = RenderingRule(RenderingSettings())

    assert not rule.matches(SHOP)
    assert [message.destination for message in rule.route_results([SHOP])] == [
        Destination.CANONICALIZE
    ]


def test_every_page_to_render_gets_its_own_message(rule):
    plain = shop(final_url="http://plain.example/")

    messages = rule.route_results([SHOP, plain, SHOP, plain])

    assert [(message.destination, len(message.message.results)) for message in messages] == [
        (Destination.CANONICALIZE, 2),
        (Destination.RENDER, 1),
        (Destination.RENDER, 1),
    ]
    assert {message.priority for message in messages} == {3}
    assert rule.route_results([]) == []


def test_validators_of_rendered_pages_are_not_used(rule):
    validators = {
        "http://shop.example/": StoredValidators("http://shop.example/", '"1"'),
        "http://moved.example/": StoredValidators("http://www.shop.example/", '"2"'),
        "http://plain.example/": StoredValidators("http://plain.example/", '"3"'),
    }

    assert list(rule.usable_validators(validators)) == ["http://plain.example/"]


def test_invalid_host_is_reported_with_its_setting():
    with pytest.raises(ConfigError, match=r"rendering\.hosts: 'http://a/' is not a host name"):
        RenderingRule(RenderingSettings(hosts=("http://a/",)))
