"""Stored TLS sessions are each resumed once, within their lifetime, and limited in number."""

from types import SimpleNamespace
from typing import Any

from aragog.crawl.fetcher.http1.tls import MAX_SESSION_AGE_S, SessionKey, TlsSessions
from aragog.runtime.clock import ManualClock


def ended(**changes: Any) -> Any:
    """A closed connection with a session."""
    values = {"has_ticket": True, "id": b"", "ticket_lifetime_hint": 7200, "timeout": 300}
    return SimpleNamespace(session=SimpleNamespace(**(values | changes)))


NOW_S = ManualClock().monotonic_s()
KEY = SessionKey("shop.test", 443, "192.0.2.1")


def test_session_is_used_once():
    sessions, one = TlsSessions(ManualClock()), ended()
    sessions.keep(KEY, one, NOW_S)

    assert [sessions.take(KEY), sessions.take(KEY)] == [one.session, None]


def test_sessions_differ_by_name_port_address_and_route():
    sessions = TlsSessions(ManualClock())
    sessions.keep(KEY, ended(), NOW_S)

    others = [
        KEY._replace(host="other.test"),
        KEY._replace(port=8443),
        KEY._replace(address="192.0.2.2"),
        KEY._replace(route_key="office"),
    ]
    assert [sessions.take(other) for other in others] == [None] * 4


def test_session_is_kept_for_its_lifetime_and_at_most_an_hour():
    clock = ManualClock()
    sessions = TlsSessions(clock)
    for life_s, after_s in ((60, 61.0), (7200, MAX_SESSION_AGE_S + 1)):
        sessions.keep(KEY, ended(ticket_lifetime_hint=life_s), clock.monotonic_s())
        clock.advance_ms(after_s * 1000)

        assert sessions.take(KEY) is None


def test_session_that_cannot_be_resumed_is_not_kept():
    sessions = TlsSessions(ManualClock())
    for one in (SimpleNamespace(session=None), ended(has_ticket=False)):
        sessions.keep(KEY, one, NOW_S)

        assert sessions.take(KEY) is None


def test_oldest_session_is_dropped_first():
    sessions = TlsSessions(ManualClock(), max_sessions=2)
    keys = [KEY._replace(port=port) for port in (1, 2, 3)]
    for key in keys:
        sessions.keep(key, ended(), NOW_S)

    assert [sessions.take(key) is not None for key in keys] == [False, True, True]
