"""Connect to a server by its address."""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypedDict, Unpack
from urllib.parse import SplitResult, urlsplit

from aragog.errors import ConfigError
from aragog.runtime.extras import require
from aragog.runtime.secret import without_password

if TYPE_CHECKING:
    from aragog.client.async_client import AsyncClient
    from aragog.client.store_client import Backend, Client

THRIFT_PORT = 8101
POOL_SIZE = 16
DEADLINE_S = 5.0
_TOKEN = re.compile(r"[!-~]+", re.ASCII)


def connect(
    address: str,
    *,
    token: str | None = None,
    deadline_s: float = DEADLINE_S,
    pool_size: int = POOL_SIZE,
    tls: ssl.SSLContext | None = None,
    field_formats: Mapping[str, str] | None = None,
) -> Client:
    """
    Return a client for `aragog serve`. Connections are opened on demand.

    To read and write a store without a server, use `aragog.bootstrap.api.open_client`.

    Args:
        address: `thrift://host:port`, `thrifts://…` for TLS, `http://…` or `https://…`.
        token: a bearer token, or None if the server requires none.
        deadline_s: time limit for each call, including retries.
        pool_size: number of connections to keep open.
        tls: for `thrifts`, the certificates to trust; None means the operating system's.
        field_formats: the server's `store.field_formats`, used to decode values. Over HTTP, they
            also determine how JSON values become bytes.

    Raises:
        ConfigError: the address has another scheme, the token is malformed, or Thrift is not
            installed.
    """
    from aragog.client.store_client import Client  # noqa: PLC0415 - programs that only enqueue do not need it

    if token is not None and not _TOKEN.fullmatch(token):
        raise ConfigError("client token must be printable ASCII without spaces")
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError:  # the message may contain a password
        raise ConfigError(
            f"client address {without_password(address)!r} has an invalid host or port"
        ) from None
    backend: Backend
    if parts.scheme in ("thrift", "thrifts"):
        require("thrift", f"client address {without_password(address)!r}")
        context = (tls or ssl.create_default_context()) if parts.scheme == "thrifts" else None
        backend = _thrift_backend(parts, token, pool_size, context, field_formats)
    elif parts.scheme in ("http", "https"):
        from aragog.client.http_backend import HttpBackend  # noqa: PLC0415 - loaded where used

        backend = HttpBackend(
            address, token=token, pool_size=pool_size, field_formats=field_formats
        )
    else:
        raise ConfigError(
            f"client address {without_password(address)!r} must start with thrift://, "
            "thrifts://, http:// or https://"
        )
    return Client(backend, deadline_s=deadline_s)


def _thrift_backend(
    parts: SplitResult,
    token: str | None,
    pool_size: int,
    tls: ssl.SSLContext | None,
    formats: Mapping[str, str] | None,
) -> Backend:
    from aragog.client.thrift_backend import ThriftBackend  # noqa: PLC0415 - optional package

    host, port = parts.hostname or "127.0.0.1", parts.port or THRIFT_PORT
    return ThriftBackend(
        host, port, token=token, tls=tls, pool_size=pool_size, field_formats=formats
    )


class ConnectOptions(TypedDict, total=False):
    """The options of `connect` that `connect_async` also has."""

    token: str | None
    deadline_s: float
    tls: ssl.SSLContext | None
    field_formats: Mapping[str, str] | None


def connect_async(
    address: str, *, pool_size: int = POOL_SIZE, **options: Unpack[ConnectOptions]
) -> AsyncClient:
    """Like `connect`, for asyncio. `pool_size` is also the number of concurrent calls."""
    from aragog.client.async_client import AsyncClient  # noqa: PLC0415 - programs that only enqueue do not need it

    client = connect(address, pool_size=pool_size, **options)
    return AsyncClient(client, pool_size=pool_size)
