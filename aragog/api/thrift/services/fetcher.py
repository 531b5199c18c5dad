"""The calls of service Fetcher."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from aragog.api.fetching import LONGEST_WAIT_MS, Fetching, FetchRequest
from aragog.api.steps import Steps
from aragog.api.thrift.contract import idl
from aragog.api.thrift.services.arguments import bounded, items, names, text
from aragog.api.thrift.services.replies import MOST_REPLY_BYTES, facts_of, part_of
from aragog.errors import BadInput
from aragog.fetcher.outcome import FetchRecord, Headers
from aragog.pipeline.messages import PRIORITY_DEFAULT
from aragog.pipeline.stages.enqueue import LATEST_RUN_AFTER_MS, EnqueueResult
from aragog.urlstore.records import Record
from aragog.urlstore.store import UrlStore

MOST_DEPTH = 100
WAIT_MS = 10_000
Enqueue = Callable[..., Iterable[EnqueueResult]]
"""`aragog.client.Aragog.enqueue`."""


class FetcherService:
    """
    Handles calls, each in a thread.

    Args:
        enqueue: `Aragog.enqueue`; None: this server does not enqueue.
        fetching: fetches for callers who wait; None: this server does not fetch.
        store: where contents and fetch reports are read.
    """

    def __init__(
        self,
        enqueue: Enqueue | None,
        fetching: Fetching | None = None,
        store: UrlStore | None = None,
    ) -> None:
        self._enqueue = enqueue
        self._fetching = fetching
        self._store = store

    def fetch(self, args: Any) -> Steps[Any]:
        if self._fetching is None or self._store is None:
            raise BadInput("this server does not fetch")
        options = args.options or idl.FetchOptions()
        longest = LONGEST_WAIT_MS
        steps = self._fetching.steps(
            FetchRequest(
                url=text(args.url, "url"),
                max_wait_ms=bounded(options.max_wait_ms, "max_wait_ms", 0, longest, WAIT_MS),
                max_age_s=bounded(options.max_age_ms, "max_age_ms", 0, 2**53, 0) / 1000,
                fields=None if options.fields is None else names(options.fields),
                request_id=options.request_id or "",
            )
        )
        fetched = yield from steps
        report = self._store.pages.fetch_report(fetched.url)
        content = self._store.content(fetched.url) if options.content else None
        return idl.FetchAnswer(
            url=fetched.url,
            state=getattr(idl.FetchState, fetched.state.name),
            record=_record(fetched.record) if fetched.record else None,
            age_ms=None if fetched.age_s is None else round(fetched.age_s * 1000),
            fetching=fetched.fetching,
            reason=fetched.reason,
            report=_report(report) if report else None,
            content=part_of(content, 0, MOST_REPLY_BYTES) if content else None,
        )

    def enqueue(self, args: Any) -> list[Any]:
        if self._enqueue is None:
            raise BadInput("this server does not enqueue")
        options = args.options or idl.EnqueueOptions()
        results = self._enqueue(
            items(args.urls, "urls"),
            priority=bounded(options.priority, "priority", 0, 9, PRIORITY_DEFAULT),
            run_after=_instant(options.run_after_ms),
            depth=bounded(options.depth, "depth", 0, MOST_DEPTH, 0),
            refresh=bool(options.refresh),
            sitemap=bool(options.sitemap),
            request_id=options.request_id or "",
        )
        return [
            idl.EnqueueResult(input=r.input, status=str(r.status), url=r.url, reason=r.reason)
            for r in results
        ]


def _instant(value_ms: int | None) -> int | None:
    return None if value_ms is None else bounded(value_ms, "run_after_ms", 0, LATEST_RUN_AFTER_MS)


def _record(record: Record) -> Any:
    return idl.Record(
        url=record.url,
        canonical_url=record.canonical_url,
        fields=record.fields,
        version=record.version,
        **facts_of(record),
    )


def _report(report: FetchRecord) -> Any:
    hops = [
        idl.Hop(
            url=hop.url,
            status=hop.status,
            target=hop.target,
            latency_ms=hop.latency_ms,
            headers=_headers(hop.headers),
        )
        for hop in report.hops
    ]
    plain = {
        name: getattr(report, name)
        for _, name, *_ in idl.FetchReport.thrift_spec.values()
        if name not in ("headers", "hops")
    }
    return idl.FetchReport(**plain, headers=_headers(report.headers), hops=hops)


def _headers(headers: Headers) -> list[Any]:
    return [idl.Header(name=name, value=value) for name, value in headers]
