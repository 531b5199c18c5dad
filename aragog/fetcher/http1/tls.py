"""The TLS context for outgoing connections."""

from __future__ import annotations

import functools
import ssl

import certifi


@functools.cache
def tls_context(*, verify: bool = True) -> ssl.SSLContext:
    """
    Return a client context that trusts certifi's roots, the system's and `SSL_CERT_FILE`.

    Loading the roots takes about 30 ms, so each process has one context.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_alpn_protocols(["http/1.1"])
    if verify:
        context.load_verify_locations(certifi.where())
        context.load_default_certs()
    else:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
