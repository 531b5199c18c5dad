"""
A requests adapter that connects only to addresses that the SSRF filter allows.

Any `requests.Session` can mount it; `Fetcher` calls `exchange` instead. The adapter resolves the
host once, checks every address, and opens the socket to one of them. It speaks HTTP/1.1, or HTTP/2
if `fetch.http2_hosts` includes the host and the server chooses it (ALPN).
"""

from __future__ import annotations

import contextlib
import functools
import ssl
from collections.abc import Sequence
from functools import partial
from typing import Any

import requests
from requests.adapters import BaseAdapter

from aragog.crawl.egress.egress import Egress, SelectedRoute
from aragog.crawl.egress.routes import ProxyServer
from aragog.crawl.egress.rules import DIRECT
from aragog.crawl.fetcher.body_limits import Bounds
from aragog.crawl.fetcher.deadline import Deadline
from aragog.crawl.fetcher.destinations import get_proxy, vetted_addresses
from aragog.crawl.fetcher.faults import (
    NoPermit,
    RouteFailed,
    RouteRefusesTarget,
    TargetBlocked,
    TargetUnreachable,
    TransportError,
)
from aragog.crawl.fetcher.gate import Later
from aragog.crawl.fetcher.http1.connection import (
    MAX_ADDRESSES,
    Address,
    HttpConnection,
    Peer,
    Tunnel,
    connect,
)
from aragog.crawl.fetcher.http1.pool import ConnectionPool, max_idle
from aragog.crawl.fetcher.http1.proxies import proxy_addresses
from aragog.crawl.fetcher.http1.response import HttpResponse, convert_faults
from aragog.crawl.fetcher.http1.tls import (
    HTTP2,
    SessionKey,
    TlsSessions,
    copy_without_name_check,
    needs_name_check_in_python,
    tls_context,
)
from aragog.crawl.fetcher.http2_hosts import Http2Hosts
from aragog.crawl.fetcher.request import PoliteRequest, Target
from aragog.crawl.fetcher.ssrf import AddressPolicy
from aragog.crawl.fetcher.user_agent import has_contact, missing_contact_message
from aragog.crawl.identity.request_signer import RequestSigner
from aragog.crawl.identity.signature_requests import SignatureRequest
from aragog.fetch_record.causes import DeferralCause, RefusalCause
from aragog.fetch_record.outcome import UnreachableKind
from aragog.observability.instruments import EGRESS_REQUESTS
from aragog.runtime.clock import Clock, SystemClock
from aragog.runtime.hosts import is_loopback
from aragog.settings import EgressSettings, FetchSettings
from urlspelling.domain import is_ip, registered_domain

# How long a request waits for a busy TLS connection before it opens another one. A handshake takes
# about a millisecond of CPU time here, and at least as much on the server.
MAX_REUSE_WAIT_S = 0.1
METHODS = ("GET", "HEAD", "POST")
"""Supported methods. Only POST may have a body, which must be bytes."""


