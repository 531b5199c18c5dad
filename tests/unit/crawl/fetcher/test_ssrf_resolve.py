"""Which addresses the SSRF filter lets a connection use. DNS is a dictionary here."""

from __future__ import annotations

import threading

import pytest

from aragog.crawl.fetcher import dns
from aragog.crawl.fetcher.ssrf import Denied, SsrfFilter, Unresolved, Vetted
from aragog.errors import ConfigError
from aragog.runtime.clock import ManualClock
from aragog.settings import FetchSettings


class Names:
    """A DNS that returns lists of addresses one after the other, and repeats the last."""

    def __init__(self, **answers: list[list[str]]) -> None:
        self.answers = {name.replace("_", "."): list(lists) for name, lists in answers.items()}
        self.asked: list[str] = []

    def __call__(self, host: str) -> list[str]:
        self.asked.append(host)
        if host not in self.answers:
            raise OSError(-2, "Name or service not known")
        lists = self.answers[host]
        return lists.pop(0) if len(lists) > 1 else lists[0]


def ssrf_filter(names: Names | None = None, **settings) -> SsrfFilter:
    return SsrfFilter(FetchSettings(**settings), clock=ManualClock(), lookup=names or Names())


def test_name_resolves_to_its_addresses_in_order():
    names = Names(a_test_com=[["8.8.8.8", "2606:4700::1"]])

    addresses = ssrf_filter(names).resolve("A.test.com.", 443)

    assert addresses == Vetted((("8.8.8.8", 443), ("2606:4700::1", 443)))


@pytest.mark.parametrize("bad", ["127.0.0.1", "10.1.1.1", "::1", "fe80::1%eth0", "::ffff:10.0.0.1"])
def test_one_forbidden_address_blocks_the_name(bad: str):
    addresses = ssrf_filter(Names(a_test_com=[["8.8.8.8", bad]])).resolve("a.test.com", 80)

    assert isinstance(addresses, Denied)
    assert addresses.reason.startswith(f"a.test.com resolves to {bad}")


def test_name_is_vetted_again_when_its_addresses_change():
    clock = ManualClock()
    names = Names(a_test_com=[["8.8.8.8"], ["127.0.0.1"]])
    rule = SsrfFilter(clock=clock, lookup=names)

    assert isinstance(rule.resolve("a.test.com", 80), Vetted)
    assert isinstance(rule.resolve("a.test.com", 80), Vetted)
    clock.advance_ms(dns.TTL_S * 1000)
    assert isinstance(rule.resolve("a.test.com", 80), Denied)
    assert len(names.asked) == 2


def test_name_without_an_address_is_unresolved_and_soon_looked_up_again():
    clock = ManualClock()
    names = Names(empty_test_com=[[]])
    rule = SsrfFilter(clock=clock, lookup=names)

    assert rule.resolve("no.test.com", 80) == Unresolved("no.test.com: Name or service not known")
    assert rule.resolve("empty.test.com", 80) == Unresolved(
        "empty.test.com: the name has no address"
    )
    assert not rule.is_forbidden("http://no.test.com/")
    clock.advance_ms(dns.FAILURE_TTL_S * 1000)
    rule.resolve("no.test.com", 80)
    assert names.asked == ["no.test.com", "empty.test.com", "no.test.com"]


def test_hanging_resolver_is_not_waited_for():
    release = threading.Event()

    def hang(_: str) -> list[str]:
        release.wait(30)
        return ["8.8.8.8"]

    rule = SsrfFilter(FetchSettings(connect_timeout_s=0.01), lookup=hang)

    addresses = rule.resolve("a.test.com", 80)

    release.set()
    assert addresses == Unresolved("a.test.com: no response from DNS within 0.01 s")


def test_name_too_long_for_dns_is_unresolved():
    rule = SsrfFilter(lookup=dns.system_lookup)

    assert isinstance(rule.resolve("a" * 64 + ".test.com", 80), Unresolved)


