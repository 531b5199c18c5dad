from collections import deque

import pytest

from aragog.crawl.traps.host_budget import MOST_TEMPLATES, HostBudget, LinkVerdict, TemplateDecision
from aragog.crawl.traps.page_weighing import judge
from aragog.crawl.traps.traits import traits_of_texts
from bench.traps.harmless_sites import gallery
from bench.traps.rules import crawl_by_rules
from bench.traps.trapped_sites import trapped_sites
from bench.traps.writer import Writer

SITE = "https://www.example.org"


def article(seed):
    text = Writer(str(seed)).paragraph(6)
    return traits_of_texts(text, text)


def saying(text):
    return traits_of_texts(text, text)


def follow(budget, urls):
    """The URLs that are followed now."""
    return [url for url in urls if budget.verdict(url, {}) is LinkVerdict.FOLLOW]


def crawl(budget, links, bring):
    """Fetch the links in rounds until none is followed; those that were fetched."""
    waiting, fetched = deque(links), []
    while allowed := follow(budget, waiting):
        for url in allowed:
            judge(budget, url, bring(url), ())
            waiting.remove(url)
        fetched += allowed
    return fetched


def test_a_template_whose_pages_say_something_is_followed_whole():
    urls = [f"{SITE}/item/{n}" for n in range(300)]

    assert sorted(crawl(HostBudget(), urls, article)) == sorted(urls)


def test_a_template_whose_pages_all_say_the_same_is_closed_after_a_few():
    budget = HostBudget()

    fetched = crawl(
        budget,
        [f"{SITE}/calendar/{n}" for n in range(300)],
        lambda url: saying("There are no events in this month. " + url[-1]),
    )

    assert len(fetched) <= 8
    assert "/calendar/{n}" in budget.closed()


def test_a_part_of_a_url_that_changes_nothing_is_found_out():
    budget = HostBudget()
    plain = [f"{SITE}/item/{n}" for n in range(20)]
    crawl(budget, plain, article)

    fetched = crawl(
        budget, [f"{url}?print=1" for url in plain], lambda url: article(url.split("?")[0])
    )

    assert len(fetched) <= 8
    assert budget.verdict(f"{SITE}/item/3?print=2", {}) is LinkVerdict.DROP


def test_links_are_held_while_the_pages_on_trial_are_under_way():
    budget = HostBudget()

    verdicts = [budget.verdict(f"{SITE}/item/{n}", {}) for n in range(3)]

    assert verdicts == [LinkVerdict.FOLLOW, LinkVerdict.HOLD, LinkVerdict.HOLD]


def test_pages_that_never_came_hold_links_until_upkeep_forgets_them():
    budget = HostBudget()
    follow(budget, [f"{SITE}/item/1"])

    budget.forget_pending()

    assert budget.verdict(f"{SITE}/item/2", {}) is LinkVerdict.FOLLOW


def test_a_host_spends_little_on_many_templates_that_bring_nothing():
    budget = HostBudget()
    urls = [f"{SITE}/{word * 3}/{n}" for word in "abcdefghijklmnop" for n in range(5)]

    fetched = crawl(budget, urls, lambda url: saying("Nothing was found here."))

    assert len(fetched) <= 15


def test_an_operator_opens_and_closes_a_template():
    url, said = f"{SITE}/item/{{}}", {"/item/{n}": TemplateDecision.OPEN}
    budget = HostBudget()

    opened = [budget.verdict(url.format(n), said) for n in range(50)]
    closed = budget.verdict(url.format(99), {"/item/{n}": TemplateDecision.CLOSED})

    assert set(opened) == {LinkVerdict.FOLLOW}
    assert closed is LinkVerdict.DROP
    assert budget.why_not(url.format(99), {"/item/{n}": TemplateDecision.CLOSED})


def test_a_page_is_judged_once():
    budget = HostBudget()
    for _ in range(9):
        judge(budget, f"{SITE}/item/1", article("x"), ())

    assert budget.templates["/item/{n}"].brought == 1


def test_templates_are_bounded():
    budget = HostBudget()
    for n in range(3 * MOST_TEMPLATES):
        judge(budget, f"{SITE}/{'a' * (n % 14 + 1)}/x{'/y' * (n // 14 % 9)}?q{n}=1", article(n), ())

    assert len(budget.templates) <= MOST_TEMPLATES


@pytest.mark.parametrize("site", [gallery()], ids=lambda site: site.host)
def test_no_page_of_a_harmless_site_is_lost(site):
    score = crawl_by_rules([site], most_of_host=1_000).scores[site.host]

    assert score.fetched == site.pages
    assert score.in_trap == 0


@pytest.mark.parametrize(
    "site",
    [site for site in trapped_sites() if site.host.startswith("www.ardmore")],
    ids=lambda site: site.host,
)
def test_a_trap_takes_few_requests_and_no_real_page_is_lost(site):
    score = crawl_by_rules([site], most_of_host=1_000).scores[site.host]

    assert score.fetched == site.pages
    assert score.in_trap <= 0.12 * len(site.pages)
