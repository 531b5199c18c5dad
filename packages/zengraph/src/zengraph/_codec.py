"""
The row keys of every table.

An id is 16 uniformly distributed bytes. Integers are big-endian, so that keys sort like numbers.
The keys of ordered indexes, the journal and the log begin with a bucket, the low four bits of a
hash, which spreads writes across regions and files. Otherwise, all writes would go to the end of
the table. A node's rows in ordered indexes are in the same file as the node, because the low bits
of the first byte select the file.
"""

from __future__ import annotations

import hashlib

ID_BYTES = 16
BUCKETS = 16
"""
The number of buckets in the tables `d`, `f`, `h`, `i` and `j`. Stored keys depend on it, so it must
never change.
"""

OUT, IN = b"o", b"i"

NO_LABEL = b"\xff"
"""The prefix of an ordering key without a label. This byte never occurs in UTF-8."""

# Added to a signed score, so that its bytes sort like numbers.
_SCORE_SHIFT = 1 << 63
_ORDER_END = b"\0\0"
_PLAIN_KEY_BYTES = 43


def bucket_of(node_id: bytes) -> int:
    return node_id[0] % BUCKETS


def edge_prefix(node_id: bytes, direction: bytes, edge_type: int | None = None) -> bytes:
    """Return the common key prefix (17 or 19 bytes) of a node's edges in a direction."""
    return node_id + direction + (b"" if edge_type is None else edge_type.to_bytes(2))


def edge_key(
    node_id: bytes, direction: bytes, edge_type: int, score: int, other_id: bytes
) -> bytes:
    """Return an edge's 43-byte key. A node's edges of a type sort by score, then by other node."""
    return edge_prefix(node_id, direction, edge_type) + score_bytes(score) + other_id


def score_bytes(score: int) -> bytes:
    """Return 8 bytes that sort like signed 64-bit scores."""
    return (score + _SCORE_SHIFT).to_bytes(8)


def read_edge_key(key: bytes) -> tuple[bytes, bytes, int, int, bytes]:
    """Split an edge's key into (node id, direction, edge type, score, other id)."""
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
    """
    Return the key of an ordered edge, 45 bytes plus `order`. These keys sort by score, order and
    other node.
    """
    prefix = edge_prefix(node_id, direction, edge_type) + score_bytes(score)
    return prefix + order_bytes(order) + _ORDER_END + other_id


def read_order(key: bytes) -> bytes | None:
    """Return the order in an edge's key, which may be empty. None if the edge has no order."""
    if len(key) == _PLAIN_KEY_BYTES:
        return None
    return key[27 : -ID_BYTES - len(_ORDER_END)].replace(b"\0\xff", b"\0")


def order_bytes(order: bytes) -> bytes:
    """
    Encode an order without a terminator, so that the encoding of a prefix of the order is a prefix
    of the order's encoding.

    A zero byte becomes 00 ff, and the terminator is 00 00, so an order sorts before longer orders
    that begin with it.
    """
    return order.replace(b"\0", b"\0\xff")


def score_range(
    prefix: bytes, least: int | None = None, most: int | None = None
) -> tuple[bytes, bytes]:
    """Return the keys (start, stop) of a node's edges in a score range; None means unbounded."""
    start = prefix if least is None else prefix + score_bytes(least)
    stop = after(prefix if most is None else prefix + score_bytes(most))
    # `after` cannot return None here: the prefix ends with a letter or a type, so not all bytes are
    # ff.
    return start, stop or b""


def number_key(node_id: bytes, number: int) -> bytes:
    """Return bucket, number and id (25 bytes). The rows of a bucket sort by number."""
    return bytes([bucket_of(node_id)]) + number.to_bytes(8) + node_id


def read_number_key(key: bytes) -> tuple[int, bytes]:
    """Split a row's key into (number, node id)."""
    return int.from_bytes(key[1:9]), key[9:]


def ordering_key(node_id: bytes, order: bytes) -> bytes:
    """
    Return bucket, ordering key and id.

    Nodes whose keys share a prefix form one range per bucket.
    """
    return bytes([bucket_of(node_id)]) + order + node_id


def journal_key(bucket: int, at_ms: int, nonce: bytes) -> bytes:
    """Return bucket, time and 8 random bytes (17 bytes). The rows of a bucket sort by time."""
    return bytes([bucket]) + at_ms.to_bytes(8) + nonce


def unique_key(name: str, value: bytes) -> bytes:
    """Return the key for a unique value: property name, zero byte, SHA-256 of the value."""
    return name.encode() + b"\0" + hashlib.sha256(value).digest()


def index_prefix(bucket: int, name: str, value: bytes) -> bytes:
    """
    Return the prefix of a value's index rows in one bucket.

    It includes the value's length, so longer values with the same beginning don't match.
    """
    return bytes([bucket]) + name.encode() + b"\0" + len(value).to_bytes(4) + value


def index_key(node_id: bytes, name: str, value: bytes) -> bytes:
    """
    Return the key of a node's index row for a value.

    The bucket comes from the node, so if many nodes share a value, its rows are spread over all
    buckets.
    """
    return index_prefix(bucket_of(node_id), name, value) + node_id


def sorted_prefix(bucket: int, name: str, beginning: bytes) -> bytes:
    """
    Return the key prefix, in one bucket, of a sorted property's rows whose values start with
    `beginning`.
    """
    return bytes([bucket]) + name.encode() + b"\1" + order_bytes(beginning)


def sorted_key(node_id: bytes, name: str, beginning: bytes) -> bytes:
    """
    Return the key of a sorted property's row. The rows of a bucket sort by the start of
    the value.
    """
    return sorted_prefix(bucket_of(node_id), name, beginning) + _ORDER_END + node_id


def after(prefix: bytes) -> bytes | None:
    """Return the smallest key after all keys that begin with `prefix`, or None if there is none."""
    trimmed = prefix.rstrip(b"\xff")
    return trimmed[:-1] + bytes([trimmed[-1] + 1]) if trimmed else None
