from collections import deque

import pytest

from aragog.crawl.traps.host_budget import MAX_RECORDS, HostBudget, LinkVerdict, TemplateDecision
from aragog.crawl.traps.page_weighing import judge
from aragog.crawl.traps.template_states import closed_templates, why_not_followed
from aragog.crawl.traps.templates import templates_of
from aragog.crawl.traps.traits import traits_of_texts
from bench.traps.harmless_sites import gallery
from bench.traps.rules import crawl_by_rules
from bench.traps.trapped_kinds import trapped_kinds
from bench.traps.trapped_sites import trapped_sites
from bench.traps.writer import Writer

SITE = "https://www.example.org"


def article(seed):
    text = Writer(str(seed)).paragraph(6)
    return traits_of_texts(text, text)


def page_with(text):
    return traits_of_texts(text, text)


def follow(budget, urls):
    """The URLs that are followed now."""
    return [url for url in urls if budget.verdict(url, {}) is LinkVerdict.FOLLOW]


def crawl(budget, links, bring):
    """Fetches the links in rounds until none is followed; returns those fetched."""
    waiting, fetched = deque(links), []
    while allowed := follow(budget, waiting):
        for url in allowed:
            judge(budget, url, bring(url), ())
            waiting.remove(url)
        fetched += allowed
    return fetched


def test_template_with_varied_pages_is_followed_completely():
    urls = [f"{SITE}/item/{n}" for n in range(300)]

    assert sorted(crawl(HostBudget(), urls, article)) == sorted(urls)


def test_template_with_identical_pages_is_closed_after_a_few():
    budget = HostBudget()

    fetched = crawl(
        budget,
        [f"{SITE}/calendar/{n}" for n in range(300)],
        lambda url: page_with("There are no events in this month. " + url[-1]),
    )

    assert len(fetched) <= 12
    assert "/calendar/{n}" in closed_templates(budget)


def test_parameter_that_changes_nothing_is_detected():
    budget = HostBudget()
    plain = [f"{SITE}/item/{n}" for n in range(20)]
    crawl(budget, plain, article)

    fetched = crawl(
        budget, [f"{url}?print=1" for url in plain], lambda url: article(url.split("?")[0])
    )

    assert len(fetched) <= 8
    assert budget.verdict(f"{SITE}/item/3?print=2", {}) is LinkVerdict.DROP


def test_links_are_held_while_trial_pages_are_being_fetched():
    budget = HostBudget()

    verdicts = [budget.verdict(f"{SITE}/item/{n}", {}) for n in range(3)]

    assert verdicts == [LinkVerdict.FOLLOW, LinkVerdict.HOLD, LinkVerdict.HOLD]


def test_pages_that_never_arrive_hold_links_until_maintenance_forgets_them():
    budget = HostBudget()
    follow(budget, [f"{SITE}/item/1"])

    budget.forget_pending()

    assert budget.verdict(f"{SITE}/item/2", {}) is LinkVerdict.FOLLOW


def test_host_with_many_useless_templates_costs_few_requests():
    budget = HostBudget()
    urls = [f"{SITE}/{word * 3}/{n}" for word in "abcdefghijklmnop" for n in range(5)]

    fetched = crawl(budget, urls, lambda url: page_with("Nothing was found here."))

    assert len(fetched) <= 15


def test_operator_can_open_and_close_a_template():
    url, decisions = f"{SITE}/item/{{}}", {"/item/{n}": TemplateDecision.OPEN}
    budget = HostBudget()

    opened = [budget.verdict(url.format(n), decisions) for n in range(50)]
    closed = budget.verdict(url.format(99), {"/item/{n}": TemplateDecision.CLOSED})

    assert set(opened) == {LinkVerdict.FOLLOW}
    assert closed is LinkVerdict.DROP
    assert why_not_followed(budget, url.format(99), {"/item/{n}": TemplateDecision.CLOSED})


def test_page_is_judged_once():
    budget = HostBudget()
    for _ in range(9):
        judge(budget, f"{SITE}/item/1", article("x"), ())

    assert budget.records["/item/{n}"].brought == 1


def test_number_of_templates_is_limited():
    budget = HostBudget()
    for n in range(3 * MAX_RECORDS):
        judge(budget, f"{SITE}/{'a' * (n % 14 + 1)}/x{'/y' * (n // 14 % 9)}?q{n}=1", article(n), ())

    assert len(budget.records) <= MAX_RECORDS


@pytest.mark.parametrize("site", [gallery()], ids=lambda site: site.host)
def test_no_page_of_a_harmless_site_is_lost(site):
    score = crawl_by_rules([site], max_of_host=1_000).scores[site.host]

    assert score.fetched == site.pages
    assert score.in_trap == 0


@pytest.mark.parametrize(
    "site",
    [site for site in trapped_sites() if site.host.startswith("www.ardmore")],
    ids=lambda site: site.host,
)
def test_trap_costs_few_requests_and_no_real_page_is_lost(site):
    score = crawl_by_rules([site], max_of_host=1_000).scores[site.host]

    assert score.fetched == site.pages
    assert score.in_trap <= 0.2 * len(site.pages)


@pytest.mark.parametrize("host", ["www.denholm-daily.test", "hotel.fenwick.test"])
def test_click_tracking_links_and_map_views_end_soon(host):
    site = next(site for site in trapped_kinds() if site.host == host)

    score = crawl_by_rules([site], max_of_host=400).scores[host]

    assert score.fetched == site.pages
    assert score.in_trap <= 0.12 * len(site.pages)


def numbers(seed, count=12):
    return " ".join(str(seed * 1_000 + n) for n in range(count))


