"""The UrlStore client for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

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
from aragog.api.operations.page_texts import ORIGINAL
from aragog.client.store_client import Client, documented

P = ParamSpec("P")
R = TypeVar("R")


def _async_method(
    operation: Operation[P, R],
) -> Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, R]]:
    async def method(self: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await self.call(operation, *args, **kwargs)

    return documented(method, operation)


class AsyncClient:
    """
    `Client` for asyncio. Calls run in threads and share the connections.

    Args:
        client: executes the calls.
        pool_size: how many calls may run at the same time. Further calls wait.
    """

    def __init__(self, client: Client, *, pool_size: int) -> None:
        self.client = client
        self.threads = ThreadPoolExecutor(pool_size, thread_name_prefix="aragog-client")

    get = _async_method(reading.get)
    get_many = _async_method(reading.get_many)
    outlinks = _async_method(reading.outlinks)
    inlinks = _async_method(reading.inlinks)
    count_inlinks = _async_method(reading.count_inlinks)
    aliases = _async_method(reading.aliases)
    history = _async_method(reading.history)
    field_sizes = _async_method(field_sizes.field_sizes)
    same_content = _async_method(same_content.same_content)
    items = _async_method(item_reads.items)
    item_history = _async_method(item_reads.item_history)
    content_part = _async_method(reading.content_part)
    watchers = _async_method(reading.watchers)
    changes = _async_method(change_feed.changes)
    put = _async_method(writing.put)
    delete_fields = _async_method(writing.delete_fields)
    remove = _async_method(writing.remove)
    add_links = _async_method(writing.add_links)
    remove_links = _async_method(writing.remove_links)
    watch = _async_method(writing.watch)
    unwatch = _async_method(writing.unwatch)
    enqueue = _async_method(crawling.enqueue)
    batch_progress = _async_method(crawling.batch_progress)
    fetch = _async_method(crawling.fetch)
    get_fresh = _async_method(crawling.get_fresh)
    explain = _async_method(crawling.explain)
    start_crawl = _async_method(crawl_start.start_crawl)
    list_crawls = _async_method(crawls.list_crawls)
    get_crawl = _async_method(crawls.get_crawl)
    crawl_report = _async_method(crawls.crawl_report)
    set_crawl_state = _async_method(crawls.set_crawl_state)
    try_scope = _async_method(crawls.try_scope)
    delete_crawl = _async_method(crawls.delete_crawl)
    cancel_urls = _async_method(url_cancellation.cancel_urls)
    list_templates = _async_method(link_templates.list_templates)
    decide_template = _async_method(link_templates.decide_template)
    enqueue_jobs = _async_method(job_queues.enqueue_jobs)
    dequeue_jobs = _async_method(job_queues.dequeue_jobs)
    ack_jobs = _async_method(job_queues.ack_jobs)
    nack_jobs = _async_method(job_queues.nack_jobs)
    extend_jobs = _async_method(job_queues.extend_jobs)
    list_queues = _async_method(job_administration.list_queues)
    queue_state = _async_method(job_administration.queue_state)
    list_jobs = _async_method(job_administration.list_jobs)
    retry_jobs = _async_method(job_administration.retry_jobs)
    delete_jobs = _async_method(job_administration.delete_jobs)
    configure_queue = _async_method(job_administration.configure_queue)
    get_node = _async_method(graph_nodes.get_node)
    get_nodes = _async_method(graph_nodes.get_nodes)
    scan_nodes = _async_method(graph_nodes.scan_nodes)
    put_node = _async_method(graph_nodes.put_node)
    remove_node = _async_method(graph_nodes.remove_node)
    lookup = _async_method(graph_nodes.lookup)
    lookup_unique = _async_method(graph_nodes.lookup_unique)
    put_edge = _async_method(graph_edges.put_edge)
    remove_edge = _async_method(graph_edges.remove_edge)
    get_edge = _async_method(graph_edges.get_edge)
    edges = _async_method(graph_edges.edges)
    count_edges = _async_method(graph_edges.count_edges)
    mutate = _async_method(graph_edges.mutate)
    take_edges = _async_method(graph_lists.take_edges)
    trim_edges = _async_method(graph_lists.trim_edges)
    edges_by_prefix = _async_method(graph_lists.edges_by_prefix)
    node_properties = _async_method(graph_lists.node_properties)
    lookup_prefix = _async_method(graph_lists.lookup_prefix)
    take_down = _async_method(administration.take_down)
    lift_takedown = _async_method(administration.lift_takedown)
    takedowns = _async_method(administration.takedowns)
    token_view = _async_method(administration.token_view)

    async def content(
        self,
        url: str,
        *,
        form: str = ORIGINAL,
        purpose: str | None = None,
        at_ms: int | None = None,
    ) -> bytes | None:
        """Return the page's content as fetched, or its main text; see `Client.content`."""
        call = partial(self.client.content, url, form=form, purpose=purpose, at_ms=at_ms)
        return await self._in_thread(call)

    async def call(self, operation: Operation[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Call an operation with its options."""
        return await self._in_thread(partial(self.client.call, operation, *args, **kwargs))

    async def _in_thread(self, call: Callable[[], R]) -> R:
        return await asyncio.get_running_loop().run_in_executor(self.threads, call)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._in_thread(self.client.close)
        self.threads.shutdown(wait=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()
