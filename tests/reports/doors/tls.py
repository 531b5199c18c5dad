"""
A page over TLS, from one server whose certificate depends on the requested name.

Input: `url`, or a list of them that are fetched in order, and `certificates`: each a table with
`names`, and `kind`, which is `good`, `expired`, `untrusted` or `unnamed` (a common name, and no
subjectAltName). The first one that matches the name in SNI is used, otherwise the first of all.
`response` is what the server sends, lines with `{length}` for the length of `body`, or `none`; it
then closes the TCP connection without a TLS close, as Python's servers do. `highest` is the highest
version, `slow_s` delays the handshake, `refuses` ends it, and `plain` does not use TLS at all.

The answers: `outcome`, `reason`, `kind`, `body` and `truncated` of the last fetch, `bodies` of all;
`sni`, the names requested from the server; `hosts`, those of the requests that it saw.
"""

from __future__ import annotations

import datetime as dt
import ssl
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from aragog.crawl.fetcher.fetcher import Fetcher
from aragog.crawl.fetcher.http1.tls import tls_context
from aragog.settings import FetchSettings
from tests.support import tls
from tests.support.origin import Origin, Request, Wire

HOSTS = ("a.test", "a.test.", "b.test", "*.a.test", "*.b.test", "xn--bcher-kva.test")
VERSIONS = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}
RESPONSE = "HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Length: {length}"


def answer(given: Mapping[str, Any]) -> dict[str, Any]:
    """The outcome of fetching from the server."""
    asked: list[str] = []
    context = None if given.get("plain") else _context(given, asked)
    handler = _Handler(given)
    with Origin({"/*": handler}, tls=context, tls_delay_s=given.get("slow_s", 0)) as origin:
        settings = FetchSettings(
            user_agent="aragog/1.0 (+https://example.com/bot)", deadline_s=20.0,
            connect_timeout_s=given.get("within_s", 10.0),
            read_timeout_s=3.0, host_map=dict.fromkeys(HOSTS, origin.address),
        )  # fmt: skip
        with Fetcher(settings, tls=_client()) as fetcher:
            urls = given["url"] if isinstance(given["url"], list) else [given["url"]]
            fetched = [fetcher.fetch(url) for url in urls]
        seen = [request.host for request in origin.seen]
    last = fetched[-1]
    return {
        "outcome": last.outcome.value,
        "reason": last.reason or "",
        "kind": str(getattr(last, "kind", "")),
        "body": _body(last),
        "bodies": [_body(each) for each in fetched],
        "truncated": last.truncated,
        "sni": asked,
        "hosts": seen,
    }


def _client() -> ssl.SSLContext:
    """aragog's own TLS context, which also trusts the tests' CA."""
    context = tls_context.__wrapped__()
    tls.authority().configure_trust(context)
    return context


def _body(fetched: Any) -> str:
    return getattr(fetched, "body", b"").decode("latin-1")


class _Handler:
    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = given

    def __call__(self, request: Request, _: Wire) -> bytes | None:
        if self._given.get("response") == "none":
            return None
        body = self._given.get("body", "<p>of {host}").replace("{host}", request.host)
        head = self._given.get("response", RESPONSE).replace("{length}", str(len(body)))
        return "\r\n".join((*head.split("\n"), "", body)).encode("latin-1")


def _context(given: Mapping[str, Any], asked: list[str]) -> ssl.SSLContext:
    certificates = [(each["names"], _certified(each)) for each in given["certificates"]]
    first = certificates[0][1]

    def choose(socket: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> int | None:
        asked.append(name or "")
        if given.get("refuses"):
            return ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME
        socket.context = next((c for names, c in certificates if name in names), first)
        return None

    for _, context in certificates:
        if "highest" in given:
            context.maximum_version = VERSIONS[given["highest"]]
    first.sni_callback = choose
    return first


def _certified(entry: Mapping[str, Any]) -> ssl.SSLContext:
    names, kind = entry["names"], entry.get("kind", "good")
    if kind == "unnamed":
        return _unnamed(names[0])
    makers = {
        "good": tls.server_context, "expired": tls.expired_context,
        "untrusted": tls.untrusted_context,
    }  # fmt: skip
    context = makers[kind](*names)
    context.set_alpn_protocols(["http/1.1"])
    return context


def _unnamed(name: str) -> ssl.SSLContext:
    """A certificate from the trusted CA with only a common name."""
    authority: trustme.CA = tls.authority()
    signer = serialization.load_pem_private_key(authority.private_key_pem.bytes(), None)
    issuer = x509.load_pem_x509_certificate(authority.cert_pem.bytes()).subject
    key = ec.generate_private_key(ec.SECP256R1())
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .sign(signer, hashes.SHA256())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "both.pem")
        path.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
            + certificate.public_bytes(serialization.Encoding.PEM)
        )
        context.load_cert_chain(path)
    return context
