"""
A client that reads and writes the UrlStore, over Thrift, over HTTP, or directly.

Its methods are the operations in `aragog.api.operations.table`, with their options as arguments.
The client splits long lists, retries temporary failures, and enforces the deadline.
"""

from __future__ import annotations

import inspect
import random
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from aragog.api.operations import (
    administration,
    change_feed,
    crawl_start,
    crawling,
    crawls,
    field_sizes,
    graph_edges,
    graph_lists,
    graph_nodes,
    item_reads,
    job_administration,
    job_queues,
    link_templates,
    reading,
    same_content,
    url_cancellation,
    writing,
)
from aragog.api.operations.operation import Operation
from aragog.api.operations.options import OptionField, arguments_text
from aragog.api.operations.page_texts import ORIGINAL
from aragog.api.operations.values import MAX_ITEMS, ContentPart, EnqueuedUrls
from aragog.client.connect import DEADLINE_S
from aragog.errors import TRANSIENT
from urlspelling import normalize

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

_FIRST_DELAY_S, _MAX_DELAY_S = 0.05, 1.0
_WAIT_MARGIN_S = 5.0


class Backend(Protocol):
    """
    Sends individual requests, each within `limit_s` seconds. Thread-safe.

    `call` raises BadInput, VersionConflict and AccessDenied. It raises TransientError if a retry
    may work, and PermanentError if data is damaged.
    """

    def call(self, operation: Operation[Any, R], request: Any, *, limit_s: float) -> R:
        """Send a request and return the response."""

    def close(self) -> None:
        """Close the connections."""


