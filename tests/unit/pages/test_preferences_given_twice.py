"""Repeated statements about the use of a page: the strictest counts, not the last."""

from itertools import permutations

import pytest

from aragog.crawl.pipeline.messages import FetchResult, UrlJob
from aragog.crawl.politeness.robots_rules import RobotsRules
from aragog.crawl.politeness.tdm_file import TdmRules, read_tdm_file
from aragog.crawl.stages.page_analysis import read_page
from aragog.fetch_record.outcome import FetchRecord, OutcomeKind
from aragog.pages.preferences import (
    AI_TRAIN,
    DRAFTS,
    SEARCH,
    content_usage,
    header_statements,
    meta_statements,
)
from aragog.pages.preferences import refused_purpose as refused
from richpins.robots_meta import PageRobots, from_headers, from_meta, unavailable_at_ms

EARLY, LATE = "2027-01-31", "Sat, 31 Jul 2032 10:00:00 GMT"
STRICT_AND_LAX = [
    ("unavailable_after", EARLY, LATE),
    ("unavailable_after", EARLY, "soon"),
    ("unavailable_after", EARLY, ""),
    ("max-snippet", "0", "-1"),
    ("max-snippet", "0", "200"),
    ("max-snippet", "0", "many"),
    ("max-video-preview", "5", "-1"),
    ("max-image-preview", "none", "large"),
    ("max-image-preview", "none", "huge"),
]


def directive(robots: PageRobots, name: str) -> str:
    return str(getattr(robots, name.replace("-", "_")))


def by_header(*values):
    return from_headers([("X-Robots-Tag", value) for value in values], agent="aragog")


def by_meta(*values):
    return from_meta([("robots", value) for value in values], agent="aragog")


@pytest.mark.parametrize("read", [by_header, by_meta])
@pytest.mark.parametrize(("name", "strict", "lax"), STRICT_AND_LAX)
def test_strictest_of_a_repeated_directive_counts(read, name, strict, lax):
    for first, second in permutations((f"{name}: {strict}", f"{name}: {lax}")):
        assert directive(read(f"{first}, {second}"), name) == strict
        assert directive(read(first, second), name) == strict


@pytest.mark.parametrize("places", list(permutations(("header", "meta"))))
@pytest.mark.parametrize(("name", "strict", "lax"), STRICT_AND_LAX[:1])
def test_strictest_of_header_and_element_counts(places, name, strict, lax):
    values = dict(zip(places, (f"{name}: {lax}, {name}: {strict}", f"{name}: {lax}"), strict=True))
    page = f'<meta name=robots content="{values["meta"]}">'.encode()
    fetch = FetchRecord(
        url="https://a.test/", outcome=OutcomeKind.FETCHED, final_url="https://a.test/", status=200,
        content_type="text/html", headers=(("X-Robots-Tag", values["header"]),),
    )  # fmt: skip
    result = FetchResult(job=UrlJob(url="https://a.test/"), fetch=fetch)

    read = read_page(result, page, agent="aragog", max_links=10, drafts=DRAFTS)

    assert read.unavailable_after_ms == unavailable_at_ms(strict)


def test_directive_for_this_crawler_after_a_date_counts():
    robots = by_header(f"unavailable_after: {LATE}, aragog: unavailable_after: {EARLY}, noai")

    assert (robots.unavailable_after, robots.noai) == (EARLY, True)


def test_directive_for_another_crawler_after_a_date_is_ignored():
    assert not by_header(f"unavailable_after: {LATE}, otherbot: noindex").noindex


@pytest.mark.parametrize("values", list(permutations("ny")))
def test_n_wins_for_a_use_stated_twice(values):
    usage = ", ".join(f"train-ai={value}" for value in values)
    lines = [("Content-Usage", f"train-ai={value}") for value in values]
    signals = [("Content-Signal", f"ai-train={'no' if a == 'n' else 'yes'}") for a in values]
    reservations = [("tdm-reservation", "1" if value == "n" else "0") for value in values]
    joined = [("TDM-Reservation", ", ".join(value for _, value in reservations))]
    robots = RobotsRules.parse(f"User-agent: *\nContent-Usage: {usage}\n".encode())

    assert refused(content_usage(usage, "here"), [AI_TRAIN])
    assert robots.use_refusal("aragog", [AI_TRAIN], DRAFTS, "https://a.test/")
    for headers in (lines, signals, reservations, joined):
        assert refused(header_statements(headers, DRAFTS), [AI_TRAIN])
    assert refused(meta_statements(reservations), [AI_TRAIN])


def test_malformed_line_does_not_hide_others():
    headers = [("Content-Usage", "search=n"), ("Content-Usage", "=")]

    assert refused(header_statements(headers, DRAFTS), [SEARCH])


@pytest.mark.parametrize(
    "body",
    [
        b'[{"location": "/", "tdm-reservation": 1, "tdm-reservation": 0}]',
        b'[{"location": "/", "tdm-reservation": 0, "tdm-reservation": 1}]',
        b'[{"location": "/", "tdm-reservation": 0}, {"location": "/", "tdm-reservation": 1}]',
        b'[{"location": "/", "tdm-reservation": 1}, {"location": "/", "tdm-reservation": 0}]',
    ],
)
def test_reservation_wins_for_a_repeated_path_in_tdmrep_json(body):
    assert refused(TdmRules(read_tdm_file(body)).statements("/a"), [AI_TRAIN])


def test_first_matching_path_in_tdmrep_json_decides():
    body = b'[{"location": "/a", "tdm-reservation": 0}, {"location": "/", "tdm-reservation": 1}]'

    assert not refused(TdmRules(read_tdm_file(body)).statements("/a"), [AI_TRAIN])