def test_cached_lookups_are_limited():
    names = Names(a_com=[["8.8.8.8"]], b_com=[["8.8.8.8"]], c_com=[["8.8.8.8"]])
    resolver = dns.Resolver(names, ManualClock(), timeout_s=60, max_entries=2)

    for host in ("a.com", "b.com", "c.com", "c.com", "b.com", "a.com"):
        resolver.find(host)

    assert names.asked == ["a.com", "b.com", "c.com", "a.com"]


def test_port_outside_the_list_is_denied_before_dns():
    names = Names()

    assert ssrf_filter(names).resolve("a.test.com", 22) == Denied(
        "port 22 is not in fetch.allowed_ports"
    )
    assert not names.asked


def test_allowed_network_is_reachable_by_address_and_by_name():
    names = Names(localhost=[["127.0.0.1"]], db_internal=[["10.0.0.1"]])
    rule = ssrf_filter(names, allowed_networks=("127.0.0.0/8", "fd00::/8"))

    assert rule.resolve("127.0.0.1", 80) == Vetted((("127.0.0.1", 80),))
    assert rule.resolve("[fd00::1]", 80) == Vetted((("fd00::1", 80),))
    assert rule.resolve("localhost", 80) == Vetted((("127.0.0.1", 80),))
    assert rule.vet_url("http://[::ffff:127.0.0.1]/") is None
    assert isinstance(rule.resolve("db.internal", 80), Denied)
    assert isinstance(rule.resolve("10.0.0.1", 80), Denied)


def test_metadata_address_is_allowed_only_explicitly():
    wide = ssrf_filter(allowed_networks=("0.0.0.0/0", "::/0"))
    exact = ssrf_filter(allowed_networks=("169.254.169.254/32",))

    for url in ("http://169.254.169.254/", "http://[::ffff:a9fe:a9fe]/", "http://[fd00:ec2::254]/"):
        assert wide.vet_url(url)
    assert wide.vet_url("http://metadata.google.internal/")
    assert wide.vet_url("http://10.0.0.1/") is None
    assert exact.vet_url("http://169.254.169.254/") is None


def test_mapped_host_connects_to_its_address_and_port():
    rule = ssrf_filter(
        allowed_networks=("127.0.0.0/8", "::1"),
        host_map={"a.test": "127.0.0.1:8001", "*.b.test": "[::1]:8002", "*.x.b.test": "127.0.0.2"},
    )

    assert rule.resolve("a.test", 80) == Vetted((("127.0.0.1", 8001),))
    assert rule.resolve("c.b.test", 443) == Vetted((("::1", 8002),))
    assert rule.resolve("d.x.b.test", 443) == Vetted((("127.0.0.2", 443),))
    assert isinstance(rule.resolve("b.test", 80), Unresolved)
    assert rule.vet_url("http://a.test/") is None
    assert rule.vet_url("http://a.test:8001/") == "port 8001 is not in fetch.allowed_ports"


def test_mapping_permits_its_host_and_no_other():
    rule = ssrf_filter(host_map={"a.test": "127.0.0.1:8001"})

    assert rule.resolve("a.test", 80) == Vetted((("127.0.0.1", 8001),))
    assert isinstance(rule.resolve("127.0.0.1", 80), Denied)
    assert isinstance(rule.resolve("b.a.test", 80), Denied | Unresolved)
    assert rule.vet_url("http://localhost/")


def test_mapping_to_a_global_address_needs_no_permission():
    assert ssrf_filter(host_map={"a.test": "8.8.8.8:80"}).resolve("a.test", 80) == Vetted(
        (("8.8.8.8", 80),)
    )


def test_all_invalid_settings_are_reported():
    with pytest.raises(ConfigError) as networks:
        ssrf_filter(allowed_networks=("127.0.0.0/8", "127.0.0.0/99", "home"))
    with pytest.raises(ConfigError) as mapping:
        ssrf_filter(
            host_map={"a": "b:80", "c": "127.0.0.1:x", "d": "1.1.1.1", "e": "1.1.1.1:70000"}
        )

    assert len(networks.value.problems) == 2
    assert [problem.split()[1] for problem in mapping.value.problems] == ["a", "c", "e"]
