"""TLS connections to origins, with trusted roots and session resumption."""

from __future__ import annotations

import functools
import socket
import ssl
import threading
from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

import certifi

from aragog.crawl.fetcher.deadline import Deadline
from aragog.crawl.fetcher.faults import TransportError
from aragog.fetch_record.outcome import UnreachableKind
from aragog.observability.instruments import TLS_FAILURES, TLS_HANDSHAKES
from aragog.runtime.clock import Clock
from aragog.runtime.green_threads import wait_readable, wait_writable

# A closed connection that is kept for its session uses 37 KB.
MAX_SESSIONS = 250
# Resuming skips the certificate check, so sessions are kept for at most an hour.
MAX_SESSION_AGE_S = 3_600.0

HTTP2 = "h2"
"""The ALPN name of HTTP/2 over TLS (RFC 9113 section 3.2)."""

EXPIRED = "expired"
NOT_YET_VALID = "not yet valid"
WRONG_NAME = "for another name"
SELF_SIGNED = "self-signed"
UNKNOWN_ISSUER = "from an unknown issuer"
WEAK = "too weak"
OLD_PROTOCOL = "old protocol"
OTHER = "other"
# X509_V_ERR_… of openssl/x509_vfy.h.
_KINDS_BY_CODE = {
    2: UNKNOWN_ISSUER, 9: NOT_YET_VALID, 10: EXPIRED, 18: SELF_SIGNED, 19: UNKNOWN_ISSUER,
    20: UNKNOWN_ISSUER, 21: UNKNOWN_ISSUER, 62: WRONG_NAME, 64: WRONG_NAME, 66: WEAK, 67: WEAK,
    68: WEAK,
}  # fmt: skip
_OLD_PROTOCOL_REASONS = (
    "UNSUPPORTED_PROTOCOL",
    "TLSV1_ALERT_PROTOCOL_VERSION",
    "NO_PROTOCOLS_AVAILABLE",
)