class PinnedAdapter(BaseAdapter):
    """
    One process's HTTP connections. Thread-safe. Must not be used across a fork.

    Args:
        tls: context for HTTPS. Its ALPN protocols are offered to every host. By default it trusts
            the roots of certifi, the system and `SSL_CERT_FILE`.
        needs_contact: True to raise TargetBlocked if the User-Agent has no contact and the host is
            not on loopback. Crawlers must pass True.
        connections_from: another adapter, to share its connections. It must have the same egress
            routes, TLS context and HTTP/2 hosts.
        signer: signs every request. If None, requests are not signed.
        egress: the egress routes. By default those of `connections_from`, or else those of
            `fetch.proxy`.
    """

    def __init__(
        self,
        settings: FetchSettings,
        ssrf_filter: AddressPolicy,
        *,
        clock: Clock | None = None,
        tls: ssl.SSLContext | None = None,
        needs_contact: bool = True,
        connections_from: PinnedAdapter | None = None,
        signer: RequestSigner | None = None,
        egress: Egress | None = None,
    ) -> None:
        super().__init__()
        self._settings = settings
        self._ssrf_filter = ssrf_filter
        self._clock = clock or SystemClock()
        self._tls = tls
        self._signer = signer
        self._bounds = Bounds(settings.max_wire_bytes, settings.max_body_bytes)
        self._lacks_contact = needs_contact and not has_contact(settings)
        self.egress: Egress = egress or (
            connections_from.egress
            if connections_from
            else Egress(EgressSettings(), settings, self._clock)
        )
        self.http2_hosts: Http2Hosts = (
            connections_from.http2_hosts
            if connections_from
            else Http2Hosts(settings.http2_hosts, self._clock)
        )
        self.connections: ConnectionPool = (
            connections_from.connections
            if connections_from
            else ConnectionPool(self._clock, max_idle=max_idle())
        )

        self.tls_sessions: TlsSessions = (
            connections_from.tls_sessions if connections_from else TlsSessions(self._clock)
        )

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
        Return the response to `request`. With `stream`, the body has not been read yet.

        Raises:
            requests.RequestException: the request failed, or its target is not allowed.
        """
        with convert_faults(request):
            reason = self._ssrf_filter.vet_url(request.url or "")
            if reason is not None:
                raise TargetBlocked(RefusalCause.URL, reason)
            polite_request = (
                request if isinstance(request, PoliteRequest) else self._to_polite_request(request)
            )
            response = self.exchange(polite_request).as_response(request, self._bounds)
            if not stream:
                _ = response.content
            return response

    def _to_polite_request(self, request: requests.PreparedRequest) -> PoliteRequest:
        method = request.method or ""
        body: object = request.body or b""
        body = body.encode() if isinstance(body, str) else body
        if method not in METHODS or not isinstance(body, bytes) or (body and method != "POST"):
            raise TransportError(
                UnreachableKind.PROTOCOL,
                f"cannot send {method} with this body; use GET, HEAD, or POST with bytes",
            )
        return PoliteRequest(
            request.url or "", request.headers, self.deadline(), method=method, body=body
        )

    def deadline(self) -> Deadline:
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
        Send `request` and read the response's status and headers.

        If an egress route fails before anything was sent, the next one is tried. If the server has
        closed an idle connection, the request is sent once more on a new one. A POST always uses a
        new connection, because it must not be sent twice.

        Raises:
            Fault: the request failed. Its class and `reason` say why.
        """
        target = Target(request.url or "")
        routes = request.routes or self.egress.rules.default_routes
        refusal: RouteRefusesTarget | None = None
        for selected in self.egress.usable_routes(routes, request.url or "", request.crawl):
            request.way = None if selected.route.name == DIRECT else selected.route.name
            try:
                return self._exchange_through(selected, request, target)
            except RouteFailed as fault:
                self.egress.health.record_failure(selected.route.name, fault.reason)
            except RouteRefusesTarget as fault:
                refusal = fault
        if refusal is not None:
            raise TransportError(UnreachableKind.CONNECT, refusal.reason)
        reason = self.egress.explain_failures(routes)
        raise NoPermit(Later(DeferralCause.EGRESS, reason, self.egress.retry_at_ms(routes)))

    def _exchange_through(
        self, selected: SelectedRoute, request: PoliteRequest, target: Target
    ) -> HttpResponse:
        """
        Send a request through an egress route. If this raises RouteFailed or RouteRefusesTarget,
        nothing was sent.
        """
        http2 = target.scheme == "https" and self.http2_hosts.offers(target.host)
        peer = Peer(target.scheme, target.host, target.port, selected.key, http2)
        wait_s = MAX_REUSE_WAIT_S if target.scheme == "https" else 0.0
        connection = None if request.method == "POST" else self.connections.take(peer, wait_s)
        if connection is not None:
            with contextlib.suppress(_StaleConnection):
                response = self._exchange_on(connection, request, target, dns_ms=None, reused=True)
                self.egress.health.record_success(selected.route.name)
                return response
        connection, dns_ms = self._connect(selected, peer, target, request.deadline)
        self.connections.add_in_use(connection)
        return self._exchange_on(connection, request, target, dns_ms=dns_ms, reused=False)

    def _exchange_on(
        self,
        connection: HttpConnection,
        request: PoliteRequest,
        target: Target,
        *,
        dns_ms: float | None,
        reused: bool,
    ) -> HttpResponse:
        deadline = request.deadline
        try:
            connection.set_deadline(deadline)
            message = self._encode(connection, request, target)
            waiting_since_s = deadline.now_s()
            deferral = request.acquire_permit()
            sent_s = deadline.now_s()
            deadline.extend(sent_s - waiting_since_s)
            if deferral is not None:
                raise NoPermit(deferral)
            # Between the permit and this call, do not wait, release the GIL or do anything slow.
            connection.send(message)
            request.release_permit()
            EGRESS_REQUESTS.labels(request.way or DIRECT).add()
            head = connection.protocol.read_head(self._settings.max_header_bytes)
        except TransportError as error:
            connection.close()
            if error.kind is UnreachableKind.PROTOCOL and connection.alpn == HTTP2:
                self.http2_hosts.disable(target.host)
            can_retry = error.kind is UnreachableKind.RESET and connection.protocol.can_retry
            if reused and can_retry:
                raise _StaleConnection from error
            raise
        except BaseException:
            connection.close()
            raise
        response = HttpResponse(connection, head, deadline, self.connections.put_back)
        response.has_no_body = request.method == "HEAD"
        if dns_ms is not None:
            response.timings["dns_ms"] = dns_ms
        if not reused:
            response.timings["connect_ms"] = connection.connect_ms
            if connection.tls is not None:
                key = _session_key(connection.peer, connection.address or target.host)
                connection.keep_tls = partial(
                    self.tls_sessions.keep, key, opened_s=self._clock.monotonic_s()
                )
        # A busy process reads the headers late. The server did not cause this delay.
        elapsed_s = deadline.now_s() - sent_s
        response.timings["first_byte_ms"] = max(0.0, elapsed_s - connection.kernel_wait_s()) * 1000
        return response

    def _connect(
        self, selected: SelectedRoute, peer: Peer, target: Target, deadline: Deadline
    ) -> tuple[HttpConnection, float]:
        """Open a new connection. Returns it and the duration of the DNS lookup in ms."""
        started_s = deadline.now_s()
        at_proxy = selected.route.resolves_names
        addresses = vetted_addresses(self._ssrf_filter, target.host, target.port, at_proxy=at_proxy)
        if self._lacks_contact and not all(is_loopback(ip) for ip, _ in addresses):
            raise TargetBlocked(RefusalCause.NO_CONTACT, missing_contact_message(self._settings))
        dns_ms = (deadline.now_s() - started_s) * 1000
        tls = self._tls_context(peer) if target.scheme == "https" else None
        if (proxy := get_proxy(selected)) is not None:
            connection = self._tunnel(selected, proxy, peer, addresses, deadline, tls)
        else:
            session = partial(self._take_tls_session, peer)
            source = selected.route.addresses
            connection = connect(peer, addresses, deadline, tls=tls, source=source, session=session)
        self.egress.health.record_success(selected.route.name)
        if connection.alpn == HTTP2:
            from aragog.crawl.fetcher.http2.protocol import Http2  # noqa: PLC0415 - an extra

            connection.protocol = Http2(
                connection.receive, connection.write, self._settings.max_header_bytes
            )
        return connection, dns_ms

    def _tunnel(
        self,
        selected: SelectedRoute,
        proxy: ProxyServer,
        peer: Peer,
        addresses: Sequence[Address],
        deadline: Deadline,
        tls: ssl.SSLContext | None,
    ) -> HttpConnection:
        last_error: TransportError | None = None
        proxy_endpoints = proxy_addresses(proxy)
        for address in addresses[:MAX_ADDRESSES]:
            try:
                connection = connect(
                    peer,
                    proxy_endpoints,
                    deadline,
                    tls=tls,
                    tunnel=Tunnel(proxy, address),
                    session=partial(self._take_tls_session_for_target, peer, address[0]),
                )
            except TargetUnreachable as error:
                self.egress.health.record_unreachable(
                    selected.route.name, registered_domain(peer.host), error.reason
                )
                if error.kind is not UnreachableKind.CONNECT:
                    raise
                last_error = error
            else:
                is_name = not (":" in address[0] or is_ip(address[0]))
                connection.address = None if is_name else address[0]
                return connection
        raise last_error or TransportError(UnreachableKind.DNS, "the host has no address")

    def _take_tls_session_for_target(
        self, peer: Peer, target_address: str, _proxy_address: str
    ) -> ssl.SSLSession | None:
        return self._take_tls_session(peer, target_address)

    def _take_tls_session(self, peer: Peer, address: str) -> ssl.SSLSession | None:
        return self.tls_sessions.take(_session_key(peer, address))

    def _tls_context(self, peer: Peer) -> ssl.SSLContext:
        names_checked_in_python = needs_name_check_in_python(peer.host)
        if self._tls is not None:
            return self._tls_without_name_check if names_checked_in_python else self._tls
        verify = self._settings.verify_tls
        return tls_context(
            verify=verify, http2=peer.http2, names_checked_in_python=names_checked_in_python
        )

    @functools.cached_property
    def _tls_without_name_check(self) -> ssl.SSLContext:
        return copy_without_name_check(self._tls or tls_context())

    def requested_signature(
        self, request: PoliteRequest, accept_signature: str
    ) -> SignatureRequest | None:
        """
        Return what the response asks to sign.

        Returns None if there is no signer, or if the signature cannot be made or was already sent.
        """
        if self._signer is None:
            return None
        message = request.to_signed_message(Target(request.url or ""))
        return self._signer.requested_signature(message, accept_signature)

    def _encode(self, connection: HttpConnection, request: PoliteRequest, target: Target) -> bytes:
        if self._signer is not None:
            message = request.to_signed_message(target)
            request.headers.update(self._signer.sign(message, request.signature_request))
        return connection.protocol.encode_request(request, target)

    def close(self) -> None:
        self.connections.close()


def _session_key(peer: Peer, address: str) -> SessionKey:
    return SessionKey(peer.host, peer.port, address, peer.route_key, peer.http2)


class _StaleConnection(Exception):
    """The server closed an idle connection. GET and HEAD can safely be sent again."""
