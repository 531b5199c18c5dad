"""The signature base of RFC 9421: every vector of its appendix B, byte for byte."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec, padding, utils
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256, SHA512
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from aragog.crawl.identity.keys import decode_base64url
from aragog.crawl.identity.signature_base import (
    Component,
    SignedMessage,
    UnsignableError,
    normalize_authority,
    signature_base,
    signature_parameters,
)
from aragog.pages.structured_fields import parse_dictionary

FOLDER = Path(__file__).parents[3] / "data" / "signatures"
RFC = json.loads((FOLDER / "rfc9421_appendix_b.json").read_text())
KEYS, VECTORS = RFC["keys"], {each["section"]: each for each in RFC["vectors"]}


def read(vector):
    """The message, the components and the signature parameters of a vector."""
    (member,) = parse_dictionary(vector["input"]).values()
    components = tuple(
        Component(item.value, tuple(item.parameters.items())) for item in member.value
    )
    return SignedMessage(**vector["message"]), components, member


def assert_signed(key: str, base: bytes, signature: bytes) -> None:
    """Checks that the published signature belongs to this base."""
    if key == "test-key-rsa-pss":
        salt = padding.PSS(padding.MGF1(SHA512()), 64)
        rsa_key: Any = load_pem_public_key(KEYS[key].encode())
        rsa_key.verify(signature, base, salt, SHA512())
    elif key == "test-key-ecc-p256":
        halves = (int.from_bytes(half) for half in (signature[:32], signature[32:]))
        der = utils.encode_dss_signature(*halves)
        ecdsa_key: Any = load_pem_public_key(KEYS[key].encode())
        ecdsa_key.verify(der, base, ec.ECDSA(SHA256()))
    elif key == "test-shared-secret":
        secret = base64.b64decode(KEYS[key])
        assert hmac.digest(secret, base, hashlib.sha256) == signature
    else:
        private = Ed25519PrivateKey.from_private_bytes(decode_base64url(KEYS[key]["d"]))
        assert private.sign(base) == signature


@pytest.mark.parametrize("section", VECTORS)
def test_every_vector_of_appendix_b_is_reproduced(section):
    vector = VECTORS[section]
    message, components, member = read(vector)
    parameters = signature_parameters(components, member.parameters)

    base = signature_base(message, components, parameters)

    assert parameters == member.text
    assert base.split("\n") == vector["base"]
    signature = base64.b64decode(vector["signature"])
    key = member.parameters["keyid"]
    assert_signed(key, base.encode(), signature)
    with pytest.raises((InvalidSignature, AssertionError)):
        assert_signed(key, base.replace("created=1", "created=2").encode(), signature)


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({"query": "?name1=Value1&Name2=value2&param=added"}, True),
        (
            {"fields": {"accept": "application/json, */*", "accept-language": "en-US,en;q=0.5"}},
            True,
        ),
        ({"method": "POST"}, False),
        ({"authority": "example.com"}, False),
        ({"fields": {"accept": "*/*, application/json"}}, False),
    ],
)
def test_transformations_of_b_4_keep_or_break_the_signature(change, same):
    message, components, member = read(VECTORS["B.4"])

    base = signature_base(replace(message, **change), components, member.text)

    assert (base.split("\n") == VECTORS["B.4"]["base"]) is same


MESSAGE = SignedMessage(
    method="GET",
    scheme="https",
    authority="www.example.com",
    path="/path",
    query="?param=value&foo=bar&baz=bat%20man&two=1&two=2",
    fields={"signature-agent": 'sig1="https://bot.test", b=2;x', "x": " a ", "bad": "a\nb"},
)


@pytest.mark.parametrize(
    ("component", "value"),
    [
        (Component("@target-uri"), f"https://www.example.com/path{MESSAGE.query}"),
        (Component("@request-target"), f"/path{MESSAGE.query}"),
        (Component("@scheme"), "https"),
        (Component("@query-param", (("name", "baz"),)), "bat%20man"),
        (Component("signature-agent", (("key", "sig1"),)), '"https://bot.test"'),
        (Component("signature-agent", (("key", "b"),)), "2;x"),
        (Component("x", (("key", "a"),)), "?1"),
        (Component("x"), "a"),
    ],
)
def test_request_components_have_the_values_of_section_2(component, value):
    assert component.value(MESSAGE) == value


def test_missing_query_is_a_question_mark_and_not_part_of_the_uri():
    message = replace(MESSAGE, query="?")

    assert Component("@query").value(message) == "?"
    assert Component("@target-uri").value(message) == "https://www.example.com/path"
    assert Component("@request-target").value(message) == "/path"


def test_response_can_cover_components_of_its_request():
    response = SignedMessage(status=200, request=MESSAGE)
    component = Component("@authority", (("req", True),))

    assert component.identifier == '"@authority";req'
    assert component.value(response) == "www.example.com"


@pytest.mark.parametrize(
    "component",
    [
        Component("@status"),
        Component("@unknown"),
        Component("@method", (("sf", True),)),
        Component("@authority", (("req", True),)),
        Component("@query-param"),
        Component("@query-param", (("name", "two"),)),
        Component("@query-param", (("name", "none"),)),
        Component("missing"),
        Component("bad"),
        Component("x", (("sf", True),)),
        Component("x", (("key", "b"),)),
        Component("signature-agent", (("key", "none"),)),
    ],
    ids=lambda component: component.identifier,
)
def test_missing_component_cannot_be_signed(component):
    with pytest.raises(UnsignableError, match=component.identifier.split(";")[0]):
        component.value(MESSAGE)


@pytest.mark.parametrize(
    ("host", "scheme", "authority"),
    [
        ("www.Example.com", "https", "www.example.com"),
        ("www.example.com:443", "https", "www.example.com"),
        ("www.example.com:443", "http", "www.example.com:443"),
        ("www.example.com:80", "http", "www.example.com"),
        ("[2001:DB8::1]:8443", "https", "[2001:db8::1]:8443"),
    ],
)
def test_authority_has_no_default_port(host, scheme, authority):
    assert normalize_authority(host, scheme) == authority
