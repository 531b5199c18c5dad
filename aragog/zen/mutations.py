"""The mutations that `Zen.mutate` writes in one batch. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from aragog.zen.codec import due_key, host_key, journal_key, sender_key
from aragog.zen.node_ids import node_id
from aragog.zen.tables import Put
from urlspelling.domain import host

Mutation = Put
"""One row to put, made by the functions below. Safe to repeat."""


def put_properties(of: bytes, properties: Mapping[bytes, bytes], at_ms: int) -> Mutation:
    """Set properties of the node with the id `of`, as of `at_ms`; newer values stay."""
    return ("n", of, properties, at_ms)


def put_due(of: bytes, due_at_ms: int, cells: Mapping[bytes, bytes], at_ms: int) -> Mutation:
    """Enter a node into the ordered index of due times; `kept` is returned with the entry."""
    return ("d", due_key(of, due_at_ms), cells, at_ms)


def put_host(url: str, cells: Mapping[bytes, bytes], at_ms: int) -> Mutation:
    """Enter the node of a normalized URL into the index of hosts."""
    return ("h", host_key(node_id(url), host(url)), cells, at_ms)


def put_sender(url: str, sender: str, cells: Mapping[bytes, bytes], at_ms: int) -> Mutation:
    """Enter the node of a normalized URL as one with data that the URL `sender` sent."""
    return ("h", sender_key(node_id(url), host(sender), node_id(sender)), cells, at_ms)


def append_log(bucket: int, at_ms: int, nonce: bytes, entry: Mapping[bytes, bytes]) -> Mutation:
    """Append an entry to the log; `nonce` (8 bytes) keeps entries of one millisecond apart."""
    return ("f", journal_key(bucket, at_ms, nonce), entry, at_ms)
