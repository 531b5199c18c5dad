"""IP addresses and loopback names."""

from aragog.runtime.hosts import is_ip, is_loopback


def test_only_addresses_are_ips_and_only_localhost_is_a_loopback_name():
    assert [is_ip(host) for host in ("10.0.0.1", "::1", "localhost", "")] == [
        True,
        True,
        False,
        False,
    ]
    assert [is_loopback(host) for host in ("127.0.0.9", "::1", "localhost")] == [True] * 3
    assert [is_loopback(host) for host in ("10.0.0.1", "example.com", "")] == [False] * 3