@functools.cache
def tls_context(
    *, verify: bool = True, http2: bool = False, names_checked_in_python: bool = False
) -> ssl.SSLContext:
    """
    Return a client context that trusts the roots of certifi, the system and `SSL_CERT_FILE`.

    Loading the roots takes about 30 ms, so a process keeps a context for each combination of
    arguments.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2  # Python does not set it on Debian
    context.set_alpn_protocols([HTTP2, "http/1.1"] if http2 else ["http/1.1"])
    context.check_hostname = verify and not names_checked_in_python
    # Names must be in subjectAltName (RFC 9110 section 4.3.4). By default, OpenSSL also accepts the
    # common name, which browsers do not.
    context.hostname_checks_common_name = False
    if verify:
        context.load_verify_locations(certifi.where())
        context.load_default_certs()
    else:
        context.verify_mode = ssl.CERT_NONE
    return context


def needs_name_check_in_python(host: str) -> bool:
    """
    Return True if OpenSSL cannot match a host against wildcard names.

    OpenSSL matches a wildcard only with letters, digits and hyphens (RFC 952). DNS allows other
    characters, and browsers and curl accept `foo_bar.example.com` for `*.example.com`.
    """
    return "_" in host


def copy_without_name_check(context: ssl.SSLContext) -> ssl.SSLContext:
    """
    Return an HTTP/1.1 context with the same roots, for which `wrap_tls` checks the name itself.

    Roots that OpenSSL loads from a folder on demand are not copied.
    """
    copy = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    copy.minimum_version, copy.maximum_version = context.minimum_version, context.maximum_version
    copy.set_alpn_protocols(["http/1.1"])
    copy.check_hostname, copy.verify_mode = False, context.verify_mode
    if roots := context.get_ca_certs(binary_form=True):
        copy.load_verify_locations(cadata=b"".join(roots))
    return copy


def certificate_matches(certificate: Mapping[str, object], host: str) -> bool:
    """
    Return True if one of a certificate's DNS names matches `host` (RFC 6125 section 6.4.3).

    A wildcard must be the whole first label. It matches exactly one label, and at least two labels
    must follow it.
    """
    names = certificate.get("subjectAltName", ())
    if not isinstance(names, tuple):
        return False
    name = host.lower().rstrip(".")
    parent = name.partition(".")[2]
    patterns = {value.lower().rstrip(".") for kind, value in names if kind == "DNS"}
    return name in patterns or ("." in parent and f"*.{parent}" in patterns)


class SessionKey(NamedTuple):
    """A session is resumed only by a connection with an equal key."""

    host: str
    port: int
    address: str
    route_key: str = "direct"
    http2: bool = False
    """True if HTTP/2 was offered, because that uses another SSLContext."""


class ClosedTls(Protocol):
    """A closed connection (`ssl.SSLSocket`) that no thread uses."""

    @property
    def session(self) -> ssl.SSLSession | None:
        """A copy of the session. Takes about 0.3 ms, because the certificate is parsed again."""


class TlsSessions:
    """
    TLS sessions for the next connection to the same server. Thread-safe.

    A resumed handshake does not check the certificate, so a session is never used with another
    name, address or verification mode. Each session is used once (RFC 8446 C.4); the resumed
    connection yields a new one. Most sessions are never used. So closed connections are kept, and a
    session is extracted only when it is needed.

    Args:
        max_sessions: maximum number of sessions; the oldest are dropped first.
    """

    def __init__(self, clock: Clock, *, max_sessions: int = MAX_SESSIONS) -> None:
        self._clock = clock
        self._max_sessions = max_sessions
        self._lock = threading.Lock()
        self._connections: dict[SessionKey, tuple[ClosedTls, float]] = {}

    def keep(self, key: SessionKey, closed_tls: ClosedTls, opened_s: float) -> None:
        """Keep a closed connection that has received data. `opened_s` is when it was opened."""
        with self._lock:
            self._connections.pop(key, None)
            self._connections[key] = closed_tls, opened_s
            if len(self._connections) > self._max_sessions:
                del self._connections[next(iter(self._connections))]

    def take(self, key: SessionKey) -> ssl.SSLSession | None:
        """Remove and return the session for a server, or None."""
        with self._lock:
            closed_tls, opened_s = self._connections.pop(key, (None, 0.0))
        age_s = self._clock.monotonic_s() - opened_s
        session = None if closed_tls is None or age_s >= MAX_SESSION_AGE_S else closed_tls.session
        if session is None or not (session.has_ticket or session.id):
            return None
        return session if age_s < (session.ticket_lifetime_hint or session.timeout) else None


def wrap_tls(
    sock: socket.socket,
    host: str,
    tls: ssl.SSLContext,
    deadline: Deadline,
    session: ssl.SSLSession | None = None,
) -> ssl.SSLSocket:
    """
    Perform the TLS handshake on a connected socket.

    Args:
        sock: closed by the caller if this raises.
        host: the name for SNI and the certificate check.
        tls: the context. `session` must belong to it.
        deadline: limits the handshake.
        session: resumed if the server still accepts it.

    Raises:
        TransportError: kind `tls`, or `timeout` if the fetch's deadline has passed.
    """
    end_s = deadline.now_s() + deadline.connect_timeout_s()
    try:
        tls_socket = tls.wrap_socket(
            sock, server_hostname=host.strip("[]"), do_handshake_on_connect=False, session=session
        )
        _handshake(tls_socket, lambda: end_s - deadline.now_s())
        _check_name(tls_socket, host, tls)
    except ssl.SSLCertVerificationError as error:
        kind = _KINDS_BY_CODE.get(error.verify_code, OTHER)
        raise _tls_error(
            kind, f"certificate {_rejection_text(kind)}: {error.verify_message}"
        ) from error
    except TimeoutError as error:
        raise _tls_error(OTHER, "the TLS handshake took too long") from error
    except ssl.SSLError as error:
        if error.reason in _OLD_PROTOCOL_REASONS:
            reason = f"TLS protocol too old: {error.reason}; 1.2 is required"
            raise _tls_error(OLD_PROTOCOL, reason) from error
        raise _tls_error(OTHER, f"TLS failed: {error.reason or error}") from error
    except (OSError, ValueError) as error:
        reason = f"the connection broke during the TLS handshake: {error}"
        raise _tls_error(OTHER, reason) from error
    TLS_HANDSHAKES.labels("resumed" if tls_socket.session_reused else "full").add()
    return tls_socket


def _check_name(tls_socket: ssl.SSLSocket, host: str, tls: ssl.SSLContext) -> None:
    """Check the certificate's name if OpenSSL did not, before anything is sent."""
    if tls.check_hostname or tls.verify_mode != ssl.CERT_REQUIRED:
        return
    if not certificate_matches(tls_socket.getpeercert() or {}, host):
        reason = (
            f"certificate {_rejection_text(WRONG_NAME)}: Hostname mismatch, not valid for {host!r}"
        )
        raise _tls_error(WRONG_NAME, reason)


def _rejection_text(kind: str) -> str:
    return "refused" if kind == OTHER else f"refused, {kind}"


def _tls_error(kind: str, reason: str) -> TransportError:
    TLS_FAILURES.labels(kind).add()
    return TransportError(UnreachableKind.TLS, reason)


def _handshake(sock: ssl.SSLSocket, timeout_s: Callable[[], float]) -> None:
    while True:
        try:
            return sock.do_handshake()
        except ssl.SSLWantReadError:
            wait_readable(sock, timeout_s())
        except ssl.SSLWantWriteError:
            wait_writable(sock, timeout_s())
