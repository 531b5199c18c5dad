"""What is sent, how, and when."""

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass, field

import pytest
import requests

from aragog.crawl.fetcher.fetcher import fetch
from aragog.crawl.fetcher.gate import Admission, Deny, Go, Later
from aragog.crawl.fetcher.request_defaults import ACCEPT
from aragog.errors import LimiterUnavailable
from aragog.fetch_record import outcome as o
from aragog.runtime.clock import ManualClock
from aragog.runtime.green_threads import GreenPool
from tests.support.http2_origin import BOTH_VERSIONS
from tests.support.origin import HELLO, Origin, page, redirect
from tests.support.tls import client_context

pytestmark = BOTH_VERSIONS


@dataclass
class Recorder:
    """A gate that records its calls and what the origin had seen by then."""

    origin: Origin
    admission: Admission = field(default_factory=Go)
    notes: list[tuple[str, str, int, int]] = field(default_factory=list)

    def _note(self, what: str, url: str) -> None:
        path = "/" + url.split("/", 3)[3]
        self.notes.append((what, path, self.origin.connections, len(self.origin.seen)))

    def admit(self, url: str, target_as_sent: str) -> Admission:
        self._note("admit", url)
        return self.admission

    def acquire_permit(self, url: str) -> None:
        self._note("depart", url)

    def release_permit(self, url: str) -> None:
        self._note("departed", url)

    def report_busy(self, url: str, wait_s: float | None) -> None:
        self._note("busy", url)


def test_page_has_its_facts(origin, fetcher):
    outcome = fetcher.fetch(origin.url("/"))

    assert isinstance(outcome, o.Fetched)
    assert (outcome.body, outcome.status, outcome.address) == (HELLO, 200, "127.0.0.1")
    assert outcome.content_type == "text/html; charset=utf-8"
    assert outcome.url == outcome.final_url == origin.url("/")
    assert outcome.connect_ms is not None
    assert outcome.total_ms >= (outcome.first_byte_ms or 0)


def test_post_is_sent_once_and_its_redirect_is_not_followed(origin, fetcher):
    outcome = fetcher.fetch(origin.url("/to?/"), method="POST", body=b"a=b")

    assert isinstance(outcome, o.Unreachable)
    assert (outcome.kind, outcome.status) == (o.UnreachableKind.REDIRECT, 302)
    (seen,) = origin.seen
    assert (seen.method, seen.header("Content-Length")) == ("POST", "3")


def test_head_returns_facts_without_a_body(origin, fetcher):
    outcome = fetcher.fetch(origin.url("/echo"), method="HEAD")

    assert (outcome.status, outcome.body) == (200, b"")


def test_request_has_user_agent_and_accept_headers(origin, fetcher_with):
    fetcher = fetcher_with(headers={"X-Team": "search"})

    outcome = fetcher.fetch(origin.url("/echo?a=1"))

    assert outcome.body.startswith(b"GET /echo?a=1\n")
    (request,) = origin.seen
    assert {name.lower(): value for name, value in request.headers} == {
        "host": f"127.0.0.1:{origin.port}",
        "user-agent": "testbot/1.0 (+https://example.com/bot)",
        "accept": ACCEPT,
        "accept-encoding": "gzip, deflate, br, zstd",
        "x-team": "search",
    }


def test_redirects_are_followed_and_every_hop_is_recorded(origin, fetcher):
    outcome = fetcher.fetch(origin.url("/chain/3"))

    assert isinstance(outcome, o.Fetched)
    assert [hop.target for hop in outcome.hops] == [origin.url(f"/chain/{n}") for n in (2, 1, 0)]
    assert all(hop.permanent for hop in outcome.hops)
    assert (outcome.url, outcome.final_url) == (origin.url("/chain/3"), origin.url("/chain/0"))


@pytest.mark.parametrize(
    ("location", "path"),
    [
        ("x", "/dir/x"),
        ("../x", "/x"),
        ("/x?a=b c", "/x"),
        ("?q", "/dir/from"),
        ("//{authority}/x#f", "/x"),
        ("{scheme}://{authority}/x", "/x"),
        ("/a b/x", "/a%20b/x"),
        ("/é", "/%C3%A9"),
    ],
)
def test_location_is_resolved_as_in_browsers(origin, fetcher, location, path):
    scheme = origin.url().partition(":")[0].upper()
    to = location.format(authority=origin.address, scheme=scheme)
    origin.handlers["/dir/from"] = lambda r, _: page(b"here") if r.query else redirect(to)
    origin.handlers[path] = origin.handlers.get(path, page(b"there"))

    outcome = fetcher.fetch(origin.url("/dir/from"))

    assert isinstance(outcome, o.Fetched), outcome
    assert (len(outcome.hops), origin.seen[-1].path) == (1, path)


