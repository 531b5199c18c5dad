"""
The engine under requests: an adapter that speaks HTTP/1.1 over connections pinned by the guard.

Mounted on a `requests.Session` it makes any request of that session safe: the host is resolved
once, every address vetted, and the socket opened to a vetted one. `Fetcher` calls `exchange` with
a `PoliteRequest`, which also carries the fetch's pace and the moments at which its gate wants to
be asked.
"""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import Sequence
from typing import Any, assert_never

import requests
from requests.adapters import BaseAdapter

from aragog.clock import Clock, SystemClock
from aragog.fetcher.deadline import Deadline
from aragog.fetcher.faults import Deferred, TargetBlocked, TransportError
from aragog.fetcher.http1.body import Bounds
from aragog.fetcher.http1.connection import MAX_ADDRESSES, Address, HttpConnection, Peer, connect
from aragog.fetcher.http1.pool import Pool
from aragog.fetcher.http1.proxy import Proxy
from aragog.fetcher.http1.response import HttpResponse
from aragog.fetcher.http1.tls import tls_context
from aragog.fetcher.request import PoliteRequest, Target
from aragog.fetcher.requests_errors import as_requests_says
from aragog.fetcher.ssrf.filter import Denied, Unresolved, Vetted
from aragog.fetcher.ssrf.ports import AddressPolicy
from aragog.fetcher.user_agent import has_contact, is_loopback, missing_contact
from aragog.settings import FetchSettings

METHODS = ("GET", "HEAD", "POST")
"""What is sent; a body only with POST, and in memory whole."""


