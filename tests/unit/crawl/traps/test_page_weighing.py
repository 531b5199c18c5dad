from dataclasses import replace

from aragog.crawl.traps.host_budget import LIKELY, HostBudget, LinkVerdict
from aragog.crawl.traps.link_order import MAX_OF_KIND, best_first
from aragog.crawl.traps.page_weighing import judge
from aragog.crawl.traps.template_record import Flaw
from aragog.crawl.traps.template_states import closed_templates
from aragog.crawl.traps.templates import PathWords, templates_of
from aragog.crawl.traps.traits import BREAK, traits_of_texts
from bench.traps.writer import Writer

SITE = "https://www.example.org"


def saying(text):
    return traits_of_texts(text, text)


def article(seed):
    return saying(Writer(str(seed)).paragraph(8))


def test_texts_on_two_sides_of_a_link_are_no_pair_of_words():
    one = traits_of_texts("", f"12.90{BREAK}4.50{BREAK}red socks{BREAK}")
    other = traits_of_texts("", f"4.50{BREAK}red socks{BREAK}12.90{BREAK}")

    assert (one.pairs, one.numbers) == (other.pairs, other.numbers)
    assert len(one.pairs) == 1
    assert not one.numbers


def test_a_link_that_varies_a_known_page_waits_until_no_other_is_in_progress():
    budget = HostBudget()
    links = [(f"{SITE}/bulbs", "Bulbs"), (f"{SITE}/bulbs?sort=name", "Name")]
    judge(budget, f"{SITE}/", article("home"), links)

    assert budget.verdict(f"{SITE}/bulbs", {}) is LinkVerdict.FOLLOW
    assert budget.verdict(f"{SITE}/bulbs?sort=name", {}) is LinkVerdict.HOLD

    judge(budget, f"{SITE}/bulbs", article("bulbs"), links)

    assert budget.verdict(f"{SITE}/bulbs?sort=name", {}) is LinkVerdict.FOLLOW


def test_of_links_that_wait_one_of_a_kind_is_followed_at_a_time():
    budget = HostBudget()
    links = [(f"{SITE}/bulbs?sort={name}", name) for name in ("name", "new", "price")]
    judge(budget, f"{SITE}/bulbs", article("bulbs"), links)

    verdicts = [budget.verdict(url, {}) for url, _ in links]

    assert verdicts == [LinkVerdict.FOLLOW, LinkVerdict.HOLD, LinkVerdict.HOLD]


def test_a_page_that_only_leads_to_unknown_templates_costs_a_request():
    budget = HostBudget()
    links = [(f"{SITE}/map/{n}/{n}", "Zoom") for n in range(9)]
    judge(budget, f"{SITE}/start", saying(""), links)

    assert budget.spent == 1.0


def test_histories_of_pages_cost_few_requests_although_their_texts_are_new():
    budget = HostBudget()
    for n in range(40):
        links = [(f"{SITE}/wiki/{n}?action=history", "History")]
        judge(budget, f"{SITE}/wiki/{n}", article(f"page {n}"), links)
    followed = 0
    for n in range(40):
        url = f"{SITE}/wiki/{n}?action=history"
        if budget.verdict(url, {}, is_last=True) is LinkVerdict.FOLLOW:
            followed += 1
            judge(budget, url, article(f"history of {n}"))

    assert 0 < followed <= 20
    assert budget.useful == 40
    assert budget.records["/wiki/{n}?action=history"].flaws[Flaw.FUNCTION] == followed


def test_a_list_with_a_sort_order_is_useful_if_it_alone_leads_to_new_pages():
    budget = HostBudget()
    for n in range(3):
        judge(budget, f"{SITE}/bulb/{n}", article(n))
    links = [(f"{SITE}/bulb/{n}", f"Bulb {n}") for n in range(3, 9)]
    judge(budget, f"{SITE}/list?order=new", saying("Bulbs"), links)

    assert budget.records["/list?order=new"].brought == 1


def test_lists_with_the_word_of_a_function_are_followed_once_they_lead_to_new_pages():
    budget, list_page = HostBudget(), templates_of(f"{SITE}/list?limit=9&from=99", PathWords())
    for n in range(3):
        judge(budget, f"{SITE}/bulb/{n}", article(n))
    for start in range(9, 72, 9):
        bulbs = range(start, start + 9)
        links = [(f"{SITE}/bulb/{n}", f"Bulb {n}") for n in bulbs]
        judge(budget, f"{SITE}/list?limit=9&from={start}", saying("Bulbs"), links)
        for n in bulbs:
            judge(budget, f"{SITE}/bulb/{n}", article(n))

    assert budget.expected(list_page) >= LIKELY


