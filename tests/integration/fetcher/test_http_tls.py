"""TLS: the name is checked, bad certificates are refused, slow handshakes end."""

from __future__ import annotations

import pytest

from aragog.fetcher import outcome as o
from aragog.fetcher.outcome import UnreachableKind
from tests.support.origin import HELLO, Origin, page
from tests.support.tls import client_context, expired_context, server_context, untrusted_context

HOST = "shop.test"


def _fetch(fetcher_with, context, host=HOST, **changes):
    with Origin({"/": page(HELLO)}, tls=context) as origin:
        fetcher = fetcher_with(tls=client_context(), host_map={host: origin.address}, **changes)
        return fetcher.fetch(origin.url("/", host)), origin.seen


def test_a_page_over_tls_tells_its_protocol(fetcher_with):
    outcome, seen = _fetch(fetcher_with, server_context(HOST))

    assert isinstance(outcome, o.Fetched), outcome
    assert outcome.tls == "TLSv1.3"
    assert seen[0].host == HOST


@pytest.mark.parametrize(
    ("context", "reason"),
    [
        (expired_context(HOST), "expired"),
        (untrusted_context(HOST), "unable to get local issuer"),
        (server_context("other.test"), "Hostname mismatch"),
    ],
)
def test_a_bad_certificate_is_refused_before_anything_is_asked(fetcher_with, context, reason):
    outcome, seen = _fetch(fetcher_with, context)

    assert isinstance(outcome, o.Unreachable)
    assert (outcome.kind, reason in outcome.reason, seen) == ("tls", True, []), outcome.reason


def test_verification_can_be_switched_off(fetcher_with):
    with Origin({"/": page(HELLO)}, tls=expired_context(HOST)) as origin:
        fetcher = fetcher_with(verify_tls=False, host_map={HOST: origin.address})

        outcome = fetcher.fetch(origin.url("/", HOST))

    assert isinstance(outcome, o.Fetched)


def test_a_slow_handshake_ends(fetcher_with):
    with Origin({"/": page(HELLO)}, tls=server_context(HOST), tls_delay_s=5) as origin:
        fetcher = fetcher_with(
            tls=client_context(), host_map={HOST: origin.address}, connect_timeout_s=0.3
        )

        outcome = fetcher.fetch(origin.url("/", HOST))

    assert isinstance(outcome, o.Unreachable)
    assert (outcome.kind, "too long" in outcome.reason) == ("tls", True)


def test_plain_http_where_tls_is_expected_is_unreachable(origin, fetcher_with):
    fetcher = fetcher_with(
        tls=client_context(), host_map={HOST: origin.address}, connect_timeout_s=0.5
    )

    outcome = fetcher.fetch(f"https://{HOST}:{origin.port}/")

    assert isinstance(outcome, o.Unreachable)
    assert outcome.kind is UnreachableKind.TLS
