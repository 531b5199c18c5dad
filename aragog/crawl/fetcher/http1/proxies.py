"""
Tunnels through proxies: CONNECT (RFC 9110 section 9.3.6) and SOCKS5 (RFC 1928 and 1929).

Plain HTTP uses a tunnel too. If the proxy got the URL instead, it would resolve the host again, and
might connect to an address that was not checked (DNS rebinding).
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable

from aragog.crawl.egress.routes import ProxyServer
from aragog.crawl.fetcher.dns import look_up, system_lookup
from aragog.crawl.fetcher.faults import (
    LimitExceeded,
    RouteFailed,
    RouteRefusesTarget,
    TargetUnreachable,
    TransportError,
)
from aragog.crawl.fetcher.http1.reader import ResponseReader
from aragog.crawl.fetcher.request import basic_auth_header
from aragog.fetch_record.outcome import UnreachableKind
from aragog.runtime.secret import reveal

LOOKUP_TIMEOUT_S = 10.0
MAX_HEAD_BYTES = 16_384
_UNREACHABLE_STATUSES = frozenset({502, 503, 504})
"""Statuses by which a proxy reports an unreachable target (RFC 9110 sections 15.6.3 to 15.6.5)."""

_SOCKS_VERSION, _LOGIN_VERSION, _CONNECT = 5, 1, 1
_NO_LOGIN, _USERNAME_PASSWORD = 0, 2
_IPV4, _NAME, _IPV6 = 1, 3, 4
_SOCKS_REASONS = {
    1: "general failure", 2: "not allowed by its rules", 3: "network unreachable",
    4: "host unreachable", 5: "connection refused", 6: "TTL expired",
    7: "command not supported", 8: "address type not supported",
}  # fmt: skip
_SOCKS_REFUSAL_CODES = frozenset({2, 8})

Address = tuple[str, int]
Send = Callable[[bytes], None]
Receive = Callable[[int], bytes]
"""Returns at most the requested number of bytes, or b"" at the end of the stream. Raises OSError on
timeout."""


def proxy_addresses(proxy: ProxyServer) -> list[Address]:
    """
    Resolve a proxy, without the SSRF filter, because the operator chose it.

    Raises:
        RouteFailed: the proxy's name has no address.
    """
    resolution = look_up(system_lookup, proxy.host, LOOKUP_TIMEOUT_S)
    if not resolution.addresses:
        raise RouteFailed(f"cannot resolve the proxy {proxy.host}: {resolution.reason}")
    return [(address, proxy.port) for address in resolution.addresses]


def open_tunnel(proxy: ProxyServer, target: Address, send: Send, receive: Receive) -> None:
    """
    Ask a proxy to connect to a target. All later bytes go to the target.

    Args:
        proxy: protocol and credentials.
        target: an IP address, or a name that the proxy resolves, and a port.
        send: sends bytes to the proxy.
        receive: reads bytes from the proxy.

    Raises:
        RouteFailed: the proxy rejects the credentials, or does not speak the protocol.
        RouteRefusesTarget: the proxy refuses to connect to this target.
        TargetUnreachable: the proxy could not reach the target, closed the connection, or did not
            respond in time.
        TransportError: the target's name is too long for SOCKS5.
    """
    handshake = _open_http_tunnel if proxy.scheme == "http" else _open_socks_tunnel
    try:
        handshake(proxy, target, send, receive)
    except TimeoutError as error:
        raise TargetUnreachable(UnreachableKind.TIMEOUT, f"{_action(proxy)}: timed out") from error
    except OSError as error:
        reason = f"{_action(proxy)}: {error.strerror or error}"
        raise TargetUnreachable(UnreachableKind.RESET, reason) from error


def _action(proxy: ProxyServer) -> str:
    return f"connecting through the proxy {proxy.redacted_url}"


def _open_http_tunnel(proxy: ProxyServer, target: Address, send: Send, receive: Receive) -> None:
    host, port = target
    authority = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    lines = [f"CONNECT {authority} HTTP/1.1", f"Host: {authority}"]
    if proxy.user:
        login = basic_auth_header(reveal(proxy.user), reveal(proxy.password))
        lines.append(f"Proxy-Authorization: {login}")
    send("\r\n".join((*lines, "", "")).encode("latin-1"))
    try:
        # Read one byte at a time: bytes after the headers belong to the target.
        status = ResponseReader(lambda: receive(1)).read_head(MAX_HEAD_BYTES).status
    except (TransportError, LimitExceeded) as error:
        if isinstance(error, TransportError) and error.kind is UnreachableKind.RESET:
            reason = f"{_action(proxy)}: {error.reason}"
            raise TargetUnreachable(error.kind, reason) from error
        raise RouteFailed(f"{_action(proxy)}: {error.reason}") from error
    if 200 <= status < 300:
        return
    text = f"the proxy {proxy.redacted_url} responded to CONNECT with {status}"
    if status == 407:
        raise RouteFailed(f"{text}: check its credentials")
    if status in _UNREACHABLE_STATUSES:
        raise TargetUnreachable(UnreachableKind.CONNECT, f"{text}: it could not reach the target")
    raise RouteRefusesTarget(f"{text}; configure it to allow CONNECT to the URL's port")


def _open_socks_tunnel(proxy: ProxyServer, target: Address, send: Send, receive: Receive) -> None:
    methods = bytes((_NO_LOGIN, _USERNAME_PASSWORD)) if proxy.user else bytes((_NO_LOGIN,))
    send(bytes((_SOCKS_VERSION, len(methods))) + methods)
    version, method = _receive_exactly(proxy, receive, 2)
    if version != _SOCKS_VERSION:
        raise RouteFailed(f"{_action(proxy)}: it does not speak SOCKS5")
    if method == _USERNAME_PASSWORD and proxy.user:
        user, password = reveal(proxy.user).encode(), reveal(proxy.password).encode()
        login = bytes((_LOGIN_VERSION, len(user))) + user + bytes((len(password),)) + password
        send(login)
        if _receive_exactly(proxy, receive, 2)[1] != 0:
            raise RouteFailed(f"{_action(proxy)}: it rejected the credentials")
    elif method != _NO_LOGIN:
        raise RouteFailed(f"{_action(proxy)}: it requires another kind of login")
    send(bytes((_SOCKS_VERSION, _CONNECT, 0)) + _socks_address(target))
    _, reply, _, address_type = _receive_exactly(proxy, receive, 4)
    length = {_IPV4: 4, _IPV6: 16}.get(address_type) or _receive_exactly(proxy, receive, 1)[0]
    _receive_exactly(proxy, receive, length + 2)  # skip the proxy's own address and port
    if reply == 0:
        return
    reason = (
        f"the proxy {proxy.redacted_url} responded: {_SOCKS_REASONS.get(reply, f'error {reply}')}"
    )
    if reply in _SOCKS_REFUSAL_CODES:
        raise RouteRefusesTarget(reason)
    raise TargetUnreachable(UnreachableKind.CONNECT, reason)


def _socks_address(target: Address) -> bytes:
    host, port = target
    end = port.to_bytes(2, "big")
    try:
        ip = ipaddress.ip_address(host)
    except ValueError:
        name = host.encode("ascii")
        if len(name) > 255:
            raise TransportError(UnreachableKind.DNS, "the host name is too long") from None
        return bytes((_NAME, len(name))) + name + end
    return bytes((_IPV4 if ip.version == 4 else _IPV6,)) + ip.packed + end


def _receive_exactly(proxy: ProxyServer, receive: Receive, size: int) -> bytes:
    """Read exactly `size` bytes. Later bytes belong to the target."""
    data = b""
    while len(data) < size:
        piece = receive(size - len(data))
        if not piece:
            raise TargetUnreachable(
                UnreachableKind.RESET, f"{_action(proxy)}: it closed the connection"
            )
        data += piece
    return data


def bind_to(sock: socket.socket, address: str) -> None:
    """
    Bind an unconnected socket to a local address.

    Raises:
        RouteFailed: this machine does not have the address.
    """
    try:
        # Let the kernel choose the port when connecting, so that connections to different servers
        # can share ports.
        if hasattr(socket, "IP_BIND_ADDRESS_NO_PORT"):
            sock.setsockopt(socket.IPPROTO_IP, socket.IP_BIND_ADDRESS_NO_PORT, 1)
        sock.bind((address, 0))
    except OSError as error:
        reason = f"the address {address} cannot be used: {error.strerror or error}"
        raise RouteFailed(reason) from error
