"""
Sign requests of the crawl: Web Bot Auth (draft-ietf-webbotauth-httpsig-protocol) over RFC 9421.

Each request gets `Signature-Agent`, which names the keys' URL, `Signature-Input` and `Signature`.
The signature covers what `identity.components` names, is made for this request alone (nonce), and
expires after `identity.lifetime_s`.
"""

from __future__ import annotations

import base64
import functools
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from aragog.crawl.identity.keys import KeyFile, SigningKey, signing_key
from aragog.crawl.identity.signature_base import (
    Component,
    SignedMessage,
    UnsignableError,
    signature_base,
    signature_parameters,
)
from aragog.crawl.identity.signature_requests import SignatureRequest, signature_requests
from aragog.pages.structured_fields import string_text
from aragog.runtime.clock import Clock, SystemClock
from aragog.settings import IdentitySettings

TAG = "web-bot-auth"
LABEL = "sig1"
DIRECTORY_PATH = "/.well-known/http-message-signatures-directory"
DRAFT_01 = "draft-ietf-webbotauth-httpsig-protocol-01"
NONCE_BYTES = 64
MOST_HOSTS = 1000
SIGNATURE_FIELDS = frozenset({"signature", "signature-input", "signature-agent"})


def signature_fields(
    key: SigningKey,
    message: SignedMessage,
    components: tuple[Component, ...],
    parameters: Mapping[str, int | str],
    label: str,
) -> dict[str, str]:
    """
    Return the fields Signature-Input and Signature of one signature (RFC 9421, section 3.1).

    Args:
        key: signs.
        message: the request or response.
        components: what is covered, in order.
        parameters: of the signature, in order.
        label: of the signature.

    Raises:
        UnsignableError: the message lacks one of the components.
    """
    text = signature_parameters(components, parameters)
    base = signature_base(message, components, text)
    signature = base64.b64encode(key.sign(base.encode("ascii"))).decode()
    return {"Signature-Input": f"{label}={text}", "Signature": f"{label}=:{signature}:"}


class RequestSigner:
    """
    Signs requests with the current key of `identity.key`. Thread-safe.

    Args:
        settings: with a key and an agent.
        clock: dates the signatures.
    """

    def __init__(self, settings: IdentitySettings, clock: Clock | None = None) -> None:
        self._lifetime_s = int(settings.lifetime_s)
        self._clock = clock or SystemClock()
        self._file = KeyFile(settings.key or Path(), self._clock)
        self._agent = agent_value(settings)
        self._components = (*map(Component, settings.components), _agent_component(LABEL))
        # Some verifiers take the value of a missing query for an empty text, and not for "?".
        self._wanted: dict[str, SignatureRequest] = {}
        """The signatures that hosts requested, without nonce; their next requests carry them."""
        self._without_query = tuple(each for each in self._components if each.name != "@query")

    def sign(
        self, message: SignedMessage, wanted: SignatureRequest | None = None
    ) -> dict[str, str]:
        """
        Return the three fields that make `message` a signed request. About 0.06 ms.

        Args:
            message: a request.
            wanted: what its server asked to be signed; the usual components are covered as well.

        Raises:
            UnsignableError: the request lacks a component that was requested.
            ConfigError: the key file cannot be used, no key is in its time, or the extra
                `identity` is missing.
        """
        if wanted is None and (wanted := self._wanted.get(message.authority)) is not None:
            try:
                return self._signed(message, wanted)
            except UnsignableError:  # this request lacks a header that another one had
                wanted = None
        return self._signed(message, wanted)

    def wanted_by(self, message: SignedMessage, accept_signature: str) -> SignatureRequest | None:
        """
        Return what the server of a request asks to be signed, and was not, if it can be.

        Requests to that host are signed in this way from now on.

        Args:
            message: the request that it refused.
            accept_signature: its header Accept-Signature.
        """
        key = signing_key(self._file.keys(), self._clock.now_ms() // 1000)
        known = self._wanted.get(message.authority)
        covered = {*self._components, *(known.components if known else ())}
        for wanted in signature_requests(accept_signature, key.thumbprint, TAG):
            extra = [c for c in wanted.components if c not in covered and c != _agent(wanted)]
            if wanted.nonce is None and not extra:
                continue  # it has been sent: the server refused it
            try:
                self._signed(message, wanted)
            except UnsignableError:
                continue
            if extra:
                self._remember(message.authority, replace(wanted, nonce=None))
            return wanted
        return None

    def _remember(self, authority: str, wanted: SignatureRequest) -> None:
        self._wanted[authority] = wanted
        while len(self._wanted) > MOST_HOSTS:
            self._wanted.pop(next(iter(self._wanted)), None)

    def _signed(self, message: SignedMessage, wanted: SignatureRequest | None) -> dict[str, str]:
        now_s = self._clock.now_ms() // 1000
        key = signing_key(self._file.keys(), now_s)
        components = self._without_query if message.query == "?" else self._components
        label, nonce = LABEL, None
        if wanted is not None:
            label, nonce = wanted.label, wanted.nonce
            usual = (*components[:-1], _agent(wanted))
            components = tuple(dict.fromkeys((*wanted.components, *usual)))
        member = f"{label}={self._agent}"
        fields = {
            lower: value
            for name, value in message.fields.items()
            if (lower := name.lower()) not in SIGNATURE_FIELDS
        }
        parameters: dict[str, int | str] = {
            "created": now_s,
            "keyid": key.thumbprint,
            "alg": "ed25519",
            "expires": now_s + self._lifetime_s,
            "nonce": nonce or base64.b64encode(os.urandom(NONCE_BYTES)).decode(),
            "tag": TAG,
        }
        signed = replace(message, fields=fields | {"signature-agent": member})
        return {"Signature-Agent": member} | signature_fields(
            key, signed, components, parameters, label
        )


def request_signer(settings: IdentitySettings, clock: Clock | None = None) -> RequestSigner | None:
    """Return what signs a crawl's requests; None without `identity.key`."""
    return RequestSigner(settings, clock) if settings.key is not None else None


def agent_value(settings: IdentitySettings) -> str:
    """
    Return the value of a member of Signature-Agent, as the chosen revision of the draft has it.

    Revision 01 names the URL of the keys. Revision 00 names an origin for its well-known URL, and
    marks any other URL of keys as such.
    """
    url = settings.agent
    if settings.draft == DRAFT_01:
        return string_text(url)
    if url.endswith(DIRECTORY_PATH) and url.count("/") == DIRECTORY_PATH.count("/") + 2:
        return string_text(url.removesuffix(DIRECTORY_PATH))
    return string_text(url) + ";type=jwks_uri"


def _agent(wanted: SignatureRequest) -> Component:
    return _agent_component(wanted.label)


@functools.lru_cache(maxsize=64)
def _agent_component(label: str) -> Component:
    return Component("signature-agent", (("key", label),))
