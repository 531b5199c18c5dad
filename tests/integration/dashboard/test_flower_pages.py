"""
Flower itself on a running system: workers, queues, waiting jobs, domains, and the explanation of a
URL.
"""

import json
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from http.cookiejar import CookieJar

import pytest
from click.testing import CliRunner

from aragog.bootstrap.redis_services import lines_of
from aragog.bootstrap.stores import url_store
from aragog.cli.doctor import doctor
from aragog.cli.explain import explain
from aragog.client import Aragog
from aragog.crawl.politeness.lines import LineEntry
from aragog.urlstore.records import OutLink
from pinlater.admin import Admin
from tests.support.cases import missing
from tests.support.flower_server import flower_system
from tests.support.waiting import wait_until

pytestmark = pytest.mark.redis

HOSTILE = b"<script>alert('title')</script>"
PAGE = "http://shop.example/vase"


class Browser:
    """Keeps cookies and follows redirects."""

    def __init__(self, base):
        self.base = base
        self.opener = urllib.request.build_opener(
            urllib.request.HTTPCookieProcessor(CookieJar()), urllib.request.ProxyHandler({})
        )

    def get(self, path, **query):
        where = f"{self.base}{path}" + ("?" + urllib.parse.urlencode(query) if query else "")
        return self._open(where)

    def post(self, path, **form):
        return self._open(f"{self.base}{path}", urllib.parse.urlencode(form).encode())

    def json(self, path, **query):
        return json.loads(self.get(path, **query)[1])

    def _open(self, where, data=None):
        try:
            with self.opener.open(where, data, timeout=120) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()


@pytest.fixture(scope="module")
def system():
    """Waiting jobs, a stored page and a domain with a backlog; a worker and Flower run."""
    with flower_system(["upkeep"]) as running:
        _fill(running.settings)
        yield running


def _fill(settings):
    with Aragog(settings) as client:
        in_an_hour_ms = int(time.time() * 1000) + 3_600_000
        client.enqueue(["http://waits.example/"], run_after=in_an_hour_ms)
    store = url_store(settings)
    fields = {
        "page.title": HOSTILE, "product.price": b'"49.90"', "product.currency": b'"EUR"',
        "page.image": b'{"url":"https://img.example/vase.jpg"}',
    }  # fmt: skip
    source = {"page.title": "html title", "product.price": "json-ld #1"}
    store.put(PAGE, fields, provenance=source)
    store.links.add(PAGE, [OutLink("http://other.example/", "other")])
    store.close()
    lines_of(settings).park([LineEntry("shop.example", 5, b"{}")] * 3000)


@pytest.fixture(scope="module")
def browser(system):
    return Browser(system.url)


def test_workers_and_their_queues_are_listed(browser, system):
    workers = wait_until(lambda: browser.json("/api/workers", refresh="1"), every_s=0.3)
    (name,) = workers
    assert name.startswith("upkeep@"), system.logs()
    assert {queue["name"] for queue in workers[name]["active_queues"]} == {"upkeep", "watches"}
    # The page lists workers that Flower has heard from; they send a heartbeat every 2 s.
    wait_until(lambda: name in browser.get("/workers")[1], every_s=0.3)


def test_flowers_broker_page_counts_waiting_jobs(browser):
    queues = browser.json("/api/queues/length")["active_queues"]
    status, page = browser.get("/broker")

    (fetch,) = [queue for queue in queues if queue["name"] == "fetch"]
    assert (fetch["messages"], fetch["messages_ready"], fetch["messages_unacknowledged"]) == (
        1,
        1,
        0,
    )
    assert status == 200
    assert 'id="fetch"' in page


def test_queues_are_shown_by_state_and_priority(browser):
    (fetch,) = [row for row in browser.json("/pinlater/queues.json") if row["queue"] == "fetch"]
    status, page = browser.get("/pinlater/queues")

    assert (fetch["later"], fetch["due"], fetch["by_priority"]) == (1, 0, {"5": 1})
    assert status == 200
    assert 'aria-current="page">Queues</a>' in page
    # 3,000 in the line of a domain, and one that is due in an hour.
    assert "About 3,001 URLs are waiting: 3,000 for a slot" in page


def test_waiting_job_is_listed(browser):
    listed = browser.json("/pinlater/jobs.json", queue="fetch", state="pending")
    status, page = browser.get("/pinlater/jobs", queue="fetch", state="pending")

    (job,) = listed["jobs"]
    assert job["name"] == "aragog.fetch"
    assert status == 200
    assert job["task_id"] in page
    assert browser.get("/pinlater/jobs", queue="fetch", state="nonsense")[0] == 400


def test_busiest_domains_are_shown(browser):
    domain, of_the_queue = browser.json("/aragog/domains.json")["domains"]
    status, page = browser.get("/aragog/domains")

    assert (domain["domain"], of_the_queue["domain"]) == ("shop.example", "waits.example")
    assert domain["qps"] == 10
    assert domain["backlog_ms"] > 0
    assert status == 200
    assert "shop.example" in page


def test_explanation_of_a_url_is_shown_escaped(browser):
    hostile = f"{PAGE}?utm_source=\"><script>alert('url')</script>"
    status, page = browser.get("/aragog/url", url=hostile)

    assert status == 200
    assert "&lt;script&gt;alert(" in page
    assert "<script>alert(" not in page
    assert "from html title" in page


