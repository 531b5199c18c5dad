"""Requests with Web Bot Auth: somebody else's code verifies each, and refuses each that was changed."""

from __future__ import annotations

import pytest

from aragog.fetcher import outcome as o
from aragog.identity.keys import read_keys
from aragog.identity.request_signer import RequestSigner
from tests.support.origin import HELLO, Origin, page, redirect
from tests.support.signatures import Refused, Sent, assert_verified, identity, verified
from tests.support.tls import client_context, server_context


@pytest.fixture
def settings(tmp_path):
    return identity(tmp_path)


@pytest.fixture
def keys(settings):
    return read_keys(settings.key)


def test_each_hop_of_a_redirect_is_signed_for_itself(fetcher_with, settings, keys):
    handlers = {
        "/": redirect("/b?x=1&y=%7e"),
        "/b": redirect("http://other.test/c"),
        "//other.test/c": page(HELLO),
    }
    with Origin(handlers) as origin:
        hosts = dict.fromkeys(("shop.test", "other.test"), origin.address)
        fetcher = fetcher_with(signer=RequestSigner(settings), host_map=hosts, allowed_ports=(80,))

        outcome = fetcher.fetch("http://shop.test/")

    assert isinstance(outcome, o.Fetched), outcome
    assert [(r.host, r.target) for r in origin.seen] == [
        ("shop.test", "/"),
        ("shop.test", "/b?x=1&y=~"),
        ("other.test", "/c"),
    ]
    assert_verified(origin.seen, keys)
    assert len({request.header("signature") for request in origin.seen}) == 3


def test_a_request_that_is_repeated_on_a_new_connection_is_signed_anew(
    fetcher_with, settings, keys
):
    answers = iter([page(HELLO, keep_alive=True), None, page(HELLO)])

    def handler(request, wire):
        if (reply := next(answers)) is None:
            wire.reset()
        return reply

    with Origin({"/*": handler}) as origin:
        fetcher = fetcher_with(signer=RequestSigner(settings))

        fetcher.fetch(origin.url("/first"))
        outcome = fetcher.fetch(origin.url("/second"))

    assert isinstance(outcome, o.Fetched), outcome
    _first, cut, again = origin.seen
    assert (cut.target, again.target) == ("/second", "/second")
    assert cut.header("signature-input") != again.header("signature-input")
    assert_verified(origin.seen, keys)


def test_a_request_over_tls_covers_what_the_settings_name(fetcher_with, tmp_path, keys):
    everything = ("@method", "@authority", "@target-uri", "@path", "@query", "user-agent")
    settings = identity(tmp_path, components=everything)
    with Origin({"/*": page(HELLO)}, tls=server_context("shop.test")) as origin:
        fetcher = fetcher_with(
            tls=client_context(),
            signer=RequestSigner(settings),
            host_map={"shop.test": origin.address},
            allowed_ports=(443,),
        )
        fetcher.fetch("https://shop.test/a?b=c")
        with fetcher.session() as session:
            session.post("https://shop.test:443/form", b"x").raise_for_status()

    first, second = origin.seen
    assert_verified(origin.seen, keys, "https")
    (signature,) = verified(Sent.of(first, "https"), keys)
    assert list(signature.covered_components) == [
        *(f'"{name}"' for name in everything),
        '"signature-agent";key="sig1"',
        '"@signature-params"',
    ]
    other_agent = Sent.of(first, "https")
    other_agent.headers["User-Agent"] = "other/1.0"
    with pytest.raises(Refused):
        verified(other_agent, keys)
    assert "@query" not in second.header("signature-input")


def test_requests_without_a_key_are_not_signed(fetcher, origin_of_hello):
    fetcher.fetch(origin_of_hello.url("/"))

    (request,) = origin_of_hello.seen
    assert request.header("user-agent")
    assert not [name for name, _ in request.headers if name.lower().startswith("signature")]


@pytest.fixture
def origin_of_hello():
    with Origin({"/": page(HELLO)}) as origin:
        yield origin
