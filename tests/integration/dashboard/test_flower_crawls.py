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
        page.get_by_role("link", name="docs").click()
        assert violations(page, within=".pinlater-page") == []
        page.get_by_role("button", name="Pause").click()
        page.get_by_role("button", name="Resume").wait_for()

    assert control.status("docs").record.state == "paused"
