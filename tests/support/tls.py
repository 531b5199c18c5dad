"""Certificates for the misbehaving origin: one valid, and one for each defect."""

from __future__ import annotations

import datetime as dt
import functools
import ssl
import warnings

import trustme


@functools.cache
def authority() -> trustme.CA:
    """Return the authority that the tests' clients trust."""
    return trustme.CA()


def client_context(*, http2: bool = False) -> ssl.SSLContext:
    """Return a context that trusts only `authority`, with the versions of `tls_context`."""
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    authority().configure_trust(context)
    context.set_alpn_protocols(["h2", "http/1.1"] if http2 else ["http/1.1"])
    return context


def server_context(*names: str) -> ssl.SSLContext:
    """Return a valid certificate for `names`. Like the others, it chooses HTTP/2 if offered."""
    return _with(authority().issue_cert(*names))


def expired_context(*names: str) -> ssl.SSLContext:
    """Return a certificate that expired in 2001."""
    return _with(authority().issue_cert(*names, not_after=dt.datetime(2001, 1, 1, tzinfo=dt.UTC)))


def untrusted_context(*names: str) -> ssl.SSLContext:
    """Return a certificate from an untrusted authority."""
    return _with(trustme.CA().issue_cert(*names))


def self_signed_context() -> ssl.SSLContext:
    """Return the certificate of an authority as that of a server."""
    one = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with one.private_key_pem.tempfile() as key, one.cert_pem.tempfile() as certificate:
        context.load_cert_chain(certificate, key)
    context.set_alpn_protocols(["h2", "http/1.1"])
    return context


def old_context(*names: str) -> ssl.SSLContext:
    """Return a valid certificate, with at most TLS 1.1."""
    context = server_context(*names)
    context.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    return context


def _with(certificate: trustme.LeafCert) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    context.set_alpn_protocols(["h2", "http/1.1"])
    return context
