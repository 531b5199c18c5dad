"""Which connection a full server closes."""

from __future__ import annotations

from aragog.api.server.clients import Clients
from aragog.settings import ServingSettings


class Connection:
    """A connection that has been idle since an instant, or is busy."""

    def __init__(self, idle_since_s: float | None) -> None:
        self.idle_since_s = idle_since_s
        self.aborted = False

    def abort(self) -> None:
        self.aborted = True

    def end_if_late(self, now_s: float) -> None:
        pass


def clients(most: int, max_per_address: int = 0) -> Clients:
    return Clients(
        ServingSettings(max_connections=most, max_connections_per_address=max_per_address)
    )


def test_addresses_of_one_ipv6_network_count_as_one():
    one, others = clients(10, 2), [Connection(float(n)) for n in range(4)]
    addresses = ["2001:db8:0:1::1", "2001:db8:0:1:ffff::2", "2001:db8:0:2::1", "2001:db8:0:1::3"]

    assert all(one.add(other, address) for other, address in zip(others, addresses, strict=True))

    assert [other.aborted for other in others] == [True, False, False, False]


def test_ipv4_mapped_address_counts_as_its_ipv4_address():
    one, first, second = clients(10, 1), Connection(1.0), Connection(2.0)

    assert one.add(first, "192.0.2.7")
    assert one.add(second, "::ffff:192.0.2.7")

    assert first.aborted


def test_link_local_address_is_counted_without_its_interface():
    one, first, second = clients(10, 1), Connection(1.0), Connection(2.0)

    assert one.add(first, "fe80::1%eth0")
    assert one.add(second, "fe80::2%eth1")

    assert first.aborted


def test_idle_connection_of_another_address_is_closed_if_the_largest_has_none():
    one, quiet = clients(3), Connection(5.0)
    busy = [Connection(None), Connection(None)]
    assert one.add(quiet, "192.0.2.1")
    assert all(one.add(connection, "192.0.2.2") for connection in busy)

    assert one.add(Connection(6.0), "192.0.2.2")

    assert quiet.aborted
    assert not any(connection.aborted for connection in busy)


def test_refused_connection_is_not_counted():
    one, busy = clients(1), Connection(None)
    assert one.add(busy, "192.0.2.1")

    assert not one.add(Connection(1.0), "192.0.2.2")

    assert list(one) == [busy]
    one.discard(busy)
    assert len(one) == 0
    assert one.add(Connection(1.0), "192.0.2.2")
