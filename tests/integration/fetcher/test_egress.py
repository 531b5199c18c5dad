"""
Named egress routes with real proxies: which route a request takes, and what happens when one fails.
"""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest

from aragog.crawl.egress.egress import Egress
from aragog.crawl.egress.rules import EgressContext
from aragog.crawl.fetcher.fetcher import Fetcher
from aragog.errors import ConfigError
from aragog.fetch_record import outcome as o
from aragog.fetch_record.causes import DeferralCause, RefusalCause
from aragog.runtime.clock import ManualClock
from aragog.settings import EgressRule, EgressSettings, WaySettings
from tests.integration.fetcher.conftest import PATIENT
from tests.support.origin import HELLO, Origin, page
from tests.support.proxies import HttpProxy, SocksProxy, free_port, socks_answer
from tests.support.tls import client_context, server_context

HOST = "shop.test"
DEAD = "http://127.0.0.1:{port}"


@pytest.fixture
def site():
    with Origin({"*": page(HELLO, keep_alive=True)}) as running:
        yield running


@pytest.fixture
def make_fetcher():
    """Makes fetchers with these routes and rules, and closes them."""
    fetchers = []

    def make(ways, *rules, clock=None, tls=None, **fetch):
        settings = EgressSettings(ways, tuple(rules))
        limits = replace(PATIENT, **fetch)
        clock = clock or ManualClock()
        egress = Egress(settings, limits, clock)
        fetchers.append(Fetcher(limits, egress=egress, tls=tls))
        return fetchers[-1]

    yield make
    for fetcher in fetchers:
        fetcher.close()


def all_urls(*ways, **conditions):
    return EgressRule(ways=ways, **conditions)


@pytest.mark.parametrize("kind", [HttpProxy, SocksProxy])
def test_proxy_gets_the_checked_address_and_the_login_from_the_environment(
    site, make_fetcher, kind, monkeypatch
):
    monkeypatch.setenv("OFFICE_LOGIN", "me:se:cret")
    with kind(login="me:se:cret") as proxy:
        ways = {"office": WaySettings(proxy=proxy.url, login="env:OFFICE_LOGIN")}
        fetcher = make_fetcher(ways, all_urls("office"), host_map={HOST: site.address})

        outcome = fetcher.fetch(f"http://{HOST}:8080/")

        assert isinstance(outcome, o.Fetched), outcome
        assert (outcome.way, outcome.address) == ("office", "127.0.0.1")
        assert (proxy.asked, proxy.logins) == ([site.address], ["me:se:cret"])
        assert site.seen[0].header("Proxy-Authorization") is None


@pytest.mark.parametrize("kind", [HttpProxy, SocksProxy])
def test_https_through_a_proxy_is_verified_by_name_here(make_fetcher, kind):
    with Origin({"/": page(HELLO)}, tls=server_context(HOST)) as site, kind() as proxy:
        ways = {"office": WaySettings(proxy=proxy.url)}
        names = {HOST: site.address, "other.test": site.address}
        fetcher = make_fetcher(ways, all_urls("office"), host_map=names, tls=client_context())

        assert isinstance(fetcher.fetch(site.url("/", HOST)), o.Fetched)
        wrong = fetcher.fetch(site.url("/", "other.test"))

        assert (wrong.outcome, wrong.kind) == (o.OutcomeKind.UNREACHABLE, "tls")
        assert wrong.way == "office"


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        (SocksProxy, {"scheme": "socks5h"}),
        (HttpProxy, {"resolve_at_proxy": True}),
    ],
)
def test_proxy_resolves_names_if_the_route_says_so(site, make_fetcher, kind, changes):
    name = "only-known.example"
    with kind(names={name: ("127.0.0.1", site.port)}) as proxy:
        url = proxy.url.replace("socks5:", f"{changes.get('scheme', 'socks5')}:")
        way = WaySettings(proxy=url, resolve_at_proxy=changes.get("resolve_at_proxy", False))
        fetcher = make_fetcher({"far": way}, all_urls("far"))

        outcome = fetcher.fetch(f"http://{name}:8080/")

        assert isinstance(outcome, o.Fetched), outcome
        assert (proxy.asked, outcome.address, outcome.dns_ms is not None) == (
            [f"{name}:8080"], None, True,
        )  # fmt: skip


