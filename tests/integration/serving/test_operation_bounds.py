"""Every limit in the table of operations is enforced by all interfaces."""

import pytest

from aragog.api.operations.graph_edges import GraphMutation
from aragog.api.operations.jobs import JobClaim, QueueJob
from aragog.api.operations.options import option_fields
from aragog.api.operations.table import OPERATIONS
from aragog.api.operations.values import PageLink
from aragog.errors import (
    BAD_INPUT,
    InvalidUrl,
)
from tests.support.every_way import A, changed, graphs, store, ways

pytestmark = pytest.mark.redis
__all__ = ["changed", "graphs", "store", "ways"]  # fixtures
VALID = {
    "url": A, "urls": [A], "field": "product.price", "fields": {"a": b"1"}, "names": ["a"], "owner": "me",
    "links": [PageLink("http://b.example/")], "targets": ["http://b.example/"], "batch": "batch-0000",
    "node": "c" * 32, "other": "d" * 32, "type": 16, "properties": {"a": b"1"}, "name": "team.n", "value": b"7",
    "state": "paused", "nodes": ["c" * 32], "graph": "pins", "mutations": [GraphMutation("put_node", "c" * 32)], "count": 1, "keep": 1, "prefix": b"a", "queue": "q", "kind": "cards", "host": "a.example", "template": "/x/{n}", "key": "1", "jobs": [QueueJob(b"1")], "claims": [JobClaim("0-1-q", 1)],
}  # fmt: skip
"""A value for each required option."""


def too_many(field, count):
    if field.name in ("links", "jobs", "claims", "mutations"):
        return VALID[field.name] * count
    if "Mapping" not in str(field.kind):
        return [f"http://b.example/{n}" for n in range(count)]
    value = {"fields": b"1", "provenance": "x", "properties": b"1"}.get(field.name, 1.0)
    return {f"f{n}": value for n in range(count)}


def violations(operation):
    """Requests that break one limit each, according to the table."""
    for field in option_fields(operation.request):
        option = field.option
        bad = []
        if option.minimum is not None and field.kind in (int, float):
            bad.append(option.minimum - 1)
        if option.maximum is not None and not option.capped and field.kind in (int, float):
            bad.append(option.maximum + 1)
        if option.pattern is not None:
            bad.append("a b\u00e9")
        if option.max_items is not None and field.name != operation.split_option:
            bad.append(too_many(field, option.max_items + 1))
        if option.max_bytes is not None and "Sequence" in str(field.kind):
            bad.append(["x" * (option.max_bytes + 1)])
        for value in bad:
            if isinstance(value, int | float) and not -(2**63) <= value < 2**63:
                continue  # not a number in Thrift
            required = {
                f.name: VALID[f.name] for f in option_fields(operation.request) if f.required
            }
            yield {**required, field.name: value}


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_limit_is_enforced_by_all_interfaces(ways, name):
    accepted = [
        (way, kwargs)
        for kwargs in violations(OPERATIONS[name])
        for way, client in ways.items()
        if not refused(client, name, kwargs)
    ]
    assert accepted == []


def refused(client, name, kwargs):
    try:
        getattr(client, name)(**kwargs)
    except BAD_INPUT:
        return True
    return False


@pytest.mark.parametrize(
    "name", [n for n, o in OPERATIONS.items() if any(f.name == "url" for f in o.fields)]
)
def test_invalid_url_is_refused_before_it_is_sent(ways, name):
    operation = OPERATIONS[name]
    required = {f.name: VALID[f.name] for f in operation.fields if f.required}
    for client in ways.values():
        with pytest.raises(InvalidUrl):
            getattr(client, name)(**{**required, "url": "nonsense"})
