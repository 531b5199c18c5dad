"""Calls over Thrift, on connections that are kept open."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from struct import Struct
from typing import Any

import orjson
import thriftpy2
from thriftpy2.protocol.cybin import TCyBinaryProtocol  # type: ignore[attr-defined]
from thriftpy2.thrift import TApplicationException
from thriftpy2.transport.memory import TCyMemoryBuffer  # type: ignore[attr-defined]

from aragog.client.store_client import EnqueueRequest, FetchedPage, FieldWrite
from aragog.errors import (
    AccessDenied,
    AragogError,
    BadInput,
    PermanentError,
    ServiceUnavailable,
    VersionConflict,
)
from aragog.pipeline.stages.enqueue import EnqueueResult, EnqueueStatus
from aragog.urlstore.fetch_report import FetchReport, HopReport
from aragog.urlstore.records import Record

FILE = Path(__file__).parent.parent / "serving" / "urlstore.thrift"
idl: Any = thriftpy2.load(str(FILE), module_name="aragog_urlstore_thrift")

IDLE_S = 45.0
"""Connections that were idle for longer are not used again: the server closes them after 75 s."""
MOST_BYTES = 64 << 20
_CALL, _REPLY = 1, 2
_I32 = Struct(">i")


class ThriftBackend:
    """
    See `Backend`.

    Args:
        host, port: of the server.
        token: a bearer token.
        tls: None: plain TCP.
        pool_size: idle connections that are kept.
    """

    def __init__(
        self, host: str, port: int, *, token: str | None, tls: ssl.SSLContext | None,
        pool_size: int,
    ) -> None:  # fmt: skip
        self._address = host, port
        self._where = f"{host}:{port}"
        self._token = token
        self._tls = tls
        self._pool_size = pool_size
        self._idle: list[_Connection] = []
        self._lock = threading.Lock()

    def get_many(
        self, urls: Sequence[str], fields: Sequence[str] | None, *, facts: bool, limit_s: float
    ) -> list[Record | None]:
        until_s = time.monotonic() + limit_s
        found: dict[str, Record | None] = {}
        left = list(dict.fromkeys(urls))
        while left:
            options = idl.ReadOptions(facts=facts, deadline_ms=_ms(until_s - time.monotonic()))
            results = self._call(
                "UrlStore", "getMany", until_s, urls=left, fields=list(fields or ()),
                options=options,
            )  # fmt: skip
            later = []
            for url, result in zip(left, results, strict=True):
                if result.status == idl.ItemStatus.LEFT_OUT:
                    later.append(url)
                elif result.status in (idl.ItemStatus.OK, idl.ItemStatus.NOT_FOUND):
                    found[url] = _record(result.record) if result.record else None
                else:
                    _refuse(result)
            if len(later) == len(left):
                raise BadInput(f"{left[0]}: {results[0].message}")
            left = later
        none_read = fields is not None and not fields
        return [_without_fields(found[url]) if none_read else found[url] for url in urls]

    def put(self, write: FieldWrite, *, limit_s: float) -> str:
        options = idl.PutOptions(
            deadline_ms=_ms(limit_s), at_ms=write.at_ms, if_version=write.if_version
        )
        version: str = self._call(
            "UrlStore", "put", time.monotonic() + limit_s,
            url=write.url, fields=dict(write.fields), options=options,
        )  # fmt: skip
        return version

    def delete_fields(self, url: str, names: Sequence[str], *, limit_s: float) -> None:
        self._simple("deleteFields", limit_s, url=url, names=list(names))

    def remove(self, url: str, *, limit_s: float) -> None:
        self._simple("remove", limit_s, url=url)

    def content(self, url: str, *, limit_s: float) -> bytes | None:
        until_s = time.monotonic() + limit_s
        body, total = b"", 1
        while len(body) < total:
            options = idl.ContentOptions(offset_bytes=len(body), deadline_ms=_ms(limit_s))
            part = self._call("UrlStore", "content", until_s, url=url, options=options)
            if part is None:
                return None
            if not part.body:
                break
            body, total = body + part.body, part.total_bytes
        return body

    def watch(self, url: str, owner: str, *, limit_s: float) -> None:
        self._simple("watch", limit_s, url=url, owner=owner)

    def unwatch(self, url: str, owner: str, *, limit_s: float) -> None:
        self._simple("unwatch", limit_s, url=url, owner=owner)

    def fetch(
        self, url: str, fields: Sequence[str] | None, *, max_wait_ms: int, max_age_s: float,
        request_id: str, limit_s: float,
    ) -> FetchedPage:  # fmt: skip
        options = idl.FetchOptions(
            max_wait_ms=max_wait_ms,
            max_age_ms=round(max_age_s * 1000),
            fields=None if fields is None else list(fields),
            request_id=request_id,
        )
        found = self._call("Fetcher", "fetch", time.monotonic() + limit_s, url=url, options=options)
        return FetchedPage(
            url=found.url,
            state=idl.FetchState._VALUES_TO_NAMES[found.state].lower(),  # noqa: SLF001 - thriftpy2's
            record=_record(found.record) if found.record else None,
            age_s=None if found.age_ms is None else found.age_ms / 1000,
            fetching=found.fetching,
            reason=found.reason,
            report=_report(found.report) if found.report else None,
        )

    def enqueue(
        self, urls: Sequence[str], wanted: EnqueueRequest, *, limit_s: float
    ) -> list[EnqueueResult]:
        options = idl.EnqueueOptions(
            deadline_ms=_ms(limit_s),
            priority=wanted.priority,
            run_after_ms=wanted.run_after,
            depth=wanted.depth,
            refresh=wanted.refresh,
            sitemap=wanted.sitemap,
            request_id=wanted.request_id,
        )
        results = self._call(
            "Fetcher", "enqueue", time.monotonic() + limit_s, urls=list(urls), options=options
        )
        return [EnqueueResult(r.input, EnqueueStatus(r.status), r.url, r.reason) for r in results]

    def close(self) -> None:
        with self._lock:
            idle, self._idle, self._pool_size = self._idle, [], 0
        for connection in idle:
            connection.close()

    def _simple(self, method: str, limit_s: float, **arguments: Any) -> None:
        options = idl.CallOptions(deadline_ms=_ms(limit_s))
        self._call("UrlStore", method, time.monotonic() + limit_s, **arguments, options=options)

    def _call(self, service: str, method: str, until_s: float, **arguments: Any) -> Any:
        """The value of a call; None for NotFound. A connection is used again only after a reply."""
        kind = getattr(idl, service)
        request = _written(getattr(kind, f"{method}_args")(**arguments))
        connection = None
        try:
            connection = self._take(until_s)
            reply = connection.exchange(f"{service}:{method}".encode(), request, until_s)
        except (OSError, EOFError) as error:
            if connection is not None:
                connection.close()
            raise ServiceUnavailable(self._where, str(error) or "no answer in time") from error
        self._put_back(connection)
        return self._value(getattr(kind, f"{method}_result")(), reply, arguments)

    def _value(self, result: Any, reply: TCyMemoryBuffer, arguments: Mapping[str, Any]) -> Any:
        protocol = TCyBinaryProtocol(reply)
        _, message_kind, _ = protocol.read_message_begin()
        if message_kind != _REPLY:
            error = TApplicationException()
            error.read(protocol)
            raise BadInput(f"{self._where}: {error.message}")
        protocol.read_struct(result)
        for name, found in vars(result).items():
            if name != "success" and found is not None:
                if isinstance(found, idl.NotFound):
                    return None
                raise self._ours(found, arguments)
        return getattr(result, "success", None)

    def _ours(self, found: Any, arguments: Mapping[str, Any]) -> AragogError:
        """The error of this project for an exception of the contract."""
        match type(found).__name__:
            case "BadInput":
                return BadInput(found.message)
            case "Conflict":
                expected = arguments["options"].if_version or ""
                return VersionConflict(arguments["url"], expected, found.found_version)
            case "Unauthorized":
                return AccessDenied(found.message)
            case "Unavailable":
                return ServiceUnavailable(self._where, found.message, found.retry_after_ms / 1000)
            case "DeadlineExceeded":
                return ServiceUnavailable(self._where, found.message)
            case _:
                return PermanentError(f"{self._where}: {found.message}")

    def _take(self, until_s: float) -> _Connection:
        with self._lock:
            while self._idle:
                connection = self._idle.pop()
                if time.monotonic() - connection.used_s < IDLE_S and connection.is_quiet():
                    return connection
                connection.close()
        connection = _Connection(self._address, self._tls, until_s)
        if self._token is not None:
            try:
                request = _written(idl.UrlStore.authenticate_args(self._token))
                reply = connection.exchange(b"authenticate", request, until_s)
                self._value(idl.UrlStore.authenticate_result(), reply, {})
            except BaseException:
                connection.close()
                raise
        return connection

    def _put_back(self, connection: _Connection) -> None:
        with self._lock:
            if len(self._idle) < self._pool_size:
                self._idle.append(connection)
                return
        connection.close()


class _Connection:
    """One connection; one call at a time."""

    def __init__(
        self, address: tuple[str, int], tls: ssl.SSLContext | None, until_s: float
    ) -> None:
        plain = socket.create_connection(address, _left_s(until_s))
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._sock = tls.wrap_socket(plain, server_hostname=address[0]) if tls else plain
        self._number = 0
        self.used_s = time.monotonic()

    def exchange(self, name: bytes, arguments: bytes, until_s: float) -> TCyMemoryBuffer:
        """The reply to a call. Raises OSError, EOFError."""
        self._number += 1
        number = _I32.pack(self._number)
        head = _I32.pack(-0x7FFF0000 | _CALL) + _I32.pack(len(name)) + name + number
        self._sock.settimeout(_left_s(until_s))
        self._sock.sendall(_I32.pack(len(head) + len(arguments)) + head + arguments)
        (size,) = _I32.unpack(self._read(4, until_s))
        if not 12 <= size <= MOST_BYTES:
            raise EOFError("the answer is not Thrift")
        reply = self._read(size, until_s)
        at = 8 + int.from_bytes(reply[4:8])
        if reply[at : at + 4] != number:
            raise EOFError("an answer to another call")
        self.used_s = time.monotonic()
        return TCyMemoryBuffer(reply)

    def is_quiet(self) -> bool:
        """False if the server has closed the connection."""
        self._sock.setblocking(False)
        try:
            self._sock.recv(1)
        except (BlockingIOError, ssl.SSLWantReadError):
            return True
        except OSError:
            return False
        return False

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._sock.close()

    def _read(self, size: int, until_s: float) -> bytes:
        parts = []
        while size:
            self._sock.settimeout(_left_s(until_s))
            part = self._sock.recv(min(size, 1 << 20))
            if not part:
                raise EOFError("the server closed the connection")
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


def _left_s(until_s: float) -> float:
    left_s = until_s - time.monotonic()
    if left_s <= 0:
        raise TimeoutError("no answer in time")
    return left_s


def _ms(limit_s: float) -> int:
    return max(1, int(limit_s * 1000))


def _written(value: Any) -> bytes:
    buffer = TCyMemoryBuffer()
    TCyBinaryProtocol(buffer).write_struct(value)
    data: bytes = buffer.getvalue()
    return data


def _refuse(result: Any) -> None:
    if result.status == idl.ItemStatus.DAMAGED:
        raise PermanentError(result.message)
    raise BadInput(result.message)


def _record(found: Any) -> Record:
    facts = {name: orjson.loads(value) for name, value in (found.facts or {}).items()}
    return Record(
        found.url,
        found.canonical_url,
        found.fields,
        facts,
        found.version,
        content_hash=found.content_hash,
        content_bytes=found.content_bytes,
        due_at_ms=found.due_at_ms,
    )


def _without_fields(found: Record | None) -> Record | None:
    if found is not None:
        found.fields.clear()
    return found


def _report(found: Any) -> FetchReport:
    plain = {name: value for name, value in vars(found).items() if name not in ("headers", "hops")}
    hops = [HopReport(**{**vars(hop), "headers": _headers(hop.headers)}) for hop in found.hops]
    return FetchReport(**plain, headers=_headers(found.headers), hops=tuple(hops))


def _headers(found: Sequence[Any]) -> tuple[tuple[str, str], ...]:
    return tuple((header.name, header.value) for header in found)
