"""
Requests signed with Web Bot Auth: an independent implementation verifies each and refuses altered
ones.
"""

from __future__ import annotations

import pytest

from aragog.crawl.fetcher.gate import Deny, Go, Later, OpenGate
from aragog.crawl.identity.keys import read_keys
from aragog.crawl.identity.request_signer import RequestSigner
from aragog.fetch_record import outcome as o
from tests.support.http2_origin import BOTH_VERSIONS
from tests.support.origin import HELLO, Origin, answer, page, redirect
from tests.support.signatures import Refused, Sent, assert_verified, identity, verified
from tests.support.tls import server_context

pytestmark = BOTH_VERSIONS


@pytest.fixture
def scheme(version):
    return "https" if version == "2" else "http"


@pytest.fixture
def settings(tmp_path):
    return identity(tmp_path)


@pytest.fixture
def keys(settings):
    return read_keys(settings.key)


def test_each_hop_of_a_redirect_has_its_own_signature(
    fetcher_with, settings, keys, origin_with, scheme
):
    handlers = {
        "/": redirect("/b?x=1&y=%7e"),
        "/b": redirect(f"{scheme}://other.test/c"),
        "//other.test/c": page(HELLO),
    }
    with origin_with(handlers) as origin:
        hosts = dict.fromkeys(("shop.test", "other.test"), origin.address)
        ports = (80, 443)
        fetcher = fetcher_with(signer=RequestSigner(settings), host_map=hosts, allowed_ports=ports)

        outcome = fetcher.fetch(f"{scheme}://shop.test/")

    assert isinstance(outcome, o.Fetched), outcome
    assert [(r.host, r.target) for r in origin.seen] == [
        ("shop.test", "/"),
        ("shop.test", "/b?x=1&y=~"),
        ("other.test", "/c"),
    ]
    assert_verified(origin.seen, keys, scheme)
    assert len({request.header("signature") for request in origin.seen}) == 3


def test_request_repeated_on_a_new_connection_gets_a_new_signature(
    fetcher_with, settings, keys, origin_with, scheme
):
    answers = iter([page(HELLO, keep_alive=True), None, page(HELLO)])

    def handler(request, wire):
        if (reply := next(answers)) is None:
            wire.reset()
        return reply

    with origin_with({"/*": handler}) as origin:
        fetcher = fetcher_with(signer=RequestSigner(settings))

        fetcher.fetch(origin.url("/first"))
        outcome = fetcher.fetch(origin.url("/second"))

    assert isinstance(outcome, o.Fetched), outcome
    _first, cut, again = origin.seen
    assert (cut.target, again.target) == ("/second", "/second")
    assert cut.header("signature-input") != again.header("signature-input")
    assert_verified(origin.seen, keys, scheme)


def test_signature_over_tls_covers_the_configured_components(fetcher_with, tmp_path, keys):
    everything = ("@method", "@authority", "@target-uri", "@path", "@query", "user-agent")
    settings = identity(tmp_path, components=everything)
    with Origin({"/*": page(HELLO)}, tls=server_context("shop.test")) as origin:
        fetcher = fetcher_with(
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
def origin_of_hello(origin_with):
    with origin_with({"/": page(HELLO)}) as origin:
        yield origin


def asking(text):
    """A page behind a 403 that asks for a signature until one with its nonce or header arrives."""

    def handler(request, _wire):
        signed = request.header("signature-input") or ""
        if ';nonce="n1"' in signed or '"user-agent"' in signed:
            return page(HELLO)
        return answer(403, headers=(("Accept-Signature", text),))

    return handler


class _Counted(OpenGate):
    def __init__(self, admission=None):
        self.admission = admission or Go()
        self.admitted = []
        self.permits = 0

    def admit(self, url, given):
        self.admitted.append((url, given))
        return self.admission

    def acquire_permit(self, url):
        self.permits += 1


def test_403_that_asks_for_a_signature_is_answered_once_at_its_own_slot(
    fetcher_with, settings, keys, origin_with, scheme
):
    text = 'asked=("@method" "@target-uri");nonce="n1";tag="web-bot-auth"'
    with origin_with({"/a": asking(text)}) as origin:
        gate, url = _Counted(), origin.url("/a")

        outcome = fetcher_with(signer=RequestSigner(settings)).fetch(url, gate=gate)

    assert isinstance(outcome, o.Fetched), outcome
    assert (gate.admitted, gate.permits) == ([(url, url)], 2)
    assert outcome.hops == ()
    _, second = origin.seen
    (signature,) = verified(Sent.of(second, scheme), keys)
    assert (signature.label, signature.parameters["nonce"]) == ("asked", "n1")
    assert '"@target-uri"' in signature.covered_components
    assert second.header("signature-agent").startswith("asked=")
    assert_verified(origin.seen, keys, scheme)


def test_requested_components_are_signed_at_once_from_then_on(
    fetcher_with, settings, keys, origin_with, scheme
):
    with origin_with({"/*": asking('sig=("user-agent")')}) as origin:
        fetcher = fetcher_with(signer=RequestSigner(settings))
        outcomes = [fetcher.fetch(origin.url(path)) for path in ("/a", "/b", "/c")]

    assert [outcome.status for outcome in outcomes] == [200, 200, 200]
    assert [request.target for request in origin.seen] == ["/a", "/a", "/b", "/c"]
    assert_verified(origin.seen, keys, scheme)


@pytest.mark.parametrize(
    ("text", "admission", "sent"),
    [
        ('sig=("@method");nonce="other"', Go(), 2),  # the origin refuses that one too
        ('sig=("@method");nonce="n1"', Later(o.DeferralCause.SLOT, "far"), 1),
        ('sig=("@method");nonce="n1"', Deny("no", o.RefusalCause.ROBOTS), 1),
        ('sig=("@method" "@path")', Go(), 1),  # it was already signed
        ('sig=("cookie");nonce="n1"', Go(), 1),
        ('sig=("signature");nonce="n1"', Go(), 1),
        ("sig=(", Go(), 1),
        (f'sig=();nonce="n1", {"x" * 5000}=1', Go(), 1),
    ],
)
def test_unsatisfied_403_is_the_outcome(fetcher_with, settings, text, admission, sent, origin_with):
    with origin_with({"/a": asking(text)}) as origin:
        fetcher = fetcher_with(signer=RequestSigner(settings))
        outcome = fetcher.fetch(origin.url("/a"), gate=_Counted(admission))

    assert (type(outcome), outcome.status) == (o.Withheld, 403)
    assert len(origin.seen) == sent


def test_403_is_not_answered_without_a_key(fetcher, origin_with):
    with origin_with({"/a": asking('sig=();nonce="n1"')}) as origin:
        outcome = fetcher.fetch(origin.url("/a"))

    assert (outcome.status, len(origin.seen)) == (403, 1)