def test_non_utf8_bytes_of_a_location_are_requested_unchanged(origin, fetcher):
    origin.handlers["/from"] = b"HTTP/1.1 302 x\r\nLocation: /caf\xe9\r\nConnection: close\r\n\r\n"
    origin.handlers["/caf%E9"] = page(b"there")

    assert isinstance(fetcher.fetch(origin.url("/from")), o.Fetched)


@pytest.mark.parametrize("location", ["", " "])
def test_redirect_without_a_usable_target_is_the_response(origin, fetcher, location):
    origin.handlers["/from"] = redirect(location)

    outcome = fetcher.fetch(origin.url("/from"))

    assert isinstance(outcome, o.Fetched)
    assert (outcome.status, outcome.hops, outcome.body) == (302, (), b"moved")


def test_origin_that_redirects_to_its_own_spelling_is_requested_with_it(origin, fetcher):
    """It redirects ?a=2&b=1 to ?b=1&a=2, which has the same normalized URL."""
    origin.handlers["/q"] = lambda request, _: (
        page(b"there") if request.query == "b=1&a=2" else redirect("/q?b=1&a=2")
    )

    outcome = fetcher.fetch(origin.url("/q?b=1&a=2"))

    assert isinstance(outcome, o.Fetched), outcome
    assert outcome.final_url == origin.url("/q?a=2&b=1")


def test_gate_is_asked_on_the_open_connection_before_sending(origin, fetcher):
    gate = Recorder(origin)

    fetcher.fetch(origin.url("/chain/1"), gate=gate)

    # (what, path, connections accepted, requests seen): the origin may lag behind but is never
    # ahead.
    assert [(what, path) for what, path, _, _ in gate.notes] == [
        ("depart", "/chain/1"),
        ("departed", "/chain/1"),
        ("admit", "/chain/0"),
        ("depart", "/chain/0"),
        ("departed", "/chain/0"),
    ]
    departs = [note for note in gate.notes if note[0] == "depart"]
    assert [seen for *_, seen in departs] == [0, 1]


def test_denied_hop_is_refused_without_a_request(origin, fetcher):
    gate = Recorder(origin, Deny("robots.txt says no", o.RefusalCause.ROBOTS))

    outcome = fetcher.fetch(origin.url("/chain/1"), gate=gate)

    assert isinstance(outcome, o.Refused)
    assert (outcome.reason, len(outcome.hops)) == ("robots.txt says no", 1)
    assert [seen.path for seen in origin.seen] == ["/chain/1"]


def test_postponed_hop_returns_with_its_chain_and_continues_there(origin, fetcher):
    gate = Recorder(origin, Later(o.DeferralCause.SLOT, "its slot is later", 1_234))

    first = fetcher.fetch(origin.url("/chain/2"), gate=gate)
    assert isinstance(first, o.Redirected)
    second = fetcher.fetch(first.target, hops=first.hops)

    assert (first.target, first.retry_at_ms) == (origin.url("/chain/1"), 1_234)
    assert isinstance(second, o.Fetched)
    assert second.url == origin.url("/chain/2")
    assert [hop.target for hop in second.hops] == [origin.url("/chain/1"), origin.url("/chain/0")]


def test_slot_missed_at_the_last_moment_defers_the_url(origin, fetcher):
    class TooLate(Recorder):
        def acquire_permit(self, url: str) -> Later:
            return Later(o.DeferralCause.SLOT, "its slot has passed", 1_234)

    outcome = fetcher.fetch(origin.url("/"), gate=TooLate(origin))

    assert outcome.outcome is o.OutcomeKind.DEFERRED
    assert (outcome.cause, outcome.retry_at_ms) == (o.DeferralCause.SLOT, 1_234)
    assert (outcome.final_url, origin.seen) == (origin.url("/"), [])


def test_redirect_whose_target_gets_no_permit_is_redirected(origin, fetcher):
    """The domain has responded; only a URL that was never requested is deferred."""

    class SecondTooLate(Recorder):
        def acquire_permit(self, url: str) -> Later | None:
            return Later(o.DeferralCause.SLOT, "passed", 1_234) if url.endswith("/0") else None

    outcome = fetcher.fetch(origin.url("/chain/1"), gate=SecondTooLate(origin))

    assert isinstance(outcome, o.Redirected)
    assert (outcome.target, len(outcome.hops)) == (origin.url("/chain/0"), 1)
    again = fetcher.fetch(outcome.target, gate=SecondTooLate(origin), hops=outcome.hops)
    assert (again.outcome, again.hops) == (o.OutcomeKind.DEFERRED, outcome.hops)


