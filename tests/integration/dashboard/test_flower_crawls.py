"""Crawls in Flower, and the link of `aragog up` that enables the buttons for one browser."""

import json
import re
import urllib.error
import urllib.parse
import urllib.request
from http.cookiejar import CookieJar

import pytest

from aragog.bootstrap.crawls import crawl_control
from aragog.client import Aragog
from aragog.crawl.pipeline.in_flight_values import UrlEnding
from aragog.crawl.pipeline.shared_state import SharedState
from aragog.crawl.traps.host_budget import TemplateDecision
from aragog.crawl.traps.trap_store import ClosedTemplate
from aragog.dashboard.buttons_key import KEY_NEEDED, create_key, link, read_key
from tests.support.chromium import chromium_or_skip, chromium_page
from tests.support.flower_server import flower_system
from tests.support.page_quality import violations

pytestmark = [pytest.mark.redis, pytest.mark.slow]
EVIL = "unreadable: <script>alert(1)</script>"


class Browser:
    """Keeps cookies and follows redirects; `headers` are sent with every request."""

    def __init__(self, base, **headers):
        self.base, self.headers, self.cookies = base, headers, CookieJar()
        self.opener = urllib.request.build_opener(
            urllib.request.HTTPCookieProcessor(self.cookies), urllib.request.ProxyHandler({})
        )

    def ask(self, path, form=None, **headers):
        where = path if path.startswith("http") else f"{self.base}{path}"
        data = urllib.parse.urlencode(form).encode() if form is not None else None
        request = urllib.request.Request(where, data, {**self.headers, **headers})
        try:
            with self.opener.open(request, timeout=120) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def change(self, action, **more):
        _, page = self.ask("/aragog/crawls?crawl=docs")
        found = re.search(r'name="_xsrf" value="([^"]+)"', page)
        token = {"_xsrf": found[1]} if found else {}
        form = {"crawl": "docs", "action": action, **token}
        return self.ask("/aragog/crawls", {**form, **more.pop("form", {})}, **more)


@pytest.fixture(scope="module")
def system():
    with flower_system(key=True, FLOWER_UNAUTHENTICATED_API="") as running:
        control = crawl_control(running.settings)
        control.start("docs", {"scope": ["host:a.example"], "every_s": 86_400})
        urls = [f"http://a.example/{n}" for n in range(5)]
        with Aragog(running.settings) as client:
            client.enqueue(urls, crawl="docs")
        number = control.status("docs").record.number
        shared = SharedState.from_settings(running.settings)
        shared.in_flight.end([UrlEnding(urls[0], number, "stored", 100)])
        shared.in_flight.end([UrlEnding(urls[1], number, EVIL)])
        yield running


@pytest.fixture
def control(system):
    control = crawl_control(system.settings)
    yield control
    control.start("docs", {})


def opened(system):
    browser = Browser(system.url)
    key = read_key(system.folder / "run")
    status, page = browser.ask(link(system.url, key, {}))
    assert status == 200
    assert 'id="aragog-crawls"' in page
    return browser


def test_crawls_and_their_reports_are_shown(system):
    browser = Browser(system.url)

    listed = json.loads(browser.ask("/aragog/crawls.json")[1])
    report = json.loads(browser.ask("/aragog/crawls.json?crawl=docs")[1])
    status, page = browser.ask("/aragog/crawls?crawl=docs")
    _, file = browser.ask("/aragog/crawls?crawl=docs&format=html")

    assert [crawl["name"] for crawl in listed] == ["enqueued", "refresh", "docs"]
    assert report["crawl"]["waiting"] == 3
    assert [one["domain"] for one in report["open"]] == ["a.example"]
    assert report["open"][0]["achieved_rate"] > 0
    assert report["rates"]["achieved"] == report["rates"]["achieved_recently"] > 0
    assert status == 200
    assert "Failures" in page
    assert "Open domains" in page
    assert "achieved since the start" in page
    assert "URLs over time" in page
    assert "<svg viewBox" in page
    assert "<script>alert" not in page + file
    assert file.startswith("<!doctype html>")
    assert browser.ask("/aragog/crawls?crawl=none")[0] == 400


