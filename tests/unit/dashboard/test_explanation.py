"""The explanation of a URL when only the store is available."""

from dataclasses import replace

import pytest

from aragog.api.json_values import to_json
from aragog.api.operations.values import BUILT_IN
from aragog.bootstrap.dashboard import components
from aragog.dashboard.explanation import explain_url
from aragog.errors import InvalidUrl
from aragog.settings import EgressRule, EgressSettings, RedisSettings, WaySettings
from aragog.urlstore.records import Likeness, OutLink
from tests.support.stores import SAME, page
from urlspelling.canonical import Evidence, decide

PAGE, ALIAS = "http://example.com/page", "http://example.com/page?ref=home"


@pytest.fixture
def system(offline):
    return components(offline)


def reported(system, url, title):
    sections = {section.title: section for section in explain_url(url, system).sections}
    return sections[title]


def texts(section):
    return {line.name: line.text for line in section.lines}


def test_normalization_steps_are_reported(system):
    lines = texts(reported(system, "HTTP://EXAMPLE.com/page?utm_source=x", "spelling"))

    assert lines["normalized"] == PAGE
    assert PAGE in lines.values()
    assert len(lines) > 2


def test_unavailable_part_affects_only_its_section(system):
    system.store().put(PAGE, {"title": b"A page"})

    explanation = explain_url(PAGE, system)

    silent = {section.title for section in explanation.sections if section.problem}
    assert silent == {"egress", "robots.txt", "preferences", "slot", "queue"}
    assert texts(reported(system, PAGE, "fields")) == {"title": "A page"}


def test_decision_of_the_ssrf_filter_is_explained(system):
    assert "127.0.0.1" in texts(reported(system, "http://127.0.0.1/", "SSRF filter"))["address"]


def test_egress_routes_are_explained_even_without_redis(offline):
    ways = {
        "office": WaySettings(proxy="http://p.test:1"),
        "far": WaySettings(addresses=("192.0.2.1",)),
    }
    rules = (
        EgressRule(ways=("office", "direct"), domains=("example.com",)),
        EgressRule(ways=("far",), after=(403,)),
    )
    system = components(replace(offline, egress=EgressSettings(ways, rules)))

    section = reported(system, PAGE, "egress")

    assert [(line.name, line.text, line.note) for line in section.lines] == [
        ("egress route", "office, else direct", "egress.rules[1]"),
        ("after 403", "far", "egress.rules[2]"),
    ]
    assert section.problem


def test_takedowns_and_blocked_hosts_are_explained(offline):
    politeness = replace(offline.politeness, blocked_hosts=("blocked.test",))
    system = components(replace(offline, politeness=politeness))
    system.store().takedowns.take_down(url=PAGE)

    gone = texts(reported(system, PAGE, "operator"))
    blocked = texts(reported(system, "http://www.blocked.test/", "operator"))

    assert gone["taken down"].startswith("yes")
    assert gone["blocked"] == "no"
    assert blocked == {
        "taken down": "no",
        "blocked": "politeness.blocked_hosts contains blocked.test",
    }


def test_field_is_shown_with_its_age_and_source(system):
    now_ms = system.clock.now_ms()
    fields = {"title": b"\x1b[31mred\n\xff"}
    system.store().put(PAGE, fields, at_ms=now_ms - 120_000, provenance={"title": "og:title"})

    (line,) = reported(system, PAGE, "fields").lines

    assert line.text == " [31mred �"
    assert line.note.startswith("from og:title, written 2 min")


def test_alias_is_shown_with_its_reasons_and_links_are_counted(system):
    store = system.store()
    store.put(PAGE, {"title": b"A page"})
    store.links.add(PAGE, [OutLink("http://example.com/a"), OutLink("http://example.com/b")])
    store.aliases.merge("http://example.com/old", PAGE, reasons=["permanent redirect"])

    assert texts(reported(system, "http://example.com/old", "store"))["canonical"] == PAGE
    links = texts(reported(system, PAGE, "links"))
    assert links == {"outlinks": "2", "inlinks": "0", "alias": "http://example.com/old"}


def test_alias_is_provisional_until_its_canonical_url_is_fetched(system):
    decision = decide(Evidence(url=ALIAS, final_url=ALIAS, link_canonical=(PAGE,)))
    brought = {
        "fields": {"title": b"A page"}, "canonical_reasons": decision.reasons, "likeness": SAME,
    }  # fmt: skip
    system.store().write_pages([page(ALIAS, canonical_url=PAGE, provisional=True, **brought)])

    def reasons():
        return [
            line.text for line in reported(system, ALIAS, "store").lines if line.name == "because"
        ]

    named = f"<link rel=canonical> names {PAGE}"
    before = reasons()
    system.store().write_pages([page(PAGE, fields={"title": b"A page"}, likeness=SAME)])

    assert before == [named, f"provisional until {PAGE} is fetched"]
    assert reasons() == [named]


def test_distrusted_canonical_url_is_explained_for_each_page(system):
    store, other = system.store(), f"{ALIAS}-2"
    for url in (ALIAS, other):
        decision = decide(Evidence(url=url, final_url=url, link_canonical=(PAGE,)))
        brought = {"fields": {"title": url.encode()}, "canonical_reasons": decision.reasons}
        store.write_pages(
            [page(url, canonical_url=PAGE, provisional=True, likeness=Likeness(url), **brought)]
        )

    for url in (ALIAS, other):
        lines = [line.text for line in reported(system, url, "store").lines]
        assert url in lines
        assert any(PAGE in line and "not trusted" in line for line in lines)
    assert (
        "name it as canonical, but their content differs"
        in texts(reported(system, PAGE, "store"))["not trusted"]
    )


def test_unknown_url_has_an_explanation_too(system):
    assert texts(reported(system, PAGE, "store")) == {"stored": "no record"}
    assert reported(system, PAGE, "fields").lines == ()


def test_explanation_is_serialized_as_json(system):
    explanation = to_json(explain_url(PAGE, system), BUILT_IN)

    assert explanation["url"] == PAGE
    assert explanation["sections"][0]["lines"][0] == {
        "name": "normalized",
        "text": PAGE,
        "note": "",
    }


def test_invalid_url_is_refused(system):
    with pytest.raises(InvalidUrl):
        explain_url("nonsense", system)


@pytest.mark.redis
def test_pause_is_explained(offline, redis_url):
    system = components(replace(offline, redis=RedisSettings(url=redis_url)))
    system.limiter().pause("example.com", 600)

    assert texts(reported(system, PAGE, "slot"))["paused"].endswith(
        "more: its server answered 429 or 503"
    )


@pytest.mark.redis
@pytest.mark.parametrize(
    ("robots", "rate", "note"),
    [
        (b"User-agent: *\nCrawl-delay: 5\n", "0.2 requests/s", "Crawl-delay 5 s of robots.txt"),
        (b"User-agent: *\nCrawl-delay: 0.01\n", "10 requests/s", ""),
        (b"", "10 requests/s", ""),
    ],
)
def test_effective_rate_is_reported(offline, redis_url, robots, rate, note):
    system = components(replace(offline, redis=RedisSettings(url=redis_url)))
    system.robots.put("http://example.com", 200, robots, system.clock.now_ms())

    (line,) = [line for line in reported(system, PAGE, "slot").lines if line.name == "rate now"]

    assert (line.text, line.note) == (rate, note)
