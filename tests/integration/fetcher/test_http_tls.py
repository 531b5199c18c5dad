"""TLS: the name is verified, bad certificates are refused, and slow handshakes time out."""

from __future__ import annotations

import ssl

import pytest

from aragog.fetch_record import outcome as o
from aragog.fetch_record.outcome import UnreachableKind
from aragog.observability.instruments import TLS_FAILURES, TLS_HANDSHAKES
from tests.support.http2_origin import BOTH_VERSIONS
from tests.support.origin import HELLO, Origin, page
from tests.support.tls import (
    expired_context,
    old_context,
    self_signed_context,
    server_context,
    untrusted_context,
)

HOST = "shop.test"
pytestmark = BOTH_VERSIONS


def _fetch(fetcher_with, context, host=HOST, **changes):
    with Origin({"/": page(HELLO)}, tls=context) as origin:
        fetcher = fetcher_with(host_map={host: origin.address}, **changes)
        return fetcher.fetch(origin.url("/", host)), origin.seen


def test_page_over_tls_has_its_protocol_version(fetcher_with):
    outcome, seen = _fetch(fetcher_with, server_context(HOST))

    assert isinstance(outcome, o.Fetched), outcome
    assert outcome.tls == "TLSv1.3"
    assert seen[0].host == HOST


@pytest.mark.parametrize(
    ("context", "reason"),
    [
        (expired_context(HOST), "certificate refused, expired: "),
        (untrusted_context(HOST), "certificate refused, from an unknown issuer: "),
        (server_context("other.test"), "certificate refused, for another name: Hostname mismatch"),
        (self_signed_context(), "certificate refused, self-signed: "),
        (old_context(HOST), "TLS protocol too old: "),
    ],
)
def test_bad_certificate_is_refused_before_any_request(fetcher_with, context, reason):
    outcome, seen = _fetch(fetcher_with, context)

    assert isinstance(outcome, o.Unreachable)
    assert (outcome.kind, reason in outcome.reason, seen) == ("tls", True, []), outcome.reason


def test_failed_handshakes_are_counted_by_reason(fetcher_with):
    before = TLS_FAILURES.labels("expired").read().get("", 0)
    _fetch(fetcher_with, expired_context(HOST))

    assert TLS_FAILURES.labels("expired").read()[""] == before + 1


@pytest.fixture
def handshakes():
    """The number of full and resumed handshakes since the test began."""
    kinds = ("full", "resumed")
    before = [TLS_HANDSHAKES.labels(kind).read().get("", 0) for kind in kinds]
    return lambda: tuple(
        TLS_HANDSHAKES.labels(kind).read().get("", 0) - count
        for kind, count in zip(kinds, before, strict=True)
    )


@pytest.mark.parametrize("highest", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_second_connection_resumes_the_first_session(fetcher_with, handshakes, highest):
    context = server_context(HOST)
    context.maximum_version = highest
    with Origin({"/": page(HELLO)}, tls=context) as origin:
        fetcher = fetcher_with(host_map={HOST: origin.address})
        outcomes = [fetcher.fetch(origin.url("/", HOST)) for _ in range(3)]

    assert all(isinstance(outcome, o.Fetched) for outcome in outcomes)
    assert handshakes() == (1, 2)


def test_session_is_resumed_for_its_own_host_only(fetcher_with, handshakes):
    with Origin({"/": page(HELLO)}, tls=server_context(HOST, "other.test")) as origin:
        hosts = {HOST: origin.address, "other.test": origin.address}
        fetcher = fetcher_with(host_map=hosts)
        for host in hosts:
            fetcher.fetch(origin.url("/", host))

    assert handshakes() == (2, 0)


def test_unverified_session_is_not_reused_for_verified_requests(fetcher_with):
    with Origin({"/": page(HELLO)}, tls=expired_context(HOST)) as origin:
        mapped = {"host_map": {HOST: origin.address}}
        careless = fetcher_with(verify_tls=False, **mapped)
        careful = fetcher_with(**mapped)

        outcomes = [one.fetch(origin.url("/", HOST)) for one in (careless, careful)]

    assert isinstance(outcomes[0], o.Fetched)
    assert isinstance(outcomes[1], o.Unreachable)


def test_verification_can_be_switched_off(fetcher_with):
    with Origin({"/": page(HELLO)}, tls=expired_context(HOST)) as origin:
        fetcher = fetcher_with(verify_tls=False, host_map={HOST: origin.address})

        outcome = fetcher.fetch(origin.url("/", HOST))

    assert isinstance(outcome, o.Fetched)


def test_slow_handshake_times_out(fetcher_with):
    with Origin({"/": page(HELLO)}, tls=server_context(HOST), tls_delay_s=5) as origin:
        fetcher = fetcher_with(host_map={HOST: origin.address}, connect_timeout_s=0.3)

        outcome = fetcher.fetch(origin.url("/", HOST))

    assert isinstance(outcome, o.Unreachable)
    assert (outcome.kind, "too long" in outcome.reason) == ("tls", True)


def test_plain_http_instead_of_tls_is_unreachable(plain_origin, fetcher_with):
    fetcher = fetcher_with(host_map={HOST: plain_origin.address}, connect_timeout_s=0.5)

    outcome = fetcher.fetch(f"https://{HOST}:{plain_origin.port}/")

    assert isinstance(outcome, o.Unreachable)
    assert outcome.kind is UnreachableKind.TLS


UNDERSCORE = "foo_bar.shop.test"


@pytest.mark.parametrize(
    ("names", "accepted"),
    [
        (("*.shop.test",), True),
        (("*.other.test",), False),
        (("shop.test",), False),
        (("*.test",), False),
    ],
)
def test_host_with_an_underscore_is_verified_against_its_certificate(fetcher_with, names, accepted):
    outcome, seen = _fetch(fetcher_with, server_context(*names), host=UNDERSCORE)

    assert (isinstance(outcome, o.Fetched), bool(seen)) == (accepted, accepted), outcome
    assert accepted or outcome.reason.startswith("certificate refused, for another name")


@pytest.mark.parametrize("context", [expired_context, untrusted_context])
def test_bad_certificate_for_a_host_with_an_underscore_is_refused(fetcher_with, context):
    outcome, seen = _fetch(fetcher_with, context("*.shop.test"), host=UNDERSCORE)

    assert (outcome.kind, seen) == ("tls", [])
