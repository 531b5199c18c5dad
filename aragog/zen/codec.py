"""
The row keys of every table. Pure.

An id is 16 bytes, uniformly distributed (`urlspelling.url_key`). Integers are big-endian, so
that keys sort like numbers. Keys of tables that would otherwise grow only at their end (due,
journal, hosts) begin with a bucket: the low four bits of a hash, so that writes spread over regions
and files; a node's due and host rows share the file of its node, because the low bits of the first
byte select the file.
"""

from __future__ import annotations

import hashlib

from urlspelling.domain import reversed_host

ID_BYTES = 16
BUCKETS = 16
"""The buckets of the tables `d`, `h` and `j`. They are part of the stored form and never change."""

OUT, IN = b"o", b"i"

SENDERS = b"\xff"
"""The byte after the bucket where the index of hosts has pages by the host that sent them."""

# A score is signed; shifted so that bytes sort like numbers.
_SCORE_SHIFT = 1 << 63


def bucket_of(node_id: bytes) -> int:
    """The bucket of a node's due and host rows."""
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
        key[27:],
    )


def score_range(
    prefix: bytes, least: int | None = None, most: int | None = None
) -> tuple[bytes, bytes]:
    """(start, stop) of the edges of a node whose scores are in a range; None: without a bound."""
    start = prefix if least is None else prefix + score_bytes(least)
    stop = after(prefix if most is None else prefix + score_bytes(most))
    # The byte after a node's id is a letter, so there is a key after the prefix.
    return start, stop or b""


def due_key(node_id: bytes, due_at_ms: int) -> bytes:
    """Bucket, instant, id: 25 bytes; a bucket's rows sort by instant."""
    return bytes([bucket_of(node_id)]) + due_at_ms.to_bytes(8) + node_id


def read_due_key(key: bytes) -> tuple[int, bytes]:
    """(due_at_ms, node id) of a due row's key."""
    return int.from_bytes(key[1:9]), key[9:]


def host_key(node_id: bytes, host: str) -> bytes:
    """Bucket, host with its labels reversed, zero, id: a site's URLs are a range a bucket."""
    return bytes([bucket_of(node_id)]) + reversed_host(host).encode() + b"\0" + node_id


def sender_prefix(bucket: int, host: str) -> bytes:
    """Where a bucket keeps the pages that a host sent; no reversed host begins with 0xff."""
    return bytes([bucket]) + SENDERS + reversed_host(host).encode()


def sender_key(node_id: bytes, host: str, sender_id: bytes) -> bytes:
    """Sender's host with its labels reversed, zero, sender's id, page's id."""
    return sender_prefix(bucket_of(node_id), host) + b"\0" + sender_id + node_id


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


def after(prefix: bytes) -> bytes | None:
    """The smallest key after all keys that begin with `prefix`; None if there is none."""
    trimmed = prefix.rstrip(b"\xff")
    return trimmed[:-1] + bytes([trimmed[-1] + 1]) if trimmed else None
