"""The pages in headless Chromium: what a user sees at 1280 px, and what the controls do."""

import pytest
from playwright.sync_api import expect

from tests.support.chromium import WIDTH, chromium_or_skip, chromium_page
from tests.support.flower_data import HOSTILE, LONG, SMALL_DOMAINS, VASE, fill
from tests.support.flower_server import flower_system
from tests.support.page_quality import SCREENS, background, overflow_px, show_on, violations

pytestmark = [pytest.mark.redis, pytest.mark.slow]

PAGES = (
    "/aragog/domains",
    f"/aragog/domains?domain={LONG}",
    f"/aragog/url?url={VASE}",
    "/pinlater/queues",
    "/pinlater/jobs?queue=fetch&state=pending",
    "/pinlater/jobs?queue=canonicalize&state=running",
    "/pinlater/jobs?queue=canonicalize&state=failed",
    "/broker",
)
OVERFLOWING = """() => [document.documentElement, ...document.querySelectorAll('.table-responsive')]
    .filter(box => box.scrollWidth > box.clientWidth)
    .map(box => [box.className || box.tagName, box.scrollWidth, box.clientWidth])"""
# Cells whose text breaks within a word: a range over the word has two rectangles.
BROKEN_WORDS = r"""() => [...document.querySelectorAll(
        'th, td:not(.pinlater-text):not(.text-break)')].flatMap(cell => {
    const found = [], texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT)
    while (texts.nextNode()) {
        for (const word of texts.currentNode.data.matchAll(/[\p{L}\p{N}]+/gu)) {
            const range = document.createRange()
            range.setStart(texts.currentNode, word.index)
            range.setEnd(texts.currentNode, word.index + word[0].length)
            const tops = new Set([...range.getClientRects()].map(box => Math.round(box.top)))
            if (tops.size > 1) found.push(word[0])
        }
    }
    return found
})"""


@pytest.fixture(scope="module")
def flower():
    chromium = chromium_or_skip()
    # Pages that reload themselves every 10 s would interrupt slow checks of them.
    with flower_system(FLOWER_AUTO_REFRESH="false") as system:
        fill(system.settings)
        with chromium_page(chromium) as page:
            yield system, page


@pytest.fixture
def visit(flower):
    system, page = flower

    def go(path):
        page.goto(f"{system.url}{path}")
        return page

    return go


def cells(page, table, number):
    return page.locator(f"#{table} tbody tr td:nth-child({number})")


def column(page, table, number):
    """The current texts; after a click, `expect` waits until the page shows the effect."""
    return cells(page, table, number).all_inner_texts()


@pytest.mark.parametrize("path", PAGES)
def test_every_column_is_visible_and_no_word_is_broken(visit, path):
    page = visit(path)

    assert page.locator("main table").count() > 0
    assert page.evaluate(OVERFLOWING) == []
    assert page.evaluate(BROKEN_WORDS) == []
    assert page.viewport_size["width"] == WIDTH


@pytest.mark.parametrize(("width", "scheme"), SCREENS)
def test_our_pages_are_accessible_and_fit_at_each_width(visit, width, scheme):
    for path in PAGES:
        page = visit("/healthcheck")
        show_on(page, width, scheme)
        page = visit(path)

        assert violations(page, within=".pinlater-page") == [], path
        assert overflow_px(page) <= 0, path
        assert (background(page) > 128) == (scheme == "light"), path
    show_on(page, WIDTH, "light")


def test_paging_shows_every_domain_once(visit):
    page, seen = visit("/aragog/domains?sort=name"), []
    while True:
        names = column(page, "aragog-domains", 1)
        seen += names
        following = page.get_by_role("link", name="Next page")
        if following.count() == 0:
            break
        following.click()
        expect(cells(page, "aragog-domains", 1).first).not_to_have_text(names[0])

    known = {"shop.example", "news.example", "slow.example", "stopped.example", "failing.example"}
    assert len(seen) == len(set(seen))
    assert known < set(seen)
    assert sum(name.startswith("small-") for name in seen) == SMALL_DOMAINS


def test_clicking_a_column_sorts_the_domains(visit):
    page = visit("/aragog/domains")
    assert column(page, "aragog-domains", 1)[:2] == ["shop.example", "news.example"]

    page.get_by_role("link", name="Errors in a row").click()
    expect(cells(page, "aragog-domains", 1).first).to_have_text("failing.example")
    assert page.locator("th[aria-sort]").inner_text() == "Errors in a row ▾"

    page.get_by_role("link", name="Rate", exact=True).click()
    expect(cells(page, "aragog-domains", 1).first).to_have_text("stopped.example")
    assert column(page, "aragog-domains", 1)[1] == "slow.example"


def test_search_finds_domains_by_part_of_their_name(visit):
    page = visit("/aragog/domains")

    page.get_by_role("searchbox").fill("small-3")
    page.get_by_role("button", name="Search").click()

    small = [f"small-3{number}.example" for number in range(10)]
    expect(cells(page, "aragog-domains", 1)).to_have_text(small)


def test_reason_for_each_delayed_domain_is_shown(visit):
    responses = {}
    for sort in ("backlog", "rate"):
        page = visit(f"/aragog/domains?sort={sort}")
        names, causes = column(page, "aragog-domains", 1), column(page, "aragog-domains", 9)
        responses |= dict(zip(names, causes, strict=True))

    assert responses["shop.example"] == "Crawl-delay of 5 s in robots.txt"
    assert responses["news.example"] == "its rate, 10 requests/s (politeness.qps)"
    assert responses["failing.example"] == "slowed down 4 times after 4 errors in a row"
    assert responses["stopped.example"] == "stopped by an operator"


