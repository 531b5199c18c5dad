"""Which egress routes a URL takes according to the rules."""

import pytest

from aragog.crawl.egress.rules import EgressContext, EgressRules
from aragog.settings import EgressRule, EgressSettings, WaySettings

WAYS = {name: WaySettings(proxy="http://p:1") for name in ("a", "b", "c")}


def rules(*given, has_proxy=False):
    return EgressRules(EgressSettings(WAYS, given), has_proxy=has_proxy)


@pytest.mark.parametrize(
    ("conditions", "url", "choice", "matches"),
    [
        ({}, "http://any.test/", {}, True),
        ({"hosts": ("shop.test",)}, "http://shop.test/", {}, True),
        ({"hosts": ("shop.test",)}, "http://www.shop.test/", {}, False),
        ({"domains": ("shop.test",)}, "http://shop.test/", {}, True),
        ({"domains": ("shop.test",)}, "http://www.shop.test:8080/", {}, True),
        ({"domains": ("shop.test",)}, "http://workshop.test/", {}, False),
        ({"suffixes": ("de", "co.uk")}, "http://www.laden.de/", {}, True),
        ({"suffixes": ("de", "co.uk")}, "http://shop.co.uk/", {}, True),
        ({"suffixes": ("de",)}, "http://de.example/", {}, False),
        ({"suffixes": ("de",)}, "http://abcde/", {}, False),
        ({"crawls": ("prices",)}, "http://any.test/", {"crawl": "prices"}, True),
        ({"crawls": ("prices",)}, "http://any.test/", {}, False),
        ({"crawls": ("prices",), "suffixes": ("de",)}, "http://a.fr/", {"crawl": "prices"}, False),
        ({"after": (403,)}, "http://any.test/", {"previous_status": 403}, True),
        ({"after": (403,)}, "http://any.test/", {"previous_status": 429}, False),
        ({"after": (403,)}, "http://any.test/", {}, False),
    ],
)
def test_rule_matches_if_all_its_conditions_hold(conditions, url, choice, matches):
    route = rules(EgressRule(ways=("a", "b"), **conditions)).route(url, EgressContext(**choice))

    assert route.names == (("a", "b") if matches else ("direct",))
    assert route.reason == ("egress.rules[1]" if matches else "no rule matches")


def test_first_matching_rule_decides_and_fetch_proxy_is_the_fallback():
    by = rules(
        EgressRule(ways=("a",), hosts=("a.test",)),
        EgressRule(ways=("b",), domains=("test",)),
        has_proxy=True,
    )

    urls = ("http://a.test/", "http://x.test/", "http://x.example/")
    assert [by.route(url).names for url in urls] == [("a",), ("b",), ("proxy",)]


def test_rules_for_a_status_take_precedence_over_others():
    by = rules(EgressRule(ways=("a",)), EgressRule(ways=("b",), after=(403, 429)))

    found = [
        by.route("http://x.test/", EgressContext(previous_status=n)).names for n in (0, 403, 429)
    ]
    assert found == [("a",), ("b",), ("b",)]


def test_route_changes_after_a_status_only_by_a_rule_and_once():
    by = rules(EgressRule(ways=("b",), after=(403,), hosts=("a.test",)))
    first, then = EgressContext(), EgressContext(previous_status=403)

    assert by.routes_differ("http://a.test/", first, 403)
    assert not by.routes_differ("http://a.test/", then, 403)
    assert not by.routes_differ("http://a.test/", first, 429)
    assert not by.routes_differ("http://other.test/", first, 403)
    assert not by.routes_differ("http://a.test/", EgressContext(way="c"), 403)
    assert not rules().routes_differ("http://a.test/", first, 403)


def test_explanations_list_conditional_routes():
    by = rules(
        EgressRule(ways=("a",), crawls=("prices",), domains=("test",)),
        EgressRule(ways=("b",), after=(403,)),
        EgressRule(ways=("c",)),
    )

    found = [
        (condition, route.names) for condition, route in by.conditional_routes("http://x.test/")
    ]
    assert found == [("after 403", ("b",)), ("for the crawl prices", ("a",))]
    assert [route.names for _, route in by.conditional_routes("http://x.example/")] == [("b",)]
