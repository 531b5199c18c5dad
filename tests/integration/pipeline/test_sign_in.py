"""A crawl signs in with a form, keeps the session for its origin and crawl, and signs in again."""

from __future__ import annotations

import logging
import secrets
from dataclasses import replace
from urllib.parse import parse_qs

import pytest

from aragog.crawl.sign_in.sessions import Sessions
from aragog.crawl.stages.enqueue_options import EnqueueOptions
from aragog.crawl.stages.sign_in import SignIns
from aragog.errors import ConfigError
from aragog.fetch_record.outcome import OutcomeKind
from aragog.settings import EgressRule, EgressSettings, SignInSettings, WaySettings
from tests.support.crawl_harness import HarnessCrawls, apart
from tests.support.origin import answer, page, redirect
from tests.support.proxies import HttpProxy

pytestmark = pytest.mark.redis
PLACE = "http://members.test"
FORM = (
    b"<!doctype html><form method=post action=/session><input type=hidden name=csrf value=%b>"
    b"<input name=user><input type=password name=password><button>Go</button></form>"
)
PASSWORD = "wr1tten-nowhere"


class Members:
    """A site with member pages, which can end its sessions."""

    def __init__(self, prompt="redirect"):
        self.prompt = prompt
        self.tokens, self.sessions, self.signed_in, self.rejected = set(), set(), 0, 0

    def handlers(self):
        return {"/login": self.form, "/session": self.session, "*": self.member_page}

    def form(self, _request, _wire):
        token = secrets.token_hex(8)
        self.tokens.add(token)
        cookie = ("Set-Cookie", f"visit={token}; Path=/")
        return page(FORM % token.encode(), headers=(cookie,))

    def session(self, request, _wire):
        form = {k: v[0] for k, v in parse_qs(request.body.decode()).items()}
        known = form.get("csrf") in self.tokens and f"visit={form['csrf']}" in (
            request.header("Cookie") or ""
        )
        if not known or (form["user"], form["password"]) != ("me", PASSWORD):
            self.rejected += 1
            return self.form(request, _wire)
        self.signed_in += 1
        session = secrets.token_hex(8)
        self.sessions.add(f"sid={session}")
        cookie = ("Set-Cookie", f"sid={session}; HttpOnly")
        return answer(303, b"", headers=(("Location", "/"), cookie))

    def member_page(self, request, _wire):
        cookies = set((request.header("Cookie") or "").split("; "))
        if cookies & self.sessions:
            return page(b"<title>for members</title>")
        if self.prompt == "redirect":
            return redirect("/login")
        if self.prompt == "401":
            return answer(401, b"who are you?")
        return self.form(request, _wire)


@pytest.fixture
def sign_in(monkeypatch):
    monkeypatch.setenv("MEMBERS_PASSWORD", PASSWORD)
    fields = {"user": "text:me", "password": "env:MEMBERS_PASSWORD"}
    return {PLACE: SignInSettings("/login", fields, least_s=0.2)}


@pytest.fixture
def opened(crawl_harness, sign_in):
    def make(site, **changes):
        harness = crawl_harness(
            site.handlers(), fetch={"sign_in": sign_in}, retry_first_s=0.01, qps=50, **changes
        )
        harness.know_rules("members.test", "other.test")
        return harness

    return make


def titles(harness, *urls):
    return [harness.urls.get(url).fields.get("page.title") for url in urls]


def test_pages_of_a_crawl_share_a_session_that_no_record_shows(opened, redis_client, caplog):
    caplog.set_level(logging.DEBUG)
    site = Members()
    harness = opened(site)
    urls = [f"{PLACE}/{n}" for n in range(8)]

    harness.crawl(urls, EnqueueOptions())

    assert titles(harness, *urls) == [b'"for members"'] * 8
    assert site.signed_in == 1
    posts = [request for request in harness.origin.seen if request.method == "POST"]
    assert len(posts) == 1
    (sid,) = site.sessions
    records = [harness.urls.pages.fetch_report(url).plain() for url in urls]
    for secret in (PASSWORD, sid.partition("=")[2]):
        assert secret not in caplog.text
        assert secret not in str(records)
    assert sid.partition("=")[2] in str(Sessions(redis_client, prefix="aragog:").read(PLACE, ""))


@pytest.mark.parametrize("prompt", ["redirect", "401", "form"])
def test_expired_session_is_renewed_and_no_form_is_stored_as_a_page(opened, prompt):
    site = Members(prompt)
    harness = opened(site)
    harness.crawl([f"{PLACE}/1"], EnqueueOptions())
    site.sessions.clear()

    harness.crawl([f"{PLACE}/2", f"{PLACE}/3"], EnqueueOptions())

    assert titles(harness, f"{PLACE}/2", f"{PLACE}/3") == [b'"for members"'] * 2
    assert site.signed_in == 2