def test_domain_can_be_stopped_resumed_and_limited_with_history(visit):
    page = visit("/aragog/domains?domain=news.example")

    page.get_by_label("Reason to stop or resume").fill("<b>they asked</b>")
    page.get_by_role("button", name="Stop").click()
    expect(cells(page, "aragog-domains", 9)).to_have_text(["stopped by an operator"])

    page.get_by_role("button", name="Resume").click()
    expect(cells(page, "aragog-domains", 9)).not_to_have_text("stopped by an operator")
    page.get_by_label("Requests per second").fill("0.25")
    page.get_by_role("button", name="Set rate").click()
    expect(cells(page, "aragog-domains", 2)).to_have_text(["0.25/s"])

    page.get_by_role("button", name="Usual rate").click()
    expect(cells(page, "aragog-domains", 2)).to_have_text(["10/s"])

    changes = ["qps removed", "qps = 0.25", "resumed", "stopped"]
    expect(cells(page, "aragog-changes", 4)).to_have_text(changes)
    assert column(page, "aragog-changes", 5)[-1] == "<b>they asked</b>"
    assert column(page, "aragog-changes", 2) == ["anonymous at 127.0.0.1"] * 4


def test_jobs_are_searched_sorted_and_paged(visit):
    page = visit("/pinlater/jobs?queue=fetch&state=pending")
    assert len(column(page, "pinlater-jobs", 1)) == 25

    first_page = column(page, "pinlater-jobs", 1)
    page.locator(".paginate_button", has_text="2").click()
    expect(cells(page, "pinlater-jobs", 1).first).not_to_have_text(first_page[0])
    assert len(column(page, "pinlater-jobs", 1)) == 25

    due = page.locator("#pinlater-jobs th", has_text="Due")
    due.click()
    expect(due).to_have_attribute("aria-sort", "ascending")
    soonest = column(page, "pinlater-jobs", 5)[0]
    due.click()
    expect(due).to_have_attribute("aria-sort", "descending")
    assert column(page, "pinlater-jobs", 5)[0] != soonest

    page.get_by_role("searchbox").fill("no such job")
    expect(cells(page, "pinlater-jobs", 1)).to_have_text(["No jobs match your search."])
    page.get_by_role("searchbox").fill("")


def test_queues_are_searched_sorted_and_paused(visit):
    page = visit("/pinlater/queues")
    names = column(page, "pinlater-queues", 1)
    assert [name.split()[0] for name in names] == [
        "canonicalize", "fetch", "reports-of-the-warehouse-department", "store",
    ]  # fmt: skip

    page.locator("#pinlater-queues th", has_text="Later").click()
    page.locator("#pinlater-queues th", has_text="Later").click()
    queues = cells(page, "pinlater-queues", 1)
    expect(queues.first).to_have_text("fetch")

    page.get_by_role("searchbox").fill("warehouse")
    page.get_by_role("button", name="Pause").click()
    expect(queues).to_have_text(["reports-of-the-warehouse-department paused"])
    page.get_by_role("button", name="Resume").click()
    expect(queues).to_have_text(["reports-of-the-warehouse-department"])


def test_broker_page_counts_due_and_later_jobs_separately_and_shows_only_real_queues(visit):
    page = visit("/broker")

    titles = page.locator("#queue-table th").all_inner_texts()
    counts = dict(zip(column(page, "queue-table", 1), column(page, "queue-table", 3), strict=True))
    assert titles == ["Queue", "Due", "Later", "Running", "All"]
    assert "celery" not in counts
    assert int(counts["fetch"]) > 0
    assert counts["canonicalize"] == "0"


def test_text_from_a_page_is_escaped(visit):
    page = visit(f"/aragog/url?url={HOSTILE}<script>document.title='hacked'</script>")
    assert page.title() == "URL · Flower"

    page = visit(f"/aragog/url?url={HOSTILE}")
    assert page.title() == "URL · Flower"
    assert page.get_by_role("region", name="Rich Pin").inner_text().count("<script>") == 2


def test_url_can_be_looked_up_and_fetched_now(visit):
    page = visit("/aragog/url")
    page.get_by_label("URL").fill("HTTPS://Shop.example:443/vase")
    page.get_by_role("button", name="Look up").click()

    card = page.get_by_role("region", name="Rich Pin")
    expect(card).to_contain_text("49.90 EUR")
    expect(card).to_contain_text("from json-ld #1")
    page.get_by_role("button", name="Refresh now").click()
    expect(page.get_by_role("status")).to_contain_text("The URL was enqueued")
    expect(page.get_by_role("region", name="queue")).to_contain_text("waits for")

    page.get_by_role("link", name="https://shop.example/bowl").click()
    expect(page.get_by_label("URL")).to_have_value("https://shop.example/bowl")


def test_task_list_names_urls_that_wait_without_a_task(visit):
    """The list showed one task while 266 URLs of a domain were waiting in line."""
    page = visit("/tasks")
    note = page.locator("#aragog-waiting")

    expect(note).to_contain_text("shop.example (")
    assert "next " in note.inner_text()
    assert violations(page, within="#aragog-waiting") == []
