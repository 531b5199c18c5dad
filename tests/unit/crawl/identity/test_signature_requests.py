"""Accept-Signature: which requests for a signature are fulfilled."""

from __future__ import annotations

import pytest

from aragog.crawl.identity.signature_base import Component
from aragog.crawl.identity.signature_requests import SignatureRequest, signature_requests


def read(text):
    return list(signature_requests(text, "our-key", "web-bot-auth"))


def test_example_of_the_rfc_is_parsed():
    text = (
        'sig1=("@method" "@target-uri" "@authority" "cache-control" "@query-param";name="a");'
        'keyid="our-key";created;nonce="n1";tag="web-bot-auth";alg="ed25519"'
    )

    assert read(text) == [
        SignatureRequest(
            "sig1",
            (
                Component("@method"),
                Component("@target-uri"),
                Component("@authority"),
                Component("cache-control"),
                Component("@query-param", (("name", "a"),)),
            ),
            "n1",
        )
    ]


def test_only_matching_requests_are_parsed():
    text = 'a=("@method");keyid="other", b=();nonce="x", c=("@path" "signature-agent";key="c")'

    assert read(text) == [
        SignatureRequest("b", (), "x"),
        SignatureRequest("c", (Component("@path"), Component("signature-agent", (("key", "c"),)))),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "sig=(",
        "sig=5",
        'sig=("@method");alg="rsa-pss-sha512"',
        'sig=("@method");tag="app"',
        "sig=(@method)",
        "sig=(token)",
        'sig=("@Method")',
        'sig=("@method" "@method")',
        'sig=("@method";x=5)',
        'sig=("signature-agent";key="other")',
        'sig=("signature-agent")',
        "sig=();nonce=5",
        "sig=();nonce=token",
        f'sig=();nonce="{"n" * 600}"',
        f'{"s" * 65}=("@method")',
        "sig=(" + " ".join(f'"h{n}"' for n in range(21)) + ")",
    ],
)
def test_unusable_request_is_ignored(text):
    assert read(text) == []
