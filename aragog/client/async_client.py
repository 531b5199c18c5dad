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


def _awaits(
    operation: Operation[P, R],
) -> Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, R]]:
    """
    Return a coroutine function that runs this client call in a thread, with the
    same arguments.
    """

    async def method(self: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await self.call(operation, *args, **kwargs)

    return documented(method, operation)


class AsyncClient:
    """
    `Client` for asyncio: calls run in threads, up to `pool_size` concurrently, and share the
    connections.

    Args:
        client: executes the calls.
        pool_size: how many calls run at the same time; further calls wait.
    """

    def __init__(self, client: Client, *, pool_size: int) -> None:
        self.client = client
        self.threads = ThreadPoolExecutor(pool_size, thread_name_prefix="aragog-client")

    get = _awaits(reading.get)
    get_many = _awaits(reading.get_many)
    outlinks = _awaits(reading.outlinks)
    inlinks = _awaits(reading.inlinks)
    count_inlinks = _awaits(reading.count_inlinks)
    aliases = _awaits(reading.aliases)
    history = _awaits(reading.history)
    field_sizes = _awaits(field_sizes.field_sizes)
    same_content = _awaits(same_content.same_content)
    items = _awaits(item_reads.items)
    item_history = _awaits(item_reads.item_history)
    content_part = _awaits(reading.content_part)
    watchers = _awaits(reading.watchers)
    changes = _awaits(change_feed.changes)
    put = _awaits(writing.put)
    delete_fields = _awaits(writing.delete_fields)
    remove = _awaits(writing.remove)
    add_links = _awaits(writing.add_links)
    remove_links = _awaits(writing.remove_links)
    watch = _awaits(writing.watch)
    unwatch = _awaits(writing.unwatch)
    enqueue = _awaits(crawling.enqueue)
    batch_progress = _awaits(crawling.batch_progress)
    fetch = _awaits(crawling.fetch)
    get_fresh = _awaits(crawling.get_fresh)
    explain = _awaits(crawling.explain)
    start_crawl = _awaits(crawl_start.start_crawl)
    list_crawls = _awaits(crawls.list_crawls)
    get_crawl = _awaits(crawls.get_crawl)
    crawl_report = _awaits(crawls.crawl_report)
    set_crawl_state = _awaits(crawls.set_crawl_state)
    try_scope = _awaits(crawls.try_scope)
    delete_crawl = _awaits(crawls.delete_crawl)
    cancel_urls = _awaits(url_cancellation.cancel_urls)
    list_templates = _awaits(link_templates.list_templates)
    decide_template = _awaits(link_templates.decide_template)
    enqueue_jobs = _awaits(job_queues.enqueue_jobs)
    dequeue_jobs = _awaits(job_queues.dequeue_jobs)
    ack_jobs = _awaits(job_queues.ack_jobs)
    nack_jobs = _awaits(job_queues.nack_jobs)
    extend_jobs = _awaits(job_queues.extend_jobs)
    list_queues = _awaits(job_administration.list_queues)
    queue_state = _awaits(job_administration.queue_state)
    list_jobs = _awaits(job_administration.list_jobs)
    retry_jobs = _awaits(job_administration.retry_jobs)
    delete_jobs = _awaits(job_administration.delete_jobs)
    configure_queue = _awaits(job_administration.configure_queue)
    get_node = _awaits(graph_nodes.get_node)
    get_nodes = _awaits(graph_nodes.get_nodes)
    scan_nodes = _awaits(graph_nodes.scan_nodes)
    put_node = _awaits(graph_nodes.put_node)
    remove_node = _awaits(graph_nodes.remove_node)
    lookup = _awaits(graph_nodes.lookup)
    lookup_unique = _awaits(graph_nodes.lookup_unique)
    put_edge = _awaits(graph_edges.put_edge)
    remove_edge = _awaits(graph_edges.remove_edge)
    get_edge = _awaits(graph_edges.get_edge)
    edges = _awaits(graph_edges.edges)
    count_edges = _awaits(graph_edges.count_edges)
    mutate = _awaits(graph_edges.mutate)
    take_edges = _awaits(graph_lists.take_edges)
    trim_edges = _awaits(graph_lists.trim_edges)
    edges_by_prefix = _awaits(graph_lists.edges_by_prefix)
    node_properties = _awaits(graph_lists.node_properties)
    lookup_prefix = _awaits(graph_lists.lookup_prefix)
    take_down = _awaits(administration.take_down)
    lift_takedown = _awaits(administration.lift_takedown)
    takedowns = _awaits(administration.takedowns)
    token_view = _awaits(administration.token_view)

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
