"""Web Bot Auth: the test vectors of its draft, and the content of a signed request."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from aragog.crawl.identity.keys import (
    SigningKey,
    decode_base64url,
    new_key,
    read_keys,
    rotate_keys,
    write_keys,
)
from aragog.crawl.identity.request_signer import (
    RequestSigner,
    agent_value,
    request_signer,
    signature_fields,
)
from aragog.crawl.identity.signature_base import Component, SignedMessage, UnsignableError
from aragog.crawl.identity.signature_requests import SignatureRequest
from aragog.pages.structured_fields import parse_dictionary
from aragog.runtime.clock import ManualClock
from aragog.settings import IdentitySettings
from tests.support.signatures import AGENT, identity

FOLDER = Path(__file__).parents[3] / "data" / "signatures"
DRAFT = json.loads((FOLDER / "web_bot_auth.json").read_text())
KEY = SigningKey.from_private_key(
    Ed25519PrivateKey.from_private_bytes(
        decode_base64url("n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU")
    ),
    0,
)
GET = SignedMessage(
    method="GET", authority="shop.test", path="/a", fields={"User-Agent": "testbot"}
)


def of_vector(signature_input):
    (label, member), *_ = parse_dictionary(signature_input).items()
    components = tuple(Component(i.value, tuple(i.parameters.items())) for i in member.value)
    return label, components, member.parameters


@pytest.mark.parametrize("vector", DRAFT["requests"], ids=lambda vector: vector["nonce"][:6])
def test_requests_of_the_draft_are_signed_byte_for_byte(vector):
    label, components, parameters = of_vector(vector["signature_input"])
    agent = {"signature-agent": vector["signature_agent"]} if "signature_agent" in vector else {}
    message = SignedMessage(
        method="GET", authority="example.com", path="/path/to/resource", fields=agent
    )

    fields = signature_fields(KEY, message, components, parameters, label)

    assert KEY.thumbprint == parameters["keyid"]
    assert fields == {
        "Signature-Input": vector["signature_input"],
        "Signature": vector["signature"],
    }


def test_directory_of_the_draft_is_signed_byte_for_byte():
    vector = DRAFT["directory"]
    label, components, parameters = of_vector(vector["signature_input"])
    digest = base64.b64encode(hashlib.sha256(vector["body"].encode()).digest()).decode()
    response = SignedMessage(
        status=200,
        fields={"content-digest": f"sha-256=:{digest}:"},
        request=SignedMessage(method="GET", authority=vector["authority"]),
    )

    fields = signature_fields(KEY, response, components, parameters, label)

    assert f"sha-256=:{digest}:" == vector["content_digest"]
    assert fields == {
        "Signature-Input": vector["signature_input"],
        "Signature": vector["signature"],
    }


def member_of(fields):
    ((_, member),) = parse_dictionary(fields["Signature-Input"]).items()
    return member


def test_signature_is_short_lived_and_has_a_fresh_nonce(tmp_path):
    clock = ManualClock()
    settings = identity(tmp_path, lifetime_s=60.0)
    signer = RequestSigner(settings, clock)

    first, second = signer.sign(GET), signer.sign(GET)

    assert first["Signature-Agent"] == f'sig1="{AGENT}"'
    member = member_of(first)
    now_s = clock.now_ms() // 1000
    assert [item.value for item in member.value] == [
        "@method",
        "@authority",
        "@path",
        "signature-agent",
    ]
    nonce = member.parameters["nonce"]
    assert member.parameters == {
        "created": now_s,
        "keyid": read_keys(settings.key)[0].thumbprint,
        "alg": "ed25519",
        "expires": now_s + 60,
        "nonce": nonce,
        "tag": "web-bot-auth",
    }
    assert len(base64.b64decode(nonce)) == 64
    assert member_of(second).parameters["nonce"] != nonce


def test_rotated_key_signs_from_its_start_time(tmp_path):
    clock = ManualClock()
    settings = identity(tmp_path)
    signer = RequestSigner(settings, clock)
    old = read_keys(settings.key)
    successor = new_key(clock.now_ms() // 1000 + 3600)
    write_keys(
        settings.key, rotate_keys(old, successor, clock.now_ms() // 1000, 60), overwrite=True
    )

    assert member_of(signer.sign(GET)).parameters["keyid"] == old[0].thumbprint
    clock.advance_ms(3_600_000)
    assert member_of(signer.sign(GET)).parameters["keyid"] == successor.thumbprint


def test_components_requested_by_a_server_are_covered_in_addition(tmp_path):
    request = SignatureRequest("asked", (Component("user-agent"), Component("@path")), "abc")

    fields = RequestSigner(identity(tmp_path)).sign(GET, request)

    assert fields["Signature-Agent"] == f'asked="{AGENT}"'
    assert fields["Signature"].startswith("asked=:")
    member = member_of(fields)
    assert [item.value for item in member.value] == [
        "user-agent",
        "@path",
        "@method",
        "@authority",
        "signature-agent",
    ]
    assert member.value[-1].parameters == {"key": "asked"}
    assert member.parameters["nonce"] == "abc"


def test_header_that_is_not_sent_cannot_be_covered(tmp_path):
    request = SignatureRequest("sig", (Component("cookie"),))

    with pytest.raises(UnsignableError, match="cookie"):
        RequestSigner(identity(tmp_path)).sign(GET, request)


@pytest.mark.parametrize(
    ("url", "draft", "value"),
    [
        (AGENT, "01", f'"{AGENT}"'),
        (AGENT, "00", '"https://bot.test"'),
        ("https://bot.test/keys.json", "01", '"https://bot.test/keys.json"'),
        ("https://bot.test/keys.json", "00", '"https://bot.test/keys.json";type=jwks_uri'),
        (
            "https://bot.test/x/.well-known/http-message-signatures-directory",
            "00",
            '"https://bot.test/x/.well-known/http-message-signatures-directory";type=jwks_uri',
        ),
    ],
)
def test_signature_agent_follows_the_revision_of_the_draft(url, draft, value):
    settings = IdentitySettings(agent=url, draft=f"draft-ietf-webbotauth-httpsig-protocol-{draft}")

    assert agent_value(settings) == value
    assert parse_dictionary(f"sig1={value}")["sig1"].text == value


def test_no_signer_without_a_key():
    assert request_signer(IdentitySettings()) is None