@pytest.mark.parametrize(
    "url",
    [
        "http://metadata.google.internal:8080/", "http://printer.local:8080/",
        "http://localhost:8080/", "http://10.0.0.1:8080/", "http://169.254.169.254:8080/",
        "http://10.0.0.1.nip.io:8080/", "http://shop.example:22/",
    ],
)  # fmt: skip
@pytest.mark.parametrize("scheme", ["socks5", "socks5h", "http"])
def test_every_route_checks_urls_with_the_ssrf_filter(make_fetcher, url, scheme):
    with SocksProxy() as socks, HttpProxy() as http:
        proxy = http.url if scheme == "http" else socks.url.replace("socks5:", f"{scheme}:")
        fetcher = make_fetcher(
            {"far": WaySettings(proxy=proxy)}, all_urls("far"), allowed_networks=()
        )

        outcome = fetcher.fetch(url)

        assert isinstance(outcome, o.Blocked), outcome
        assert outcome.cause in (RefusalCause.URL, RefusalCause.ADDRESS)
        assert socks.asked + http.asked == []


def test_local_names_stay_blocked_at_a_resolving_proxy_despite_allowed_networks(make_fetcher):
    with SocksProxy() as proxy:
        ways = {"far": WaySettings(proxy=proxy.url.replace("socks5:", "socks5h:"))}
        fetcher = make_fetcher(ways, all_urls("far"), allowed_networks=("10.0.0.0/8",))

        for name in ("printer.local", "localhost", "192.168.0.1.nip.io"):
            assert isinstance(fetcher.fetch(f"http://{name}:8080/"), o.Blocked)

        assert proxy.asked == []


def test_direct_route_uses_its_source_address(site, make_fetcher):
    source_addresses = []

    def note(_, wire):
        source_addresses.append(wire.sock.getpeername()[0])
        return page(HELLO)

    site.handlers["*"] = note
    ways = {"second": WaySettings(addresses=("127.0.0.9",))}
    fetcher = make_fetcher(ways, all_urls("second"))

    outcome = fetcher.fetch(site.url("/"))

    assert isinstance(outcome, o.Fetched), outcome
    assert outcome.way == "second"
    assert source_addresses == ["127.0.0.9"]


def test_unavailable_source_address_fails_the_route(site, make_fetcher):
    ways = {"moved": WaySettings(addresses=("192.0.2.7",))}
    fetcher = make_fetcher(ways, all_urls("moved", "direct"))

    outcome = fetcher.fetch(site.url("/"))

    assert isinstance(outcome, o.Fetched), outcome
    assert outcome.way is None
    assert "192.0.2.7 cannot be used" in fetcher.adapter.egress.health.reason(["moved"])


def test_next_route_replaces_a_dead_proxy_that_is_then_left_alone(site, make_fetcher):
    clock = ManualClock()
    with HttpProxy() as good:
        ways = {
            "dead": WaySettings(proxy=DEAD.format(port=free_port())),
            "good": WaySettings(proxy=good.url),
        }
        fetcher = make_fetcher(ways, all_urls("dead", "good"), clock=clock)

        outcomes = [fetcher.fetch(site.url(f"/{n}")) for n in range(3)]

        assert [outcome.way for outcome in outcomes] == ["good"] * 3
        assert fetcher.adapter.egress.health.retry_in_ms(["dead"]) == 5000
        assert [request.target for request in site.seen] == ["/0", "/1", "/2"]


def test_proxy_that_answers_407_fails_and_its_login_stays_secret(
    site, make_fetcher, monkeypatch, caplog
):
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("OFFICE_LOGIN", "me:wr0ng-word")
    for kind in (HttpProxy, SocksProxy):
        with kind(login="me:right") as proxy:
            ways = {"office": WaySettings(proxy=proxy.url, login="env:OFFICE_LOGIN")}
            fetcher = make_fetcher(ways, all_urls("office"))

            outcome = fetcher.fetch(site.url("/"))

            assert isinstance(outcome, o.Deferred), outcome
            assert (outcome.cause, outcome.way) == (DeferralCause.EGRESS, "office")
            assert "office: " in outcome.reason
            assert "credentials" in outcome.reason
            assert "wr0ng" not in f"{outcome!r}{fetcher.adapter.egress!r}{caplog.text}"
    assert site.seen == []


def test_request_uses_only_the_routes_of_its_rule(site, make_fetcher):
    ways = {"dead": WaySettings(proxy=DEAD.format(port=free_port()))}
    fetcher = make_fetcher(ways, all_urls("dead"))

    outcome = fetcher.fetch(site.url("/"))

    assert isinstance(outcome, o.Deferred)
    assert "egress.rules[1]" in outcome.reason
    assert site.seen == []