def test_internal_failure_in_the_gate_is_raised(origin, fetcher):
    class Down(Recorder):
        def acquire_permit(self, url: str) -> None:
            raise LimiterUnavailable("redis", "gone")

    with pytest.raises(LimiterUnavailable):
        fetcher.fetch(origin.url("/"), gate=Down(origin))

    assert origin.seen == []


def test_time_spent_at_the_gate_does_not_count_toward_the_deadline(origin, fetcher_with):
    clock = ManualClock()

    class Slow(Recorder):
        def acquire_permit(self, url: str) -> None:
            clock.advance_ms(60_000)

    fetcher = fetcher_with(clock=clock, deadline_s=1.0)
    outcome = fetcher.fetch(origin.url("/"), gate=Slow(origin))

    assert isinstance(outcome, o.Fetched)


def test_first_call_after_the_permit_is_the_write(origin, fetcher):
    """Other calls release the GIL, so on a busy machine the bytes would be sent much later."""
    calls: list[str] = []

    def note(_frame: object, event: str, called: object) -> None:
        owner = type(getattr(called, "__self__", None)).__name__
        if event == "c_call" and owner in ("socket", "_SSLSocket"):
            calls.append(called.__name__)

    class Profiled(Recorder):
        def acquire_permit(self, url: str) -> None:
            super().acquire_permit(url)
            calls.clear()
            sys.setprofile(note)

        def release_permit(self, url: str) -> None:
            sys.setprofile(None)
            super().release_permit(url)

    outcome = fetcher.fetch(origin.url("/kept"), gate=Profiled(origin))

    assert isinstance(outcome, o.Fetched)
    assert calls == ["write" if origin.tls else "send"]


def test_request_accepted_in_pieces_by_the_kernel_arrives_complete(origin, fetcher_with, version):
    large = "x" * 12_000_000
    fetcher = fetcher_with(headers={"X-Large": large})

    outcome = fetcher.fetch(origin.url("/"))

    if version == "1.1":
        assert isinstance(outcome, o.Fetched)
        assert origin.seen[-1].header("x-large") == large
    else:  # no server accepts that much; nghttp2 sends at most 64 KB
        assert isinstance(outcome, o.Unreachable)
        assert origin.seen == []


def test_hop_refused_by_the_ssrf_filter_is_blocked(origin, fetcher):
    outcome = fetcher.fetch(origin.url("/to?http://10.0.0.1:8080/"))

    assert isinstance(outcome, o.Blocked)
    assert len(outcome.hops) == 1


def test_unchanged_page_is_not_modified(origin, fetcher):
    outcome = fetcher.fetch(origin.url("/conditional"), etag='"v1"')

    assert isinstance(outcome, o.NotModified)


def test_validators_are_sent_only_to_their_own_url(origin, fetcher):
    origin.handlers["/moved"] = redirect("/conditional")

    other = fetcher.fetch(origin.url("/moved"), etag='"v1"')
    same = fetcher.fetch(
        origin.url("/moved"), etag='"v1"', validators_url=origin.url("/conditional")
    )

    assert isinstance(other, o.Fetched)
    assert isinstance(same, o.NotModified)


def test_unrequested_304_is_unreachable(origin, fetcher):
    origin.handlers["/304"] = b"HTTP/1.1 304 Not Modified\r\nConnection: close\r\n\r\n"

    outcome = fetcher.fetch(origin.url("/304"))

    assert isinstance(outcome, o.Unreachable)
    assert (outcome.status, outcome.kind) == (304, "status")


def test_connections_the_origin_keeps_open_are_reused(origin, fetcher):
    for _ in range(3):
        assert isinstance(fetcher.fetch(origin.url("/kept")), o.Fetched)

    assert {seen.connection for seen in origin.seen} == {1}


def test_closed_connection_is_replaced(origin, fetcher):
    gate = Recorder(origin)

    for _ in range(3):
        assert isinstance(fetcher.fetch(origin.url("/kept-then-gone"), gate=gate), o.Fetched)

    assert len(origin.seen) == 3


def test_cookies_are_off_by_default(origin, fetcher):
    outcome = fetcher.fetch(origin.url("/cookie"))

    assert isinstance(outcome, o.Unreachable)


def test_cookies_last_for_one_chain_of_redirects(origin, fetcher_with):
    fetcher = fetcher_with(cookies=True)

    assert isinstance(fetcher.fetch(origin.url("/cookie")), o.Fetched)
    assert isinstance(fetcher.fetch(origin.url("/cookie")), o.Fetched)
    assert ["seen=1" in (r.header("Cookie") or "") for r in origin.seen] == [False, True] * 2