def _client_method(operation: Operation[P, R]) -> Callable[Concatenate[Client, P], R]:
    def method(self: Client, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.call(operation, *args, **kwargs)

    return documented(method, operation)


def documented(method: T, operation: Operation[Any, Any]) -> T:
    """Give a method the name, options and docstring of an operation."""
    documented_method: Any = method
    self_parameter = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    options = inspect.signature(operation.request).parameters.values()
    documented_method.__name__ = operation.name
    documented_method.__signature__ = inspect.Signature([self_parameter, *options])
    documented_method.__doc__ = f"{operation.text}\n\n{arguments_text(operation.request)}"
    return method


class Client(AbstractContextManager["Client"]):
    """
    Reads and writes the UrlStore. It is thread-safe. Create a new one after a fork.

    Every method accepts any spelling of a URL and raises

    - `InvalidUrl`, `BadInput`: the arguments are wrong; nothing was sent or written;
    - `AccessDenied`: the token lacks the scope;
    - `TransientError`: no attempt succeeded within `deadline_s`; a write may have happened;
    - `PermanentError`: damaged data.

    A method returns None if nothing is stored.

    >>> version = client.put("HTTP://Shop.example/p/1?utm_source=mail", {"note": b"cheap"})
    >>> record = client.get("http://shop.example/p/1", ["note"])
    >>> record.url, record.fields, record.version == version
    ('http://shop.example/p/1', {'note': b'cheap'}, True)
    >>> client.get("http://shop.example/p/2") is None
    True

    Args:
        backend: sends the requests.
        deadline_s: time limit for each call, including retries. A waiting call may take `wait_ms`
            or `max_wait_ms` plus 5 s. Without a server, the limit only ends retries. Once a call
            has reached the store, the limits of the store apply (`store.hbase_timeout_ms`,
            `content.s3_read_timeout_s`).
    """

    def __init__(self, backend: Backend, *, deadline_s: float = DEADLINE_S) -> None:
        self._backend = backend
        self._deadline_s = deadline_s

    get = _client_method(reading.get)
    get_many = _client_method(reading.get_many)
    outlinks = _client_method(reading.outlinks)
    inlinks = _client_method(reading.inlinks)
    count_inlinks = _client_method(reading.count_inlinks)
    aliases = _client_method(reading.aliases)
    history = _client_method(reading.history)
    field_sizes = _client_method(field_sizes.field_sizes)
    same_content = _client_method(same_content.same_content)
    items = _client_method(item_reads.items)
    item_history = _client_method(item_reads.item_history)
    content_part = _client_method(reading.content_part)
    watchers = _client_method(reading.watchers)
    changes = _client_method(change_feed.changes)
    put = _client_method(writing.put)
    delete_fields = _client_method(writing.delete_fields)
    remove = _client_method(writing.remove)
    add_links = _client_method(writing.add_links)
    remove_links = _client_method(writing.remove_links)
    watch = _client_method(writing.watch)
    unwatch = _client_method(writing.unwatch)
    enqueue = _client_method(crawling.enqueue)
    batch_progress = _client_method(crawling.batch_progress)
    fetch = _client_method(crawling.fetch)
    get_fresh = _client_method(crawling.get_fresh)
    explain = _client_method(crawling.explain)
    start_crawl = _client_method(crawl_start.start_crawl)
    list_crawls = _client_method(crawls.list_crawls)
    get_crawl = _client_method(crawls.get_crawl)
    crawl_report = _client_method(crawls.crawl_report)
    set_crawl_state = _client_method(crawls.set_crawl_state)
    try_scope = _client_method(crawls.try_scope)
    delete_crawl = _client_method(crawls.delete_crawl)
    cancel_urls = _client_method(url_cancellation.cancel_urls)
    list_templates = _client_method(link_templates.list_templates)
    decide_template = _client_method(link_templates.decide_template)
    enqueue_jobs = _client_method(job_queues.enqueue_jobs)
    dequeue_jobs = _client_method(job_queues.dequeue_jobs)
    ack_jobs = _client_method(job_queues.ack_jobs)
    nack_jobs = _client_method(job_queues.nack_jobs)
    extend_jobs = _client_method(job_queues.extend_jobs)
    list_queues = _client_method(job_administration.list_queues)
    queue_state = _client_method(job_administration.queue_state)
    list_jobs = _client_method(job_administration.list_jobs)
    retry_jobs = _client_method(job_administration.retry_jobs)
    delete_jobs = _client_method(job_administration.delete_jobs)
    configure_queue = _client_method(job_administration.configure_queue)
    get_node = _client_method(graph_nodes.get_node)
    get_nodes = _client_method(graph_nodes.get_nodes)
    scan_nodes = _client_method(graph_nodes.scan_nodes)
    put_node = _client_method(graph_nodes.put_node)
    remove_node = _client_method(graph_nodes.remove_node)
    lookup = _client_method(graph_nodes.lookup)
    lookup_unique = _client_method(graph_nodes.lookup_unique)
    put_edge = _client_method(graph_edges.put_edge)
    remove_edge = _client_method(graph_edges.remove_edge)
    get_edge = _client_method(graph_edges.get_edge)
    edges = _client_method(graph_edges.edges)
    count_edges = _client_method(graph_edges.count_edges)
    mutate = _client_method(graph_edges.mutate)
    take_edges = _client_method(graph_lists.take_edges)
    trim_edges = _client_method(graph_lists.trim_edges)
    edges_by_prefix = _client_method(graph_lists.edges_by_prefix)
    node_properties = _client_method(graph_lists.node_properties)
    lookup_prefix = _client_method(graph_lists.lookup_prefix)
    take_down = _client_method(administration.take_down)
    lift_takedown = _client_method(administration.lift_takedown)
    takedowns = _client_method(administration.takedowns)
    token_view = _client_method(administration.token_view)

    def content(
        self,
        url: str,
        *,
        form: str = ORIGINAL,
        purpose: str | None = None,
        at_ms: int | None = None,
    ) -> bytes | None:
        """
        Return the page's content as it was fetched, or None if nothing is stored.

        With the form `text` or `markdown`, returns the page's main text in UTF-8. With a purpose
        (`search`, `ai-input` or `ai-train`), returns None if the site refuses this purpose. With
        `at_ms`, returns the page's body at that time, if it was kept (`content.keep_versions`).
        """
        body = b""
        while True:
            part: ContentPart | None = self.content_part(
                url, offset_bytes=len(body), form=form, purpose=purpose, at_ms=at_ms
            )
            if part is None:
                return None
            body += part.body
            if not part.body or len(body) >= part.total_bytes:
                return body

    def call(self, operation: Operation[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Call an operation with its options."""
        request = _prepare_request(operation, operation.request(*args, **kwargs))
        response: R = self._call_in_parts(operation, request)
        return response

    def close(self) -> None:
        """Close the connections."""
        self._backend.close()

    def __exit__(self, *error: object) -> None:
        self.close()

    def _call_in_parts(self, operation: Operation[Any, Any], request: Any) -> Any:
        """Send a request, or several if its list is too long, and return the whole response."""
        name = operation.split_option
        if name is None:
            return self._call_with_retries(operation, request)
        items, responses = getattr(request, name), []
        for start in range(0, len(items), MAX_ITEMS):
            part = replace(request, **{name: items[start : start + MAX_ITEMS]})
            responses.append(response := self._call_with_retries(operation, part))
            if isinstance(response, EnqueuedUrls) and response.batch is not None:
                request = replace(request, batch=response.batch)
        if operation.response_type is EnqueuedUrls:
            results = tuple(result for response in responses for result in response)
            return EnqueuedUrls(results, request.batch)
        return [item for response in responses for item in response]

    def _call_with_retries(self, operation: Operation[Any, Any], request: Any) -> Any:
        deadline_s = self._deadline_s
        if operation.waits:
            wait_ms: int = getattr(request, "max_wait_ms", 0) or getattr(request, "wait_ms", 0)
            deadline_s = wait_ms / 1000 + _WAIT_MARGIN_S
        if not operation.repeatable(request):
            return self._backend.call(operation, request, limit_s=deadline_s)
        deadline_at_s = time.monotonic() + deadline_s
        delay_s = _FIRST_DELAY_S
        while True:
            try:
                return self._backend.call(
                    operation, request, limit_s=deadline_at_s - time.monotonic()
                )
            except TRANSIENT as error:
                wait_s = max(delay_s * random.uniform(0.5, 1.5), getattr(error, "retry_after_s", 0))
                if time.monotonic() + wait_s >= deadline_at_s:
                    raise
                time.sleep(wait_s)
                delay_s = min(_MAX_DELAY_S, 2 * delay_s)


def _prepare_request(operation: Operation[Any, Any], request: Any) -> Any:
    """Return the request with its URLs normalized and its lists as sequences."""
    changes = {
        field.name: value
        for field in operation.fields
        if (value := _prepare_value(field, original := getattr(request, field.name)))
        is not original
    }
    return replace(request, **changes) if changes else request


def _prepare_value(field: OptionField, value: Any) -> Any:
    if field.origin is Sequence and value is not None and not isinstance(value, list | tuple | str):
        value = list(value)
    if value is None or not field.option.is_url:
        return value
    normalized = normalize(value) if isinstance(value, str) else [normalize(url) for url in value]
    return value if field.option.as_given else normalized
