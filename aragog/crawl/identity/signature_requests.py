"""
Parses a server's requests for signatures in Accept-Signature (RFC 9421, section 5.1).

Servers send this header with a 403. Requests outside Web Bot Auth are ignored: for other keys,
algorithms or tags, or with components that cannot be signed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from aragog.crawl.identity.signature_base import Component
from aragog.pages.structured_fields import FieldToken, Member, parse_dictionary

MAX_COMPONENTS = 20
MAX_LABEL_CHARS = 64
MAX_NONCE_CHARS = 512


@dataclass(frozen=True, slots=True)
class SignatureRequest:
    """A signature that a server requests."""

    label: str
    components: tuple[Component, ...]
    nonce: str | None = None


def signature_requests(text: str, keyid: str, tag: str) -> Iterator[SignatureRequest]:
    """
    Yield the requested signatures that the key `keyid` can make. Yields nothing if the header is
    invalid.

    Args:
        text: the header's value; several headers are joined with commas.
        keyid: the signing key's ID.
        tag: the tag of the crawler's signatures.
    """
    try:
        members = parse_dictionary(text)
    except ValueError:
        return
    for label, member in members.items():
        components = _parse_components(label, member)
        expected = {"keyid": keyid, "alg": "ed25519", "tag": tag}
        is_other_kind = any(
            member.parameters.get(name, value) != value for name, value in expected.items()
        )
        nonce = member.parameters.get("nonce")
        if components is None or is_other_kind or len(label) > MAX_LABEL_CHARS:
            continue
        if nonce is not None and not _is_text(nonce, MAX_NONCE_CHARS):
            continue
        yield SignatureRequest(label, components, None if nonce is None else str(nonce))


def _parse_components(label: str, member: Member) -> tuple[Component, ...] | None:
    """Return the components in a member of the header, or None if one is invalid."""
    if not isinstance(member.value, tuple) or len(member.value) > MAX_COMPONENTS:
        return None
    components = []
    for item in member.value:
        if not _is_text(item.value, MAX_NONCE_CHARS) or item.value != str(item.value).lower():
            return None
        parameters = tuple(item.parameters.items())
        if not all(value is True or _is_text(value, MAX_NONCE_CHARS) for _, value in parameters):
            return None
        component = Component(str(item.value), tuple((n, _plain_value(v)) for n, v in parameters))
        if component.name == "signature-agent" and dict(parameters).get("key") != label:
            return None
        components.append(component)
    return tuple(components) if len(set(components)) == len(components) else None


def _is_text(value: object, max_chars: int) -> bool:
    return isinstance(value, str) and not isinstance(value, FieldToken) and len(value) <= max_chars


def _plain_value(value: object) -> str | bool:
    return True if value is True else str(value)
