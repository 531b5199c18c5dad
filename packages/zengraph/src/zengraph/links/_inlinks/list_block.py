"""
List blocks: several posting lists in one value.

    4 bytes   number of lists
    4 bytes   number of lines of all lists
    12 bytes  of each list's id, without the hash of its group
    rest      the lists in that order, separated by a byte ff; compressed if over 800 bytes

Lists are UTF-8, which never contains a byte ff. Their lines are in any order. A list can be found
without parsing the others, and blocks are joined without parsing lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from zengraph.links import _zstd as zstd
from zengraph.links._outlinks import compress_links, decompress_links

LOCAL_BYTES = 12
"""The length of a list id without its group's hash, which all lists of a block share."""
_COMPRESSED_PAST_BYTES = 800
_HEAD_BYTES = 8
_BETWEEN = b"\xff"

Lists = Mapping[bytes, bytes]
"""Joined lines by list id, or by the last 12 bytes of the id."""


def pack(lists: Lists) -> bytes:
    """Encode a block, which is empty if there are no lists."""
    if not lists:
        return b""
    text = _BETWEEN.join(lists.values())
    lines = text.count(b"\n") + len(lists)
    if len(text) > _COMPRESSED_PAST_BYTES:
        text = compress_links(text)
    return b"".join([len(lists).to_bytes(4), lines.to_bytes(4), *lists, text])


def lines_in(blocks: Iterable[bytes]) -> int:
    """Return the number of lines of all lists in these blocks."""
    return sum([int.from_bytes(block[4:8]) for block in blocks])


def ids(block: bytes) -> bytes:
    """Return the last 12 bytes of all list ids in a block, joined."""
    return block[_HEAD_BYTES : _HEAD_BYTES + LOCAL_BYTES * int.from_bytes(block[:4])]


def find(block: bytes, local_id: bytes) -> bytes:
    """Return the joined lines of the list with that id; empty if the block does not have it."""
    stop = _HEAD_BYTES + LOCAL_BYTES * int.from_bytes(block[:4])
    at = block.find(local_id, _HEAD_BYTES, stop) - _HEAD_BYTES
    while at > 0 and at % LOCAL_BYTES:
        at = block.find(local_id, at + _HEAD_BYTES + 1, stop) - _HEAD_BYTES
    if at < 0:
        return b""
    number = at // LOCAL_BYTES
    return _text(block[stop:]).split(_BETWEEN, number + 1)[number]


def joined(blocks: Iterable[bytes]) -> dict[bytes, bytes]:
    """
    Return the lists of several blocks.

    A list's lines are in the order of the blocks.
    """
    result: dict[bytes, bytes] = {}
    more: dict[bytes, list[bytes]] = {}
    for block in filter(None, blocks):
        stop = _HEAD_BYTES + LOCAL_BYTES * int.from_bytes(block[:4])
        ids = [block[at : at + LOCAL_BYTES] for at in range(_HEAD_BYTES, stop, LOCAL_BYTES)]
        texts = _text(block[stop:]).split(_BETWEEN)
        for local_id, text in zip(ids, texts, strict=True):
            if local_id not in result:
                result[local_id] = text
            elif local_id in more:
                more[local_id].append(text)
            else:
                more[local_id] = [result[local_id], text]
    result |= {local_id: b"\n".join(texts) for local_id, texts in more.items()}
    return result


def _text(data: bytes) -> bytes:
    return decompress_links(data) if data.startswith(zstd.MAGIC) else data