def test_url_page_has_card_links_and_price_with_sources(browser):
    status, page = browser.get("/aragog/url", url="HTTP://Shop.example:80/vase")

    assert status == 200
    expected = """
        49.90 EUR
        from json-ld #1,
        src="https://img.example/vase.jpg"
        href="/aragog/url?url=http%3A%2F%2Fother.example%2F"
        Refresh now
    """
    assert missing(expected, page) == []


def test_invalid_url_is_rejected_with_the_reason(browser):
    status, page = browser.get("/aragog/url", url="<b>nonsense")

    assert status == 400
    assert "&lt;b&gt;nonsense" in page
    assert "<b>nonsense" not in page


def test_explain_command_matches_the_page(browser, system, monkeypatch):
    for name, value in system.environ.items():
        monkeypatch.setenv(name, value)
    ran = CliRunner().invoke(explain, ["--json", PAGE], catch_exceptions=False)
    plain = CliRunner().invoke(explain, [PAGE], catch_exceptions=False)

    reported = json.loads(ran.stdout)
    shown = browser.json("/aragog/url.json", url=PAGE)

    for account in (reported, shown):
        assert [c["title"] for c in account["sections"]][-2:] == ["fields", "links"]
        assert not [c for c in account["sections"] if c["problem"]]
    assert reported["sections"][0] == shown["sections"][0]
    assert "from html title" in " ".join(plain.stdout.split())


def test_queue_can_be_paused_only_with_a_token(browser):
    _, page = browser.get("/pinlater/queues")
    token = re.search(r'name="_xsrf" value="([^"]+)"', page)[1]

    refused, _ = browser.post("/pinlater/queues", queue="fetch", action="pause")
    unknown, _ = browser.post("/pinlater/queues", queue="no%such", action="pause", _xsrf=token)
    before = browser.json("/pinlater/queues.json")
    done, page = browser.post("/pinlater/queues", queue="fetch", action="pause", _xsrf=token)
    after = browser.json("/pinlater/queues.json")

    assert (refused, unknown, done) == (403, 400, 200)
    assert {row["queue"]: row["paused"] for row in before}["fetch"] is False
    assert {row["queue"]: row["paused"] for row in after}["fetch"] is True
    assert ">paused<" in page


def test_doctor_names_the_paused_queue_and_the_remedy(system, monkeypatch):
    for name, value in system.environ.items():
        monkeypatch.setenv(name, value)
    Admin.connect(system.settings.broker.url).pause("fetch")

    ran = CliRunner().invoke(doctor, catch_exceptions=False)

    assert ran.exit_code == 1
    assert "queue fetch: is paused; `aragog queue resume fetch` resumes it" in ran.stdout


def test_prometheus_gets_our_metrics_beside_flowers(browser):
    status, text = browser.get("/metrics")

    assert status == 200
    expected = """
        aragog_in_flight 1.0
        aragog_fetching_waits 0.0
        aragog_jobs{queue="fetch",state="pending"} 1.0
        aragog_domain_backlog_seconds{domain="shop.example"}
        flower_
    """
    assert missing(expected, text) == []
    assert not re.search(r"aragog_part_up\{.*\} 0", text)


@pytest.mark.parametrize("path", ["/", "/pinlater/queues.json", "/api/workers", "/metrics"])
def test_foreign_host_name_is_refused(system, path):
    def status(host):
        request = urllib.request.Request(
            f"http://127.0.0.1:{system.port}{path}", headers={"Host": host}
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=120) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code

    assert status("evil.example") == 421
    assert status("127.0.0.1.evil.example:5555") == 421
    assert status(f"localhost:{system.port}") == 200


def test_refresh_enqueues_the_url_and_shows_what_it_waits_for(browser):
    _, page = browser.get("/aragog/url", url=PAGE)
    token = re.search(r'name="_xsrf" value="([^"]+)"', page)[1]

    refused, _ = browser.post("/aragog/url", url=PAGE)
    none, _ = browser.post("/aragog/url", url="nonsense", _xsrf=token)
    done, page = browser.post("/aragog/url", url=PAGE, _xsrf=token)
    reported = browser.json("/aragog/url.json", url=PAGE)

    assert (refused, none, done) == (403, 409, 200)
    assert "The URL was enqueued" in page
    (queue,) = [c["lines"] for c in reported["sections"] if c["title"] == "queue"]
    assert {line["name"]: line["text"] for line in queue}["waits for"] == (
        "queue fetch, which is paused"
    )


def test_refresh_of_a_taken_down_url_is_refused(browser, system):
    gone = "http://gone.example/page"
    store = url_store(system.settings)
    store.takedowns.take_down(url=gone)
    store.close()

    def is_refused():
        _, page = browser.get("/aragog/url", url=gone)
        token = re.search(r'name="_xsrf" value="([^"]+)"', page)[1]
        return browser.post("/aragog/url", url=gone, _xsrf=token)[0] == 409

    # Enqueuing checks the copy of the takedowns in Redis, which upkeep keeps up to date.
    assert wait_until(is_refused)


def test_no_request_ended_in_a_traceback(browser, system):
    assert "Traceback" not in system.logs()


@pytest.mark.parametrize(
    "path", ["/workers", "/pinlater/queues", "/aragog/domains", "/api/workers", "/no-such-page"]
)
def test_pages_cannot_be_framed(system, path):
    """Another site could show Flower's buttons in a frame and make an operator click them."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        headers = opener.open(f"{system.url}{path}", timeout=60).headers
    except urllib.error.HTTPError as refused:
        headers = refused.headers

    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Content-Security-Policy"] == "frame-ancestors 'none'"
