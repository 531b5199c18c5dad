"""Calls over Thrift."""

from __future__ import annotations

import ssl
import time
from collections.abc import Sequence
from typing import Any

from aragog.client.store_client import FetchedPage, FieldWrite
from aragog.client.thrift_connections import ThriftConnection, ThriftConnectionPool
from aragog.client.thrift_messages import (
    encode_struct,
    idl,
    record_of,
    refuse,
    report_of,
    value_of,
    without_fields,
)
from aragog.errors import BadInput, ServiceUnavailable
from aragog.pipeline.stages.enqueue import EnqueueArguments, EnqueueResult, EnqueueStatus
from aragog.urlstore.records import Record


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
        self._where = f"{host}:{port}"
        self._token = token
        self._pool = ThriftConnectionPool((host, port), tls, pool_size, self._authenticate)

    def get_many(
        self, urls: Sequence[str], fields: Sequence[str] | None, *, facts: bool, limit_s: float
    ) -> list[Record | None]:
        until_s = time.monotonic() + limit_s
        records: dict[str, Record | None] = {}
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
                    records[url] = record_of(result.record) if result.record else None
                else:
                    refuse(result)
            if len(later) == len(left):
                raise BadInput(f"{left[0]}: {results[0].message}")
            left = later
        none_read = fields is not None and not fields
        return [without_fields(records[url]) if none_read else records[url] for url in urls]

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
        response = self._call(
            "Fetcher", "fetch", time.monotonic() + limit_s, url=url, options=options
        )
        return FetchedPage(
            url=response.url,
            state=idl.FetchState._VALUES_TO_NAMES[response.state].lower(),  # noqa: SLF001 - thriftpy2's
            record=record_of(response.record) if response.record else None,
            age_s=None if response.age_ms is None else response.age_ms / 1000,
            fetching=response.fetching,
            reason=response.reason,
            report=report_of(response.report) if response.report else None,
        )

    def enqueue(
        self, urls: Sequence[str], request: EnqueueArguments, *, limit_s: float
    ) -> list[EnqueueResult]:
        options = idl.EnqueueOptions(
            deadline_ms=_ms(limit_s),
            priority=request.priority,
            run_after_ms=request.run_after,
            depth=request.depth,
            refresh=request.refresh,
            sitemap=request.sitemap,
            request_id=request.request_id,
        )
        results = self._call(
            "Fetcher", "enqueue", time.monotonic() + limit_s, urls=list(urls), options=options
        )
        return [EnqueueResult(r.input, EnqueueStatus(r.status), r.url, r.reason) for r in results]

    def close(self) -> None:
        self._pool.close()

    def _simple(self, method: str, limit_s: float, **arguments: Any) -> None:
        options = idl.CallOptions(deadline_ms=_ms(limit_s))
        self._call("UrlStore", method, time.monotonic() + limit_s, **arguments, options=options)

    def _call(self, service: str, method: str, until_s: float, **arguments: Any) -> Any:
        """The value of a call; None for NotFound. A connection is used again only after a reply."""
        kind = getattr(idl, service)
        request = encode_struct(getattr(kind, f"{method}_args")(**arguments))
        connection = None
        try:
            connection = self._pool.take(until_s)
            reply = connection.exchange(f"{service}:{method}".encode(), request, until_s)
        except (OSError, EOFError) as error:
            if connection is not None:
                connection.close()
            raise ServiceUnavailable(self._where, str(error) or "no answer in time") from error
        self._pool.put_back(connection)
        return value_of(getattr(kind, f"{method}_result")(), reply, arguments, self._where)

    def _authenticate(self, connection: ThriftConnection, until_s: float) -> None:
        if self._token is not None:
            request = encode_struct(idl.UrlStore.authenticate_args(self._token))
            reply = connection.exchange(b"authenticate", request, until_s)
            value_of(idl.UrlStore.authenticate_result(), reply, {}, self._where)


def _ms(limit_s: float) -> int:
    return max(1, int(limit_s * 1000))