def test_traps_of_a_crawl_are_shown_and_can_be_opened(system):
    traps, browser = SharedState.from_settings(system.settings).traps, opened(system)
    traps.note_closed([ClosedTemplate("a.example", "/calendar/{n}/", "9 pages <b>said nothing")])

    _, shown = browser.ask("/aragog/crawls?crawl=docs")
    report = json.loads(browser.ask("/aragog/crawls.json?crawl=docs")[1])
    form = {"host": "a.example", "template": "/calendar/{n}/"}
    status, left = browser.change("open", form=form)
    decided = SharedState.from_settings(system.settings).traps.decisions()
    refused, _ = browser.change("asleep", form=form)

    assert "/calendar/{n}/" in shown
    assert "<b>said" not in shown
    assert [one["template"] for one in report["closed_templates"]] == ["/calendar/{n}/"]
    assert (status, refused) == (200, 400)
    assert decided == {"a.example": {"/calendar/{n}/": TemplateDecision.OPEN}}
    assert "/calendar/{n}/" not in left
    browser.change("learned", form=form)


def test_link_of_aragog_up_enables_the_buttons_for_one_browser(system, control):
    stranger, browser = Browser(system.url), opened(system)

    assert KEY_NEEDED in stranger.ask("/aragog/crawls?crawl=docs")[1].replace("&#x60;", "`")
    assert stranger.change("pause")[0] == 403
    assert stranger.ask("/api/workers")[0] == 401
    assert KEY_NEEDED not in browser.ask("/aragog/crawls?crawl=docs")[1]
    assert browser.ask("/api/workers")[0] == 200
    assert browser.change("pause")[0] == 200
    assert control.status("docs").record.state == "paused"
    assert browser.change("resume")[0] == 200
    assert control.status("docs").record.state == "running"
    assert browser.change("cancel", form={"reason": "wrong list"})[0] == 200
    record = control.status("docs").record
    assert (record.state, record.reason.partition(" (")[0]) == ("cancelled", "wrong list")
    assert browser.change("explode")[0] == 400


def test_crawl_is_started_with_seeds_and_bounds(system):
    browser, control = opened(system), crawl_control(system.settings)
    form = {
        "crawl": "news",
        "seeds": "http://news.example/a\n\n http://news.example/b ",
        "scope": "host:news.example\n-pattern:*print*",
        "depth": "2",
        "max_urls": "50",
        "max_bytes": "",
        "rate": "0.5",
    }

    status, page = browser.change("start", form=form)
    crawl = control.status("news")

    assert status == 200
    assert "news" in page
    assert crawl.counts.enqueued == 2
    assert crawl.record.scope.rules == ("host:news.example", "-pattern:*print*")
    assert (crawl.record.depth, crawl.record.max_urls, crawl.record.rate) == (2, 50, 0.5)
    assert crawl.record.max_bytes is None
    control.delete("news")


def test_form_with_a_mistake_starts_nothing_and_names_it(system):
    browser, control = opened(system), crawl_control(system.settings)
    mistakes = {
        "depth": ("many", "depth: must be a number"),
        "max_urls": ("0", "max_urls: must be a whole number from 1"),
        "rate": ("nan", "rate: must be a number from"),
        "scope": ("elsewhere:a.example", "elsewhere"),
        "seeds": ("http://", "http://"),
        "crawl": ("a b", "name: must be 1 to 64"),
    }

    for field_name, (value, message) in mistakes.items():
        status, page = browser.change("start", form={"crawl": "odd", field_name: value})
        assert (status, message in page) == (400, True), page

    assert "odd" not in control.registry.read().records


