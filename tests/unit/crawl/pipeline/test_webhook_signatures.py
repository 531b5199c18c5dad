"""Signatures of webhook deliveries, without a receiver."""

import pytest

from aragog.crawl.pipeline.webhook_signatures import Verdict, Verifier, signature


def test_signature_matches_the_documentation():
    assert signature("secret", 1_700_000_000, b"{}") == (
        "t=1700000000,v1=b8569b78799ff9e3cbff0fc2d63a33a2b57f3282abd07c37ae5e8e7d79a5f163"
    )


@pytest.mark.parametrize(
    "header",
    [
        None, "", "t=²,v1=x", "t=1700000000,v1=ü", "t=1700000000,v1=\ud800", "t=" + "9" * 5000,
        "t=-1", "t,v1", "=,=,=", "t=1700000000", "v1=x", "," * 5000,
    ],
)  # fmt: skip
def test_malformed_signature_is_refused_without_raising(header):
    checked = Verifier("secret").check(header, b'{"id":"a"}', now_s=1_700_000_000)

    assert checked is Verdict.REFUSED


def test_replayed_delivery_is_recognized():
    verifier, body, at_s = Verifier("secret"), b'{"id":"a","changes":[]}', 1_700_000_000
    header = signature("secret", at_s, body)

    assert verifier.check(header, body, now_s=at_s) is Verdict.NEW
    assert verifier.check(header, body, now_s=at_s + 299) is Verdict.DUPLICATE
    again = signature("secret", at_s + 290, body)
    assert verifier.check(again, body, now_s=at_s + 590) is Verdict.DUPLICATE
    assert verifier.check(header, body, now_s=at_s + 301) is Verdict.REFUSED
    assert verifier.check("t=1", body, now_s=at_s) is Verdict.REFUSED
    assert verifier.check(signature("secret", at_s, b"[]"), b"[]", now_s=at_s) is Verdict.REFUSED
    verifier.forget("a")
    assert verifier.check(header, body, now_s=at_s) is Verdict.NEW