def fetch_all(budget, page_of, *, limit=400, at=f"{SITE}/"):
    """Follows links from a first page, one page at a time; returns the URLs fetched."""
    waiting, fetched, held = deque([at]), [], {}
    while waiting and len(fetched) < limit:
        url = waiting.popleft()
        fetched.append(url)
        text, links = page_of(url)
        judge(budget, url, page_with(text), [(link, link[-9:]) for link in links])
        known = {*fetched, *waiting}
        for link in [*dict.fromkeys(links), *held]:
            if link in known:
                continue
            verdict = budget.verdict(link, {})
            held.pop(link, None)
            if verdict is LinkVerdict.FOLLOW:
                waiting.append(link)
                known.add(link)
            elif verdict is LinkVerdict.HOLD:
                held[link] = None
    return fetched


def test_endless_pages_with_only_numbers_cost_few_requests():
    def view(url):
        if url == f"{SITE}/":
            return "a map", [f"{SITE}/map/at/1"]
        n = int(url.rpartition("/")[2])
        return f"height {numbers(n)}", [f"{SITE}/map/at/{m}" for m in (2 * n, 2 * n + 1, n // 2)]

    assert len(fetch_all(HostBudget(), view)) <= 25


def test_missing_pages_between_real_ones_do_not_open_all_higher_numbers():
    budget = HostBudget()
    for n in range(1, 91):
        judge(budget, f"{SITE}/item/{n}", article(n))
    missing = [n for n in range(100, 160, 10) if _is_allowed(budget, n)]
    for n in missing:
        judge(budget, f"{SITE}/item/{n}", page_with("There is no such item here any more, sorry."))
        judge(budget, f"{SITE}/item/{n - 60}", article(n - 60))
    budget.spent = budget.allowance  # otherwise it may be tried

    assert not _is_allowed(budget, 200)


def _is_allowed(budget, number):
    return budget.verdict(f"{SITE}/item/{number}", {}) is LinkVerdict.FOLLOW


def test_labyrinth_costs_few_requests():
    def garden(url):
        if url == f"{SITE}/":
            return Writer("home").paragraph(6), [f"{SITE}/garden/"]
        name = url.removeprefix(SITE)
        links = [
            f"{SITE}/garden/{Writer(f'{name} {n}').title().replace(' ', '')}/" for n in range(4)
        ]
        return Writer(name).paragraph(6), links

    assert len(fetch_all(HostBudget(), garden)) <= 26


def test_new_section_is_tried_at_the_end_although_the_trials_are_spent():
    budget = HostBudget()
    for section in ("news", "people", "culture"):
        for n in range(2, 5):
            judge(budget, f"{SITE}/{section}/page/{n}/", article(f"{section} {n}"))
    budget.spent = 15.0

    assert budget.verdict(f"{SITE}/history/page/2/", {}) is LinkVerdict.HOLD
    assert budget.verdict(f"{SITE}/history/page/2/", {}, is_last=True) is LinkVerdict.FOLLOW


def test_function_that_is_not_tried_yet_is_explained():
    why = why_not_followed(HostBudget(), f"{SITE}/wiki/Bridge?action=history", {})

    assert why.startswith("action=history: names a function of the site")


def test_template_is_closed_after_missing_pages_in_a_row():
    budget = HostBudget()
    for n in range(6):
        judge(budget, f"{SITE}/version/{n}/all", article(n))
    for n in range(6, 40):
        judge(budget, f"{SITE}/version/{n}/all", None)

    assert "/version/{n}/*" in closed_templates(budget)
    assert budget.verdict(f"{SITE}/version/99/all", {}, is_last=True) is LinkVerdict.HOLD


@pytest.mark.parametrize(("held", "cost"), [(20, 0.0), (200, 1.0)])
def test_products_that_lead_to_more_products_cost_nothing_while_few_links_wait(held, cost):
    budget = HostBudget(useful=40, held=held, usual_news=200.0)
    link = templates_of(f"{SITE}/product.php?id=7", budget.words)
    section = budget.record(link.section)
    section.brought, section.good, section.grown = 30, 5.0, 5.0

    judge(budget, link.url, page_with(numbers(1)), [(f"{SITE}/product.php?id=8", "80 cm")])

    assert section.brought == 31
    assert budget.spent == cost


def test_template_is_trusted_only_while_few_links_wait():
    budget = HostBudget()
    for n in range(30):
        judge(budget, f"{SITE}/item/{n}", article(n))
    link = templates_of(f"{SITE}/item/99", budget.words)

    assert budget.is_trusted(link)
    budget.held = 61  # more than two per useful page
    assert not budget.is_trusted(link)


def test_pages_without_new_words_that_vary_a_known_url_have_a_bound():
    budget = HostBudget()
    judge(budget, f"{SITE}/table/1", article(1), [(f"{SITE}/table/1?rows=sex", "Sex")])
    branch = templates_of(f"{SITE}/table/1", budget.words).branch
    view = f"{SITE}/table/1?cols=year&rows=age"

    budget.record(branch).variants = 51
    assert budget.verdict(view, {}) is not LinkVerdict.DROP
    budget.held = 500
    assert budget.verdict(f"{view},sex", {}) is LinkVerdict.DROP
    assert budget.verdict(f"{SITE}/table/2", {}, is_last=True) is LinkVerdict.FOLLOW


def test_tables_of_numbers_that_vary_known_ones_are_counted():
    budget = HostBudget()
    judge(budget, f"{SITE}/table/1", article(1))
    branch = templates_of(f"{SITE}/table/1", budget.words).branch

    judge(budget, f"{SITE}/table/1?cols=year&rows=age", page_with(numbers(1)))

    assert budget.record(branch).variants == 1
