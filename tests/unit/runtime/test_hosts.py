"""Names under which a local server is asked."""

from aragog.runtime.hosts import is_ip, is_loopback


def test_names_are_not_addresses_and_only_localhost_is_a_loopback_name():
    assert [is_ip(host) for host in ("10.0.0.1", "::1", "localhost", "")] == [
        True,
        True,
        False,
        False,
    ]
    assert [is_loopback(host) for host in ("127.0.0.9", "::1", "localhost")] == [True] * 3
    assert [is_loopback(host) for host in ("10.0.0.1", "example.com", "")] == [False] * 3
