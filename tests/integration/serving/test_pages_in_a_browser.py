"""The API's pages in headless Chromium, at three widths, light and dark."""

import pytest
from playwright.sync_api import expect

from tests.api_examples import LAMP, example_server
from tests.support.chromium import chromium_or_skip, chromium_page
from tests.support.page_quality import SCREENS, background, overflow_px, show_on, violations

pytestmark = [pytest.mark.redis, pytest.mark.slow]

PAGES = ("/", f"/?url={LAMP}", "/?url=nonsense", "/docs")
CHECKED_ON_EACH_SCREEN = {"/docs": ".contents"}
"""The part of a page that axe checks on each screen, because all of it takes six seconds of CPU.

The whole documentation is checked on two screens, which have different layouts and colors."""
LONG = "http://www.shop.test/" + "a" * 500


@pytest.fixture(scope="module")
def shown():
    """A browser page and the address of the server."""
    chromium = chromium_or_skip()
    with example_server() as server, chromium_page(chromium) as page:
        yield page, f"http://127.0.0.1:{server.port}"


@pytest.mark.parametrize(("width", "scheme"), SCREENS)
def test_every_page_is_accessible_and_fits(shown, width, scheme):
    page, address = shown
    show_on(page, width, scheme)
    for path in PAGES:
        page.goto(address + path)

        assert violations(page, within=CHECKED_ON_EACH_SCREEN.get(path)) == [], path
        assert overflow_px(page) <= 0, path
        assert (background(page) > 128) == (scheme == "light"), path


@pytest.mark.parametrize(
    ("width", "scheme", "path"), [(390, "dark", "/docs#get"), (1280, "light", "/docs")]
)
def test_whole_documentation_is_accessible(shown, width, scheme, path):
    page, address = shown
    show_on(page, width, scheme)

    page.goto(address + path)

    assert violations(page) == []
    assert overflow_px(page) <= 0


def test_long_url_and_wide_example_do_not_widen_the_page(shown):
    page, address = shown
    show_on(page, 390, "light")

    page.goto(f"{address}/?url={LONG}")
    assert overflow_px(page) <= 0
    page.goto(f"{address}/docs")
    assert page.locator("pre").evaluate_all("all => all.some(e => e.scrollWidth > e.clientWidth)")
    assert overflow_px(page) <= 0


@pytest.mark.parametrize(("width", "kind"), [(390, "narrow"), (1280, "wide")])
def test_table_of_contents_leads_to_each_operation(shown, width, kind):
    page, address = shown
    show_on(page, width, "light")
    page.goto(f"{address}/docs")
    contents = page.locator(f".contents.{kind}")
    if kind == "narrow":
        contents.locator("summary").click()

    targets = contents.locator("a").evaluate_all("all => all.map(a => a.hash.slice(1))")
    assert len(targets) > 40
    assert page.evaluate("ids => ids.filter(id => !document.getElementById(id))", targets) == []

    contents.get_by_role("link", name="GET /v1/explain").click()
    expect(page.locator("#explain")).to_be_in_viewport()
    expect(page.get_by_role("navigation", name="Pages")).to_be_in_viewport()


def test_errors_are_described_once_and_linked_by_each_operation(shown):
    page, address = shown
    page.goto(f"{address}/docs")

    linked = page.locator("article a[href^='#error-']").evaluate_all("all => all.map(a => a.hash)")
    described = page.locator("#errors a[id]").evaluate_all("all => all.map(a => '#' + a.id)")

    assert len(described) == len(set(described)) > 10
    assert set(linked) <= set(described)
    assert page.get_by_text("Nothing is stored under this name", exact=False).count() == 1


def test_pages_load_no_other_resources(shown):
    page, address = shown
    requested = []
    page.on("request", lambda request: requested.append(request.url))

    for path in ("/", "/docs"):
        page.goto(address + path)

    assert requested == [f"{address}/", f"{address}/docs"]


def test_any_spelling_leads_to_the_permanent_address(shown):
    page, address = shown
    page.goto(address)
    page.get_by_label("URL, in any spelling").fill(
        "HTTP://www.Shop.test:80/p/brass-lamp?utm_source=x"
    )
    page.get_by_role("button", name="Look up").click()

    page.get_by_role("link", name=LAMP, exact=True).click()

    expect(page.get_by_label("URL, in any spelling")).to_have_value(LAMP)
    expect(page.get_by_role("link", name=LAMP, exact=True)).to_have_attribute(
        "href", "/?url=http%3A%2F%2Fwww.shop.test%2Fp%2Fbrass-lamp"
    )
    expect(page.get_by_label("Rich Pin")).to_contain_text("Brass reading lamp")
