"""A prepared request, with its fetch's deadline and permit callbacks."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping

import requests
from requests.structures import CaseInsensitiveDict

from aragog.crawl.egress.rules import RouteList
from aragog.crawl.fetcher.deadline import Deadline
from aragog.crawl.fetcher.faults import TransportError
from aragog.crawl.fetcher.gate import Later
from aragog.crawl.identity.signature_base import SignedMessage
from aragog.crawl.identity.signature_requests import SignatureRequest
from aragog.fetch_record.outcome import UnreachableKind
from urlspelling.hosts import split_port


def _do_nothing() -> None:
    pass


class Target:
    """
    The parts of a URL that a connection and a request line need.

    Args:
        url: absolute and well-formed, as returned by `urlspelling.normalize` and requests.
    """

    __slots__ = ("authority", "host", "host_header", "path", "port", "scheme")

    def __init__(self, url: str) -> None:
        self.scheme, _, rest = url.partition("://")
        if self.scheme not in ("http", "https"):
            raise TransportError(UnreachableKind.PROTOCOL, f"not an http(s) URL: {url[:100]!r}")
        rest = rest.partition("#")[0]
        end = min((i for c in "/?" if (i := rest.find(c)) >= 0), default=len(rest))
        self.host_header = rest[:end].rpartition("@")[2]
        path = rest[end:]
        self.path = path if path.startswith("/") else f"/{path}"
        default_port = 443 if self.scheme == "https" else 80
        self.host, port = split_port(self.host_header)
        self.port = int(port) if port else default_port
        self.authority = f"{self.host}:{self.port}"


class PoliteRequest(requests.PreparedRequest):
    """
    A prepared request with its deadline.

    Args:
        url: requested exactly as written.
        headers: all headers except Host.
        deadline: the whole fetch's deadline.
        acquire_permit: called right before the request is written.
        release_permit: called right after the request was written.
        method: GET, HEAD or POST.
        routes: the egress routes to use; None for the default.
        crawl: the crawl's name, for proxy sessions.
        signature_request: the signature requested by the server.
    """

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        deadline: Deadline,
        *,
        acquire_permit: Callable[[], Later | None] = _do_nothing,
        release_permit: Callable[[], None] = _do_nothing,
        method: str = "GET",
        body: bytes = b"",
        routes: RouteList | None = None,
        crawl: str = "",
        signature_request: SignatureRequest | None = None,
    ) -> None:
        super().__init__()
        self.method = method
        self.url = url
        self.body = body
        self.headers = CaseInsensitiveDict(headers)
        self.deadline = deadline
        self.acquire_permit = acquire_permit
        self.release_permit = release_permit
        self.routes = routes
        self.crawl = crawl
        self.signature_request = signature_request
        self.way: str | None = None
        """The egress route that was tried last; None if direct."""

    def to_signed_message(self, target: Target) -> SignedMessage:
        """Return the parts of this request that a signature covers."""
        path, _, query = target.path.partition("?")
        return SignedMessage(
            method=self.method or "",
            scheme=target.scheme,
            authority=target.host_header,
            path=path,
            query=f"?{query}",
            fields=self.headers,
        )


def basic_auth_header(user: str, password: str) -> str:
    """Return the value of an Authorization header for basic authentication (RFC 7617)."""
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
