"""The mutations that `MultiGraph.mutate` writes in one batch."""

from __future__ import annotations

from collections.abc import Mapping

from zengraph._codec import journal_key, number_key, ordering_key
from zengraph.tables import Put

Mutation = Put
"""One row to put. Writing it again is safe."""


def put_properties(of: bytes, properties: Mapping[bytes, bytes], at_ms: int) -> Mutation:
    """Set properties of the node with the id `of`, as of `at_ms`. Newer values are kept."""
    return ("n", of, properties, at_ms)


def put_number(of: bytes, number: int, cells: Mapping[bytes, bytes], at_ms: int) -> Mutation:
    """Add a node to `MultiGraph.by_number`. `cells` (`i:…`) are returned with the entry."""
    return ("d", number_key(of, number), cells, at_ms)


def put_order(of: bytes, order: bytes, cells: Mapping[bytes, bytes], at_ms: int) -> Mutation:
    """Add a node to `MultiGraph.by_order`. `cells` (`i:…`) are returned with the entry."""
    return ("h", ordering_key(of, order), cells, at_ms)


def put_record(name: bytes, cells: Mapping[bytes, bytes], at_ms: int) -> Mutation:
    """Put cells (`i:…`) of a record in `MultiGraph.registry`."""
    return ("u", name, cells, at_ms)


def append_log(bucket: int, at_ms: int, nonce: bytes, entry: Mapping[bytes, bytes]) -> Mutation:
    """
    Append an entry to the log. `nonce` (8 bytes) distinguishes entries of the same
    millisecond.
    """
    return ("f", journal_key(bucket, at_ms, nonce), entry, at_ms)
