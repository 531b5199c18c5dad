"""
The row keys of every table. Pure.

An id is 16 bytes, uniformly distributed. Integers are big-endian, so that keys sort like numbers.
Keys of tables that would otherwise grow only at their end (ordered indexes, journal, log) begin
with a bucket: the low four bits of a hash, so that writes spread over regions and files; a node's
rows in ordered indexes share the file of its node, because the low bits of the first byte select
the file.
"""

from __future__ import annotations

import hashlib

ID_BYTES = 16
BUCKETS = 16
"""The buckets of the tables `d`, `h` and `j`. They are part of the stored form and never change."""

OUT, IN = b"o", b"i"

NO_LABEL = b"\xff"
"""What an ordering key begins with that has no label: UTF-8 has no such byte."""

# A score is signed; shifted so that bytes sort like numbers.
_SCORE_SHIFT = 1 << 63
_ORDER_END = b"\0\0"
_PLAIN_KEY_BYTES = 43


def bucket_of(node_id: bytes) -> int:
    """The bucket of a node's rows in ordered indexes."""
    return node_id[0] % BUCKETS


def edge_prefix(node_id: bytes, direction: bytes, edge_type: int | None = None) -> bytes:
    """The prefix of the keys of all such edges of a node; 17 or 19 bytes."""
    return node_id + direction + (b"" if edge_type is None else edge_type.to_bytes(2))


def edge_key(
    node_id: bytes, direction: bytes, edge_type: int, score: int, other_id: bytes
) -> bytes:
    """43 bytes; edges of one (node, direction, type) sort by score, then by the other node."""
    return edge_prefix(node_id, direction, edge_type) + score_bytes(score) + other_id


def score_bytes(score: int) -> bytes:
    """8 bytes that sort as the signed 64-bit scores do."""
    return (score + _SCORE_SHIFT).to_bytes(8)


def read_edge_key(key: bytes) -> tuple[bytes, bytes, int, int, bytes]:
    """(node id, direction, edge type, score, other id) of an edge's key."""
    return (
        key[:16],
        key[16:17],
        int.from_bytes(key[17:19]),
        int.from_bytes(key[19:27]) - _SCORE_SHIFT,
        key[-ID_BYTES:],
    )


def ordered_edge_key(
    node_id: bytes, direction: bytes, edge_type: int, score: int, order: bytes, other_id: bytes
) -> bytes:
    """45 bytes and `order`; such edges sort by score, then by `order`, then by the other node."""
    prefix = edge_prefix(node_id, direction, edge_type) + score_bytes(score)
    return prefix + order_bytes(order) + _ORDER_END + other_id


def read_order(key: bytes) -> bytes | None:
    """The order in the key of an edge; None: the edge has none, which is not an empty one."""
    if len(key) == _PLAIN_KEY_BYTES:
        return None
    return key[27 : -ID_BYTES - len(_ORDER_END)].replace(b"\0\xff", b"\0")


def order_bytes(order: bytes) -> bytes:
    """
    The bytes of an order in a key, without its end: they begin with those of its beginnings.

    A zero in it becomes 00 ff, and its end is 00 00, so that it sorts before all that continue it.
    """
    return order.replace(b"\0", b"\0\xff")


def score_range(
    prefix: bytes, least: int | None = None, most: int | None = None
) -> tuple[bytes, bytes]:
    """(start, stop) of the edges of a node whose scores are in a range; None: without a bound."""
    start = prefix if least is None else prefix + score_bytes(least)
    stop = after(prefix if most is None else prefix + score_bytes(most))
    # The byte after a node's id is a letter, so there is a key after the prefix.
    return start, stop or b""


def number_key(node_id: bytes, number: int) -> bytes:
    """Bucket, number, id: 25 bytes; a bucket's rows sort by number."""
    return bytes([bucket_of(node_id)]) + number.to_bytes(8) + node_id


def read_number_key(key: bytes) -> tuple[int, bytes]:
    """(number, node id) of a row's key."""
    return int.from_bytes(key[1:9]), key[9:]


def ordering_key(node_id: bytes, order: bytes) -> bytes:
    """Bucket, the caller's ordering key, id: nodes of one prefix are a range a bucket."""
    return bytes([bucket_of(node_id)]) + order + node_id


def journal_key(bucket: int, at_ms: int, nonce: bytes) -> bytes:
    """Bucket, time, 8 random bytes: 17 bytes; a bucket's rows sort by time."""
    return bytes([bucket]) + at_ms.to_bytes(8) + nonce


def unique_key(name: str, value: bytes) -> bytes:
    """Property name, zero, SHA-256 of the value: one row a value."""
    return name.encode() + b"\0" + hashlib.sha256(value).digest()


def index_prefix(bucket: int, name: str, value: bytes) -> bytes:
    """The prefix of a value's index rows in one bucket; its length keeps values apart."""
    return bytes([bucket]) + name.encode() + b"\0" + len(value).to_bytes(4) + value


def index_key(node_id: bytes, name: str, value: bytes) -> bytes:
    """Salted by the node, so that a value which many nodes have splits."""
    return index_prefix(bucket_of(node_id), name, value) + node_id


def sorted_prefix(bucket: int, name: str, beginning: bytes) -> bytes:
    """The prefix of the rows, in one bucket, of values of a sorted property with a beginning."""
    return bytes([bucket]) + name.encode() + b"\1" + order_bytes(beginning)


def sorted_key(node_id: bytes, name: str, beginning: bytes) -> bytes:
    """A row of a sorted property: the rows of a bucket sort by the beginnings of values."""
    return sorted_prefix(bucket_of(node_id), name, beginning) + _ORDER_END + node_id


def after(prefix: bytes) -> bytes | None:
    """The smallest key after all keys that begin with `prefix`, or None."""
    trimmed = prefix.rstrip(b"\xff")
    return trimmed[:-1] + bytes([trimmed[-1] + 1]) if trimmed else None
