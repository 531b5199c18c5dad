"""
Verify aragog's signatures with independent code: the library http-message-signatures.

    verified(seen, "https://shop.test", keys)   # raises InvalidSignature
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from http_message_signatures import (
    HTTPMessageSignaturesException,
    HTTPMessageVerifier,
    HTTPSignatureKeyResolver,
)
from http_message_signatures.algorithms import ED25519

from aragog.crawl.identity.keys import SigningKey, decode_base64url, new_key, write_keys
from aragog.settings import IdentitySettings
from tests.support.origin import Request

AGENT = "https://bot.test/.well-known/http-message-signatures-directory"
Refused = HTTPMessageSignaturesException


def identity(folder: Path, **changes: Any) -> IdentitySettings:
    """Return settings with a new key in this folder."""
    path = folder / "identity.jwks"
    if not path.exists():
        folder.mkdir(exist_ok=True)
        write_keys(path, [new_key(start_s=0)], overwrite=False)
    return replace(IdentitySettings(key=path, agent=AGENT), **changes)


class _Keys(HTTPSignatureKeyResolver):
    def __init__(self, public_keys: Sequence[dict[str, Any]]) -> None:
        self._public_keys = {key["kid"]: key["x"] for key in public_keys}

    def resolve_public_key(self, key_id: str) -> Any:
        if key_id not in self._public_keys:
            raise HTTPMessageSignaturesException(f"unknown key {key_id}")
        return Ed25519PublicKey.from_public_bytes(decode_base64url(self._public_keys[key_id]))


@dataclass(frozen=True)
class Sent:
    """A request as seen by its server."""

    method: str
    url: str
    headers: dict[str, str]

    @classmethod
    def of(cls, request: Request, scheme: str = "http") -> Sent:
        host = request.header("host")
        headers = {name.title(): value for name, value in request.headers}  # HTTP/2 has lower case
        return cls(request.method, f"{scheme}://{host}{request.target}", headers)


def verified(message: Any, keys: Sequence[SigningKey], tag: str = "web-bot-auth") -> list[Any]:
    """Return the valid signatures of a message. Raises `Refused` if one is invalid."""
    return verified_by([key.public_jwk() for key in keys], message, tag)


def verified_by(public_keys: Sequence[dict[str, Any]], message: Any, tag: str) -> list[Any]:
    """Do the same with the keys of a directory."""
    verifier = HTTPMessageVerifier(signature_algorithm=ED25519, key_resolver=_Keys(public_keys))
    return verifier.verify(message, max_age=dt.timedelta(days=1), expect_tag=tag)


def one_byte_changed(sent: Sent) -> Iterator[Sent]:
    """Yield the request with a changed byte in each part that its signature protects."""
    scheme, _, rest = sent.url.partition("://")
    host, slash, target = rest.partition("/")
    yield replace(sent, method=sent.method[:-1] + "Z")
    yield replace(sent, url=f"{scheme}://{changed(host, 0)}{slash}{target}")
    for at, character in enumerate(target):
        if character.isalnum():
            yield replace(sent, url=f"{scheme}://{host}/{changed(target, at)}")
    for name in ("Signature-Agent", "Signature-Input", "Signature"):
        value = sent.headers[name]
        for match in re.finditer("[A-Za-z0-9]+", value):
            # Only the label may be renamed (RFC 9421, 7.2.5); the library finds it by its tag.
            at = match.start() + len(match[0]) // 2
            if name == "Signature" and value[at + 1 :].startswith("="):
                at -= 1  # bits of the last character are not used
            yield replace(sent, headers=sent.headers | {name: changed(value, at)})


def assert_verified(
    seen: Sequence[Request], keys: Sequence[SigningKey], scheme: str = "http"
) -> None:
    """Check that each request is accepted, and refused if a protected byte is changed."""
    for request in seen:
        sent = Sent.of(request, scheme)
        verified(sent, keys)
        for other in one_byte_changed(sent):
            with pytest.raises(Refused):
                verified(other, keys)


def changed(text: str, at: int) -> str:
    """Return `text` with a different letter or digit at a position."""
    other = (
        "8" if text[at] == "7" else "7" if text[at].isdigit() else "x" if text[at] != "x" else "y"
    )
    return text[:at] + other + text[at + 1 :]