def test_page_that_asks_again_after_signing_in_is_withheld(opened):
    site = Members("form")
    harness = opened(site)
    harness.origin.handlers["/never"] = site.form

    harness.crawl([f"{PLACE}/never"], EnqueueOptions())

    report = harness.urls.pages.fetch_report(f"{PLACE}/never")
    assert (report.outcome, report.attempts) == (OutcomeKind.UNAUTHORIZED, 2)
    assert site.signed_in == 2


def test_wrong_password_is_retried_rarely_and_its_urls_wait(opened, monkeypatch):
    monkeypatch.setenv("MEMBERS_PASSWORD", "wrong")
    site = Members()
    harness = opened(site)
    harness.enqueue([f"{PLACE}/1", f"{PLACE}/2"], EnqueueOptions())

    later = [each for message in harness.taken() for each in apart(harness.step(message))]

    assert site.rejected == 1
    assert [job.attempt for each in later for job in each.message.jobs] == [0, 0]

    monkeypatch.setenv("MEMBERS_PASSWORD", PASSWORD)
    harness.sent.messages += later
    harness.crawl([], EnqueueOptions())
    assert titles(harness, f"{PLACE}/1", f"{PLACE}/2") == [b'"for members"'] * 2


def test_only_named_crawls_sign_in_with_one_session_each(opened, sign_in):
    site = Members("401")
    sign_in[PLACE] = replace(sign_in[PLACE], crawls=("one", "two"))
    harness = opened(site)
    crawls = HarnessCrawls(harness)
    for name in ("one", "two", "three"):
        crawls.start(name)
        harness.crawl([f"{PLACE}/{name}"], EnqueueOptions(crawl=name))
    harness.crawl([f"{PLACE}/none"], EnqueueOptions())

    assert (site.signed_in, len(site.sessions)) == (2, 2)
    outcomes = [harness.urls.pages.fetch_report(f"{PLACE}/{n}").outcome for n in ("three", "none")]
    assert outcomes == [OutcomeKind.UNAUTHORIZED] * 2


def test_session_is_sent_to_its_origin_only(opened):
    site = Members()
    harness = opened(site)
    harness.origin.handlers["//other.test/in"] = redirect(f"{PLACE}/chosen")
    harness.origin.handlers["//members.test/out"] = redirect("http://other.test/there")
    harness.origin.handlers["//other.test/there"] = page(b"x")

    harness.crawl([f"{PLACE}/out", "http://other.test/in"], EnqueueOptions())

    with_cookies = {
        (request.host, request.path) for request in harness.origin.seen if request.header("Cookie")
    }
    assert ("members.test", "/out") in with_cookies
    assert {host for host, _ in with_cookies} == {"members.test"}
    assert ("members.test", "/chosen") not in with_cookies


def test_sign_in_form_obeys_robots_txt(opened):
    site = Members()
    harness = opened(site)
    harness.know_rules("members.test", body=b"User-agent: *\nDisallow: /login\n")
    harness.enqueue([f"{PLACE}/1"], EnqueueOptions())

    (later,) = [each for message in harness.taken() for each in apart(harness.step(message))]

    assert [job.attempt for job in later.message.jobs] == [0]
    assert harness.origin.seen == []


def test_sign_in_uses_the_egress_route_of_the_url(opened):
    site = Members()
    with HttpProxy() as office:
        rules = (EgressRule(ways=("office",), hosts=("members.test",)),)
        egress = EgressSettings({"office": WaySettings(proxy=office.url)}, rules)
        harness = opened(site, egress=egress)

        harness.crawl([f"{PLACE}/1"], EnqueueOptions())

        assert site.signed_in == 1
        assert office.asked
        assert len({request.connection for request in harness.origin.seen}) == len(office.asked)


def test_missing_credential_stops_the_start(opened, monkeypatch):
    monkeypatch.delenv("MEMBERS_PASSWORD")

    with pytest.raises(ConfigError, match="MEMBERS_PASSWORD is not set"):
        opened(Members())


def test_nothing_signs_in_without_a_configured_site(crawl_harness, opened):
    plain = crawl_harness({}).pipeline.fetch.requester.sign_ins

    assert plain is None
    assert isinstance(opened(Members()).pipeline.fetch.requester.sign_ins, SignIns)