def test_many_small_pages_do_not_lower_what_is_usual_on_a_host():
    budget = HostBudget()
    for n in range(9):
        judge(budget, f"{SITE}/story/{n}", article(n))
    usual = budget.usual_news
    for n in range(200):
        judge(budget, f"{SITE}/member/{n}", saying(f"joined {n * 7} posts {n * 3}"))

    assert budget.usual_news >= 0.9 * usual


def test_another_version_of_a_manual_is_useful():
    budget = HostBudget()
    for version in ("main", "old"):
        for n in range(6):
            judge(budget, f"{SITE}/{version}/api/part{n}.html", article(n))

    assert budget.spent == 0.0


def test_the_same_page_behind_more_folders_is_a_copy():
    budget = HostBudget()
    judge(budget, f"{SITE}/contact/", article("contact"))
    judge(budget, f"{SITE}/news/old/contact/", article("contact"))

    assert budget.spent > 0.0


def test_of_a_kind_that_is_not_proven_a_bounded_number_is_judged_at_once():
    budget = HostBudget()
    urls = [f"{SITE}/item/{n}" for n in range(3 * MAX_OF_KIND)]

    assert len(best_first(budget, urls)) == MAX_OF_KIND

    for url in urls[:9]:
        judge(budget, url, article(url))

    assert len(best_first(budget, urls)) == len(urls)


def listed(urls):
    return [(url, url.rpartition("/")[2]) for url in urls]


def ads(count):
    return [f"{SITE}/ad/view?id={n}" for n in range(count)]


def test_expired_ads_between_real_ones_do_not_make_the_listed_ads_doubtful():
    budget = HostBudget()
    judge(budget, f"{SITE}/", article("home"), listed(ads(60)[::6]))
    for url in ads(60)[:48:6]:
        neighbor = url.replace("id=", "id=9")
        judge(budget, url, article(url), [(neighbor, "Next ad")])
        judge(budget, neighbor, saying("Sorry, this ad is no longer available."), [])

    chances = [
        budget.expected(templates_of(url, budget.words))
        for url in (f"{SITE}/ad/view?id=48", f"{SITE}/ad/view?id=942")
    ]

    assert chances[0] > 0.8
    assert chances[1] < LIKELY
    assert not closed_templates(budget)


def test_tables_of_results_are_useful_although_each_leads_to_further_ones():
    budget = HostBudget()
    stages = [f"{SITE}/race/{n}/stage-{s}" for n in range(6) for s in range(1, 9)]
    judge(budget, f"{SITE}/", article("home"), listed(stages[::8]))
    for at, url in enumerate(stages[::8]):
        times = " ".join(f"gap {n * 7 + at}.{n}" for n in range(30))
        judge(budget, url, saying(times), listed(stages[8 * at : 8 * at + 8]))

    assert budget.useful == 7
    assert budget.spent == 0.0


def test_pages_with_the_same_text_that_lead_to_ever_new_templates_become_useless():
    budget = HostBudget()
    text = saying("Please sign in to see this page of our members.")
    judge(budget, f"{SITE}/", article("home"), [])
    for n in range(8):
        judge(budget, f"{SITE}/go/{n}", text, [(f"{SITE}/way{n}/to/{n}", "on")])

    assert budget.records["/go/{n}"].flaws[Flaw.SAME]


def test_the_last_links_of_a_host_are_followed_if_few_wait():
    budget = HostBudget(useful=400, spent=19.0, held=12)
    budget.record("/list/{n}/by-author").add(0.0, Flaw.SAME)
    url = f"{SITE}/list/7/by-author"
    budget.record("/list/{n}/*").add(0.0, Flaw.SAME)
    budget.spent = budget.allowance + 5

    assert budget.verdict(url, {}, is_last=True) is LinkVerdict.FOLLOW

    budget.held = 40

    assert budget.verdict(url.replace("7", "8"), {}, is_last=True) is LinkVerdict.HOLD


def test_copies_with_a_parameter_that_changes_nothing_close_their_template():
    budget = HostBudget()
    budget.meaningless.add("?from=")
    budget.record("?from=").twins = 9
    text = article("answer")
    judge(budget, f"{SITE}/question/1", text)
    copy = replace(text, canonical=f"{SITE}/question/1")
    for n in range(9):
        judge(budget, f"{SITE}/answer/{n}?from=list", copy)

    assert budget.records["/answer/{n}"].flaws[Flaw.COPY] == 9
