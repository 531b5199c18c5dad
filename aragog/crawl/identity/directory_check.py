"""
Checks a published key directory against the signing keys.

Makes the same checks as the sites that verify signatures
(draft-ietf-webbotauth-httpsig-protocol), and checks that no key is missing. For `aragog doctor`.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import orjson

from aragog.crawl.identity.keys import (
    SigningKey,
    decode_base64url,
    ed25519,
    jwk_thumbprint,
    published_keys,
)
from aragog.crawl.identity.published_files import (
    DIRECTORY_COMPONENTS,
    DIRECTORY_TAG,
    DIRECTORY_TYPE,
)
from aragog.crawl.identity.signature_base import SignedMessage, signature_base
from aragog.pages.structured_fields import Member, parse_dictionary

EXPIRY_WARNING_S = 7 * 86_400


def directory_problems(
    agent: str,
    body: bytes,
    headers: Mapping[str, str],
    keys: Sequence[SigningKey],
    now_s: float,
) -> Iterator[str]:
    """
    Yield the problems with a published key directory, most important first.

    Args:
        agent: URL of the directory (the setting `identity.agent`).
        body: the response's body.
        headers: the response headers, with lower-case names.
        keys: the keys of the key file.
        now_s: the current time.
    """
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != DIRECTORY_TYPE:
        yield f"its content type must be {DIRECTORY_TYPE}, got {media_type or 'none'}"
    public_keys = _parse_directory(body)
    if public_keys is None:
        yield "it is not a JSON Web Key Set"
        return
    for key in published_keys(keys, now_s):
        if public_keys.get(key.thumbprint) != key.x:
            signs = "signs now" if key.start_s <= now_s else "signs soon"
            yield f"it lacks the key {key.thumbprint}, which {signs}; publish it"
    for thumbprint in public_keys.keys() - {key.thumbprint for key in keys}:
        yield f"it contains the key {thumbprint}, which is not in the key file; remove it"
    yield from _signature_problems(agent, body, headers, public_keys, now_s)


def _parse_directory(body: bytes) -> dict[str, str] | None:
    try:
        entries: list[dict[str, Any]] = orjson.loads(body)["keys"]
        keys = [entry["x"] for entry in entries if entry.get("crv") == "Ed25519"]
        return {jwk_thumbprint(x): x for x in keys if len(decode_base64url(x)) == 32}
    except (AttributeError, LookupError, TypeError, ValueError):
        return None


def _signature_problems(
    agent: str,
    body: bytes,
    headers: Mapping[str, str],
    public_keys: Mapping[str, str],
    now_s: float,
) -> Iterator[str]:
    """Yield problems with the signatures, which prove that the owner has the private keys."""
    digest = base64.b64encode(hashlib.sha256(body).digest()).decode()
    if headers.get("content-digest", "").find(f"sha-256=:{digest}:") < 0:
        yield "its Content-Digest does not match its body; send the headers of `identity files`"
        return
    try:
        inputs = parse_dictionary(headers.get("signature-input", ""))
        signatures = parse_dictionary(headers.get("signature", ""))
    except ValueError:
        inputs = signatures = {}
    expiry_times_s: dict[str, float] = {}
    url = urlsplit(agent)
    response = SignedMessage(
        status=200,
        fields={"content-digest": headers["content-digest"]},
        request=SignedMessage(method="GET", authority=url.netloc, path=url.path),
    )
    for label, member in inputs.items():
        keyid = str(member.parameters.get("keyid"))
        if member.parameters.get("tag") != DIRECTORY_TAG or keyid not in public_keys:
            continue
        base = signature_base(response, DIRECTORY_COMPONENTS, member.text)
        if _is_valid_signature(public_keys[keyid], base.encode(), signatures.get(label)):
            expires = member.parameters.get("expires")
            expiry_times_s[keyid] = float(expires) if isinstance(expires, int) else 0.0
    for thumbprint in public_keys:
        if thumbprint not in expiry_times_s:
            yield f"it has no valid signature by its key {thumbprint}"
        elif expiry_times_s[thumbprint] < now_s:
            yield f"its signature by {thumbprint} has expired; run `aragog identity files` again"
        elif expiry_times_s[thumbprint] < now_s + EXPIRY_WARNING_S:
            days = (expiry_times_s[thumbprint] - now_s) / 86_400
            yield f"its signature by {thumbprint} expires in {days:.1f} days"


def _is_valid_signature(x: str, base: bytes, signature: Member | None) -> bool:
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - an extra

    try:
        text = str(signature.value).strip(":") if signature is not None else ""
        public_key = ed25519().Ed25519PublicKey.from_public_bytes(decode_base64url(x))
        public_key.verify(base64.b64decode(text, validate=True), base)
    except (InvalidSignature, binascii.Error):
        return False
    return True
