import pytest

from bench.traps.measure import Origin
from bench.traps.separability import RecordedCrawl, Row, area, fit
from bench.traps.trapped_kinds import trapped_kinds


def rows(values):
    return [Row({"news": news}, is_real, "/a/{n}") for news, is_real in values]


def test_area_is_the_share_of_pairs_in_the_right_order():
    some = rows([(0.9, True), (0.4, False), (0.3, True), (0.1, False)])

    assert area(some, lambda row: row.features["news"]) == pytest.approx(0.75)


def test_area_counts_equal_scores_by_half():
    assert area(rows([(1.0, True), (1.0, False)]), lambda _: 0.5) == pytest.approx(0.5)


def test_fitted_weight_has_the_sign_of_the_feature():
    some = rows([(n / 10, n % 10 > 4) for n in range(10)] * 20)

    weights = fit(some)

    assert weights["news"] > 0 > weights[""]


def test_crawl_records_links_and_pages_of_both_kinds():
    site = next(site for site in trapped_kinds() if site.host == "hotel.fenwick.test")
    crawl = RecordedCrawl(Origin.of([site]), site)

    crawl.run()

    assert {row.is_real for row in crawl.links} == {True, False}
    assert {row.is_real for row in crawl.pages} == {True, False}
    assert crawl.links[0].features.keys() < crawl.pages[0].features.keys()
