"""Request-rate and Visit-time of robots.txt, as in the extended standard of 1996."""

import pytest

from aragog.crawl.politeness.robots_rules import RobotsRules


def rules(*lines: str) -> RobotsRules:
    text = "\n".join(("User-agent: *", *lines, "Disallow: /private"))
    return RobotsRules.unpack(RobotsRules.parse(text.encode()).packed())


def at(hours: int, minutes: int = 0) -> float:
    """That time of a day, UTC."""
    return 20_000 * 86_400 + hours * 3600 + minutes * 60


@pytest.mark.parametrize(
    ("value", "delay_s"),
    [
        ("1/10m", 600), ("1/5", 5), ("5/1m", 12), ("1/30S", 30), ("2/1h", 1800), ("1 / 20", 20),
        ("0/5", None), ("1/0", None), ("fast", None), ("1/5 late", None), ("1/5d", None),
        ("-1/5", None), ("", None),
    ],
)  # fmt: skip
def test_request_rate_becomes_a_delay(value, delay_s):
    assert rules(f"Request-rate: {value}").crawl_delay_s("aragog") == delay_s


def test_request_rates_apply_at_their_times():
    """The example of the extended standard."""
    timed = rules(
        "Request-rate: 1/10m 1300-1659", "Request-rate: 1/20m 1700-0459", "Request-rate: 5/1m 0500-1259"
    )  # fmt: skip

    found = [timed.crawl_delay_s("aragog", at(*when)) for when in ((13, 0), (16, 59), (17, 0), (4, 59), (5, 0))]  # fmt: skip
    assert found == [600, 600, 1200, 1200, 12]
    assert timed.crawl_delay_s("aragog") == 1200


def test_longest_of_request_rate_and_crawl_delay_counts():
    both = rules("Crawl-delay: 7", "Request-rate: 1/5")

    assert both.crawl_delay_s("aragog", at(3)) == 7
    assert rules("Crawl-delay: 3", "Request-rate: 1/5").crawl_delay_s("aragog", at(3)) == 5


@pytest.mark.parametrize(
    ("value", "when", "wait_min"),
    [
        ("0600-0845", (7, 0), 0),
        ("0600-0845", (8, 45), 0),
        ("0600-0845", (8, 46), 21 * 60 + 14),
        ("0600-0845", (5, 30), 30),
        ("2200-0400", (23, 0), 0),
        ("2200-0400", (3, 59), 0),
        ("2200-0400", (12, 0), 600),
        ("0000-2359", (23, 59), 0),
        ("0300-0301", (3, 59), 0),  # a span lasts at least an hour
        ("0300-0301", (4, 1), 22 * 60 + 59),
        ("2500-0100", (12, 0), 0),
        ("0600", (12, 0), 0),
    ],
)
def test_visits_wait_for_their_time(value, when, wait_min):
    assert rules(f"Visit-time: {value}").visit_wait_s("aragog", at(*when)) == wait_min * 60


def test_any_of_several_visit_times_counts():
    several = rules("Visit-time: 0600-0800", "Visit-time: 1800-2000")

    assert several.visit_wait_s("aragog", at(19)) == 0
    assert several.visit_wait_s("aragog", at(12)) == 6 * 3600


def test_lines_belong_to_their_group():
    text = b"User-agent: other\nVisit-time: 0600-0700\nRequest-rate: 1/60\nDisallow: /\n\n"
    text += b"User-agent: aragog\nCrawl-delay: 1\nDisallow: /x\n"
    parsed = RobotsRules.parse(text)

    assert parsed.crawl_delay_s("aragog") == 1
    assert parsed.visit_wait_s("aragog", at(12)) == 0
    assert parsed.crawl_delay_s("other") == 60
    assert parsed.visit_wait_s("other", at(12)) == 18 * 3600


def test_timed_lines_do_not_end_the_list_of_agents():
    text = b"User-agent: a\nRequest-rate: 1/5\nUser-agent: b\nDisallow: /x\n"

    assert not RobotsRules.parse(text).allows("a", "http://site.test/x")


def test_report_names_the_line():
    lines = rules("Request-rate: 1/10m 1300-1659", "Visit-time: 0600-0845").timed_lines("aragog")

    assert lines == [
        "one request per 600 s from 13:00 to 16:59 UTC (robots.txt line 2, Request-rate)",
        "visits from 06:00 to 08:45 UTC (robots.txt line 3, Visit-time)",
    ]
