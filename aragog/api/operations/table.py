"""
The table of operations. Other programs can call them, and servers, documents and clients are
derived from this table. To add an option, add a field to the operation's request and to the Thrift
contract.
"""

from __future__ import annotations

from typing import Any

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
from aragog.api.operations.operation import HttpRoute, Operation

_MODULES = (
    reading,
    change_feed,
    field_sizes,
    same_content,
    item_reads,
    writing,
    crawling,
    crawl_start,
    crawls,
    url_cancellation,
    link_templates,
    job_queues,
    job_administration,
    graph_nodes,
    graph_edges,
    graph_lists,
    administration,
)

OPERATIONS: dict[str, Operation[Any, Any]] = {
    value.name: value
    for module in _MODULES
    for value in vars(module).values()
    if isinstance(value, Operation)
}
"""All operations by name, in the order in which documents list them."""

Choice = tuple[Operation[Any, Any], HttpRoute]
"""One of the operations that share an HTTP path and method."""


def operations_by_route() -> dict[tuple[str, str], list[Choice]]:
    """Return the operations of each HTTP path and method."""
    by_route: dict[tuple[str, str], list[Choice]] = {}
    for operation in OPERATIONS.values():
        for route in operation.routes:
            by_route.setdefault((route.path, route.method), []).append((operation, route))
    return by_route