def test_recovered_route_is_used_again(site, make_fetcher):
    clock, port = ManualClock(), free_port()
    ways = {"office": WaySettings(proxy=DEAD.format(port=port))}
    fetcher = make_fetcher(ways, all_urls("office", "direct"), clock=clock)
    assert fetcher.fetch(site.url("/1")).way is None

    with HttpProxy(port=port):
        assert fetcher.fetch(site.url("/2")).way is None  # its retry is not due
        clock.advance_ms(5_100)
        assert fetcher.fetch(site.url("/3")).way == "office"
        assert fetcher.fetch(site.url("/4")).way == "office"
    assert fetcher.adapter.egress.health.reason(["office"]) == ""


def test_target_unreachable_for_a_proxy_is_not_a_failure_of_the_route(site, make_fetcher):
    for kind, answer in (
        (HttpProxy, b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"),
        (SocksProxy, socks_answer(5)),
    ):
        with kind(answer=answer) as proxy:
            fetcher = make_fetcher(
                {"office": WaySettings(proxy=proxy.url)}, all_urls("office", "direct")
            )

            outcome = fetcher.fetch(site.url("/"))

            assert isinstance(outcome, o.Unreachable), outcome
            assert (outcome.kind, outcome.way) == ("connect", "office")
            assert fetcher.adapter.egress.health.retry_in_ms(["office"]) == 0
    assert site.seen == []


def test_proxy_that_reaches_none_of_five_domains_in_a_row_is_failing(make_fetcher):
    answer = b"HTTP/1.1 503 No way\r\nContent-Length: 0\r\n\r\n"
    names = {f"site{n}.test": f"127.0.0.1:{8080 + n}" for n in range(5)}
    with HttpProxy(answer=answer) as proxy:
        ways = {"office": WaySettings(proxy=proxy.url)}
        fetcher = make_fetcher(ways, all_urls("office"), host_map=names)

        for name in names:
            assert isinstance(fetcher.fetch(f"http://{name}:8080/"), o.Unreachable)

        assert isinstance(fetcher.fetch("http://site0.test:8080/"), o.Deferred)


def test_target_refused_by_a_proxy_takes_the_next_route(site, make_fetcher):
    for kind, answer in (
        (HttpProxy, b"HTTP/1.1 403 Not here\r\nContent-Length: 0\r\n\r\n"),
        (SocksProxy, socks_answer(2)),
    ):
        with kind(answer=answer) as proxy:
            way = {"office": WaySettings(proxy=proxy.url)}
            fetcher = make_fetcher(way, all_urls("office", "direct"))

            assert fetcher.fetch(site.url("/")).way is None
            assert fetcher.adapter.egress.health.retry_in_ms(["office"]) == 0

            alone = make_fetcher(way, all_urls("office")).fetch(site.url("/"))
            assert isinstance(alone, o.Unreachable), alone
            assert alone.kind == "connect"


def test_connections_are_reused_within_a_route_only(site, make_fetcher):
    with HttpProxy() as one, HttpProxy() as two:
        ways = {"one": WaySettings(proxy=one.url), "two": WaySettings(proxy=two.url)}
        fetcher = make_fetcher(ways)

        used = [
            fetcher.fetch(site.url("/"), egress=EgressContext(way=way)).way
            for way in ("one", "two", "direct", "one", "two", "direct")
        ]

        assert used == ["one", "two", None] * 2
        assert (len(one.asked), len(two.asked), len({r.connection for r in site.seen})) == (1, 1, 3)


def test_each_domain_has_one_session_with_its_own_connections(site, make_fetcher, monkeypatch):
    monkeypatch.setenv("LOGIN", "customer-{domain}-{session}:pw")
    clock = ManualClock()
    names = {"a.one.test": site.address, "b.one.test": site.address, "two.test": site.address}
    with HttpProxy() as proxy:
        ways = {"pool": WaySettings(proxy=proxy.url, login="env:LOGIN", session_s=60)}
        fetcher = make_fetcher(ways, all_urls("pool"), clock=clock, host_map=names)
        for host in names:
            assert isinstance(fetcher.fetch(f"http://{host}:8080/"), o.Fetched)
        clock.advance_ms(61_000)
        assert isinstance(fetcher.fetch("http://two.test:8080/"), o.Fetched)

    a, b, two, later = proxy.logins
    assert a == b
    assert a.startswith("customer-one.test-")
    assert two.startswith("customer-two.test-")
    assert later.startswith("customer-two.test-")
    assert len({a, two, later}) == 3


def test_login_is_reread_for_each_connection(site, make_fetcher, tmp_path):
    file = tmp_path / "login"
    file.write_text("me:old\n")
    with HttpProxy() as proxy:
        ways = {"office": WaySettings(proxy=proxy.url, login=f"file:{file}")}
        fetcher = make_fetcher(ways, all_urls("office"))
        fetcher.fetch(site.url("/"))
        fetcher.adapter.connections.close()
        file.write_text("me:new\n")
        other = make_fetcher(ways, all_urls("office"))
        file.write_text("me:newer\n")
        other.fetch(site.url("/"))

    assert proxy.logins == ["me:old", "me:newer"]


def test_missing_login_is_reported_without_its_value(make_fetcher, tmp_path, monkeypatch):
    monkeypatch.delenv("NOWHERE", raising=False)
    monkeypatch.setenv("BROKEN", "only-a-user-s3cret")
    for login, expected in (
        ("env:NOWHERE", "NOWHERE is not set"),
        (f"file:{tmp_path}/none", "cannot be read"),
        ("env:BROKEN", "user:password"),
    ):
        with pytest.raises(ConfigError, match=expected) as caught:
            make_fetcher({"office": WaySettings(proxy="http://127.0.0.1:1", login=login)})
        assert "s3cret" not in str(caught.value)


def test_fetch_proxy_is_the_route_of_urls_that_match_no_rule(site, make_fetcher):
    with SocksProxy(login="me:pw") as usual, HttpProxy() as office:
        fetcher = make_fetcher(
            {"office": WaySettings(proxy=office.url)},
            all_urls("office", hosts=("shop.test",)),
            proxy=usual.url.replace("//", "//me:pw@"),
            host_map={HOST: site.address},
        )

        assert fetcher.fetch(f"http://{HOST}:8080/").way == "office"
        assert fetcher.fetch(site.url("/")).way == "proxy"
        assert usual.logins == ["me:pw"]


def test_unknown_route_in_a_request_defers_it(site, make_fetcher):
    outcome = make_fetcher({}).fetch(site.url("/"), egress=EgressContext(way="moon"))

    assert isinstance(outcome, o.Deferred)
    assert "no egress route named moon" in outcome.reason


@pytest.mark.parametrize("kind", [HttpProxy, SocksProxy])
def test_proxy_accepts_ipv6_addresses(site, make_fetcher, kind):
    far = "2001:4860:4860::8888"
    with kind(names={far: ("127.0.0.1", site.port)}) as proxy:
        ways = {"office": WaySettings(proxy=proxy.url)}
        fetcher = make_fetcher(ways, all_urls("office"), host_map={HOST: f"[{far}]:8080"})

        outcome = fetcher.fetch(f"http://{HOST}:8080/")

        assert isinstance(outcome, o.Fetched), outcome
        assert outcome.address == far
        assert proxy.asked[0].replace("[", "").replace("]", "") == f"{far}:8080"


def test_direct_route_without_ipv6_leaves_ipv6_hosts_to_the_next(make_fetcher):
    far = "[2001:4860:4860::8888]:8080"
    answer = b"HTTP/1.1 502 No\r\nContent-Length: 0\r\n\r\n"
    with HttpProxy(answer=answer) as proxy:
        ways = {
            "here": WaySettings(addresses=("127.0.0.1",)),
            "office": WaySettings(proxy=proxy.url),
        }
        fetcher = make_fetcher(ways, all_urls("here", "office"), host_map={HOST: far})

        assert fetcher.fetch(f"http://{HOST}:8080/").way == "office"
        assert fetcher.adapter.egress.health.retry_in_ms(["here"]) == 0


def test_lost_login_fails_its_route_but_not_the_batch(site, make_fetcher, tmp_path):
    file = tmp_path / "login"
    file.write_text("me:pw")
    with HttpProxy(login="me:pw") as proxy:
        ways = {"office": WaySettings(proxy=proxy.url, login=f"file:{file}")}
        fetcher = make_fetcher(ways, all_urls("office"))
        file.unlink()

        outcome = fetcher.fetch(site.url("/"))

        assert isinstance(outcome, o.Deferred)
        assert f"{file} cannot be read" in outcome.reason