def test_credentials_are_sent_to_their_origin_only(origin, fetcher_with):
    fetcher = fetcher_with(
        host_map={"a.test": origin.address, "b.test": origin.address},
        basic_auth={origin.url("", "a.test"): "user:secret"},
        origin_headers={origin.url("", "a.test"): "X-Api-Key: key"},
        headers={"X-Team": "search"},
    )
    origin.handlers["//a.test/"] = redirect(origin.url("/echo", "b.test"))

    outcome = fetcher.fetch(origin.url("/", "a.test"))

    at_a, at_b = origin.seen
    assert at_a.header("Authorization") == "Basic dXNlcjpzZWNyZXQ="
    assert at_a.header("X-Api-Key") == "key"
    assert (at_b.header("Authorization"), at_b.header("X-Api-Key")) == (None, None)
    assert (at_a.header("X-Team"), at_b.header("X-Team")) == ("search", "search")
    assert isinstance(outcome, o.Fetched)


def test_redirect_from_another_site_gets_no_credentials(origin, fetcher_with):
    fetcher = fetcher_with(
        host_map={"a.test": origin.address, "b.test": origin.address},
        basic_auth={origin.url("", "a.test"): "user:secret"},
    )
    origin.handlers["//b.test/"] = redirect(origin.url("/echo?delete=all", "a.test"))

    fetcher.fetch(origin.url("/", "b.test"))

    assert [seen.header("Authorization") for seen in origin.seen] == [None, None]


def test_crawler_without_contact_may_fetch_loopback_only(origin, fetcher_with):
    anonymous = fetcher_with(user_agent="", allowed_networks=("127.0.0.0/8", "192.0.2.0/24"))

    assert isinstance(anonymous.fetch(origin.url("/")), o.Fetched)
    outcome = anonymous.fetch("http://192.0.2.1:8080/")
    assert isinstance(outcome, o.Blocked)
    assert outcome.cause is o.RefusalCause.NO_CONTACT


def test_plain_requests_session_on_the_adapter_is_guarded_too(origin, fetcher):
    with fetcher.session() as session:
        response = session.get(origin.url("/"))
        assert (response.status_code, response.content) == (200, HELLO)
        with pytest.raises(requests.exceptions.InvalidURL):
            session.get("http://10.0.0.1:8080/")
        with pytest.raises(requests.exceptions.ConnectionError):
            session.get(origin.url("/garbage"))
        with pytest.raises(requests.exceptions.ConnectionError, match=r"bytes that|before the end"):
            session.get(origin.url("/cut"))
        with pytest.raises(requests.exceptions.InvalidHeader, match="bomb"):
            session.get(origin.url("/bomb/gzip"))
        with pytest.raises(requests.exceptions.ConnectionError, match="cannot send PUT"):
            session.put(origin.url("/"), data=b"x")
        assert session.post(origin.url("/echo"), data=b"x").text.startswith("POST /echo")
        head = session.head(origin.url("/"))
        assert (head.status_code, head.content) == (200, b"")
        assert session.get(origin.url("/chain/2")).url == origin.url("/chain/0")


def test_many_threads_can_share_a_fetcher(origin, fetcher):
    paths = ["/", "/kept", "/chain/2", "/bomb/gzip", "/cut"] * 8
    outcomes: dict[int, o.Outcome] = {}

    def run(number: int) -> None:
        outcomes[number] = fetcher.fetch(origin.url(paths[number]))

    threads = [threading.Thread(target=run, args=(n,)) for n in range(len(paths))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    expected = [o.Fetched, o.Fetched, o.Fetched, o.TooLarge, o.Fetched] * 8
    assert [type(outcomes[n]) for n in range(len(paths))] == expected


def test_many_green_threads_can_share_a_fetcher(origin, fetcher, version):
    def fetch_one(path: str) -> tuple[type, str | None]:
        outcome = fetcher.fetch(origin.url(path))
        return type(outcome), outcome.http_version

    with GreenPool(16).batch() as batch:
        calls = [batch.submit(fetch_one, path) for path in ["/", "/kept", "/chain/2"] * 20]

    assert {call.result() for call in calls} == {(o.Fetched, version)}


def test_fetch_fetches_one_url(origin, fetcher):
    outcome = fetch(
        origin.url("/conditional"),
        settings=fetcher.settings,
        conditional=('"v1"', None),
        tls=client_context(http2=True),
    )

    assert isinstance(outcome, o.NotModified)