def test_refused_seeds_of_a_started_crawl_are_shown(system):
    browser, control = opened(system), crawl_control(system.settings)
    seeds = "http://one.example/\nhttp://two.example/"

    form = {"crawl": "partly", "seeds": seeds, "scope": "host:one.example"}
    status, page = browser.change("start", form=form)

    assert status == 409
    assert "1 of 2 seeds were refused: http://two.example/" in page
    assert control.status("partly").counts.enqueued == 1
    control.delete("partly")


def test_crawl_is_deleted_only_if_its_name_is_typed(system):
    browser, control = opened(system), crawl_control(system.settings)
    control.start("old", {})

    unconfirmed = [
        browser.change("delete", form={"crawl": "old", **confirmation})[0]
        for confirmation in ({}, {"confirm": "docs"})
    ]
    kept = "old" in control.registry.read().records
    status, page = browser.change("delete", form={"crawl": "old", "confirm": "old"})
    built_in = browser.change("delete", form={"crawl": "enqueued", "confirm": "enqueued"})

    assert (unconfirmed, kept) == ([400, 400], True)
    assert (status, "crawl=old" in page) == (200, False)
    assert "old" not in control.registry.read().records
    assert built_in[0] == 400


def test_strangers_can_neither_start_nor_delete(system, control):
    stranger = Browser(system.url)

    assert stranger.change("start", form={"crawl": "theirs"})[0] == 403
    assert stranger.change("delete", form={"confirm": "docs"})[0] == 403
    assert set(control.registry.read().records) == {"docs"}


def test_wrong_key_enables_nothing(system):
    browser = Browser(system.url)

    assert browser.ask(link(system.url, "guess", {}))[0] == 403
    assert len([cookie for cookie in browser.cookies if cookie.name == "aragog_key"]) == 0
    assert browser.change("pause")[0] == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Origin": "http://127.0.0.1:1"},
    ],
    ids=str,
)
def test_pages_from_another_port_or_site_cannot_press_the_buttons(system, control, headers):
    browser = opened(system)

    assert browser.change("pause", **headers)[0] == 403
    assert browser.ask("/api/task/revoke/x", {}, **headers)[0] == 401
    assert control.status("docs").record.state == "running"
    assert browser.change("pause", **{"Sec-Fetch-Site": "same-origin"})[0] == 200


def test_cookie_is_hidden_from_scripts_and_other_sites(system):
    browser = opened(system)

    (cookie,) = [cookie for cookie in browser.cookies if cookie.name == "aragog_key"]
    assert cookie.has_nonstandard_attr("HttpOnly")
    assert cookie.get_nonstandard_attr("SameSite") == "Strict"


def test_key_is_created_once_and_not_with_a_login(tmp_path):
    key = create_key(tmp_path / "run", {})

    assert create_key(tmp_path / "run", {}) == key
    assert (tmp_path / "run" / "flower.key").stat().st_mode & 0o777 == 0o600
    assert create_key(tmp_path / "run", {"FLOWER_BASIC_AUTH": "ada:secret"}) == ""
    assert link("http://h:1", "k", {"FLOWER_URL_PREFIX": "/f/"}) == "http://h:1/f/aragog/open?key=k"


def test_crawl_pages_are_accessible_and_their_buttons_work(system, control):
    with chromium_page(chromium_or_skip()) as page:
        page.goto(link(system.url, read_key(system.folder / "run"), {}))
        assert violations(page, within=".pinlater-page") == []
        page.get_by_role("link", name="Start a crawl").click()
        assert violations(page, within=".pinlater-page") == []
        page.get_by_role("link", name="All crawls").click()
        page.get_by_role("link", name="docs").click()
        assert violations(page, within=".pinlater-page") == []
        page.get_by_role("button", name="Pause").click()
        page.get_by_role("button", name="Resume").wait_for()

    assert control.status("docs").record.state == "paused"