class PinnedAdapter(BaseAdapter):
    """
    One process's connections to the web; safe to use from many threads, not across a fork.

    Args:
        settings: caps, timeouts, proxy.
        guard: vets each target.
        clock: for timeouts and idle times.
        tls: None: a context that trusts certifi's roots, the system's and `SSL_CERT_FILE`.
        needs_contact: refuse to send without a contact in the User-Agent, as a crawler must.
    """

    def __init__(
        self,
        settings: FetchSettings,
        ssrf_filter: AddressPolicy,
        *,
        clock: Clock | None = None,
        tls: ssl.SSLContext | None = None,
        needs_contact: bool = True,
    ) -> None:
        super().__init__()
        self._settings = settings
        self._guard = ssrf_filter
        self._clock = clock or SystemClock()
        self._tls = tls
        self._bounds = Bounds(settings.max_wire_bytes, settings.max_body_bytes)
        self._anonymous = needs_contact and not has_contact(settings)
        self._proxy = Proxy(settings.proxy) if settings.proxy else None
        self._pool = Pool(self._clock, max_idle=4 * settings.concurrency)

    def send(
        self,
        request: requests.PreparedRequest,
        stream: bool = False,
        timeout: Any = None,  # noqa: ARG002 - the fetch settings bound every request
        verify: bool | str = True,  # noqa: ARG002 - `verify_tls` decides
        cert: Any = None,  # noqa: ARG002 - no client certificates
        proxies: Any = None,  # noqa: ARG002 - `proxy` decides
    ) -> requests.Response:
        """
        The answer to `request`, its body unread when `stream`.

        Raises:
            requests.RequestException: no answer, or none that is allowed.
        """
        with as_requests_says(request):
            why = self._guard.vet_url(request.url or "")
            if why is not None:
                raise TargetBlocked(why)
            polite = request if isinstance(request, PoliteRequest) else self._polite(request)
            response = self.exchange(polite).as_response(request, self._bounds)
            if not stream:
                _ = response.content
            return response

    def _polite(self, request: requests.PreparedRequest) -> PoliteRequest:
        method = request.method or ""
        body: object = request.body or b""
        body = body.encode() if isinstance(body, str) else body
        if method not in METHODS or not isinstance(body, bytes) or (body and method != "POST"):
            raise TransportError("protocol", f"not sent: {method} with such a body; see METHODS")
        return PoliteRequest(
            request.url or "", request.headers, self.deadline(), method=method, body=body
        )

    def deadline(self) -> Deadline:
        """A stopwatch for one fetch, started now."""
        settings = self._settings
        return Deadline(
            self._clock,
            deadline_s=settings.deadline_s,
            connect_timeout_s=settings.connect_timeout_s,
            read_timeout_s=settings.read_timeout_s,
            min_bytes_per_s=settings.min_bytes_per_s,
        )

    def exchange(self, request: PoliteRequest) -> HttpResponse:
        """
        Send `request`, read the head of its answer.

        A kept connection that the other end closed meanwhile is replaced once by a new one; a POST
        begins on a new one, because it must not be sent twice.

        Raises:
            Fault: no answer, and why.
        """
        target = Target(request.url or "")
        peer = Peer(target.scheme, target.host, target.port, self._settings.proxy)
        connection = None if request.method == "POST" else self._pool.take(peer)
        if connection is not None:
            with contextlib.suppress(_Stale):
                return self._over(connection, request, target, dns_ms=None, kept=True)
        connection, dns_ms = self._connect(peer, target, request.deadline)
        return self._over(connection, request, target, dns_ms=dns_ms, kept=False)

    def _over(
        self,
        connection: HttpConnection,
        request: PoliteRequest,
        target: Target,
        *,
        dns_ms: float | None,
        kept: bool,
    ) -> HttpResponse:
        deadline = request.deadline
        try:
            connection.timed_by(deadline)
            asked_s = deadline.now_s()
            later = request.acquire_permit()
            sent_s = deadline.now_s()
            deadline.excuse(sent_s - asked_s)
            if later is not None:
                raise Deferred(later.retry_at_ms, later.why)
            connection.send(self._bytes(request, target))
            request.release_permit()
            head = connection.reader.head(self._settings.max_header_bytes)
        except TransportError as broken:
            connection.close()
            if kept and broken.kind == "reset":
                raise _Stale from broken
            raise
        except BaseException:
            connection.close()
            raise
        answer = HttpResponse(connection, head, deadline, self._pool.give)
        answer.bodiless = request.method == "HEAD"
        answer.dns_ms = dns_ms
        answer.connect_ms = None if kept else connection.connect_ms
        answer.first_byte_ms = (deadline.now_s() - sent_s) * 1000
        return answer

    def _connect(
        self, peer: Peer, target: Target, deadline: Deadline
    ) -> tuple[HttpConnection, float]:
        """A new connection, and how many milliseconds the name took."""
        before_s = deadline.now_s()
        addresses = vetted(self._guard, target.host, target.port)
        if self._anonymous and not all(is_loopback(ip) for ip, _ in addresses):
            raise missing_contact(self._settings)
        dns_ms = (deadline.now_s() - before_s) * 1000
        tls = self._context() if target.scheme == "https" else None
        if self._proxy is not None:
            return self._tunnel(self._proxy, peer, addresses, deadline, tls), dns_ms
        return connect(peer, addresses, deadline, tls=tls), dns_ms

    def _tunnel(
        self,
        proxy: Proxy,
        peer: Peer,
        addresses: Sequence[Address],
        deadline: Deadline,
        tls: ssl.SSLContext | None,
    ) -> HttpConnection:
        """A connection through the proxy to the first vetted address that it reaches."""
        fault: TransportError | None = None
        to_proxy = proxy.addresses()
        for address in addresses[:MAX_ADDRESSES]:
            try:
                found = connect(
                    peer, to_proxy, deadline, tls=tls, tunnel=proxy.connect_request(address)
                )
            except TransportError as broken:
                if broken.kind != "connect":
                    raise
                fault = broken
            else:
                found.address = address[0]
                return found
        raise fault or TransportError("dns", "no address")

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = tls_context(verify=self._settings.verify_tls)
        return self._tls

    def _bytes(self, request: PoliteRequest, target: Target) -> bytes:
        """The request as it goes over the wire."""
        lines = [f"{request.method} {target.path} HTTP/1.1", f"Host: {target.host_header}"]
        lines += [f"{name}: {value}" for name, value in request.headers.items()]
        body = request.body if isinstance(request.body, bytes) else b""
        return "\r\n".join((*lines, "", "")).encode("latin-1", "replace") + body

    def close(self) -> None:
        """Close all kept connections."""
        self._pool.close()


class _Stale(Exception):
    """A kept connection was closed before it answered: asking again is safe for GET and HEAD."""


def vetted(ssrf_filter: AddressPolicy, host: str, port: int) -> Sequence[Address]:
    """Where a connection to `host` may go; TargetBlocked or TransportError when nowhere."""
    found = ssrf_filter.resolve(host, port)
    match found:
        case Vetted(addresses=addresses):
            return addresses
        case Denied(why=why):
            raise TargetBlocked(why)
        case Unresolved(why=why):
            raise TransportError("dns", why)
        case _:
            assert_never(found)
