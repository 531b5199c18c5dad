"""
Compute an 88-character sketch of a text, for near-duplicate detection.

The similarity of two texts is the Dice coefficient of their word pairs. It can be estimated from
their sketches. The pairs are hashed into 64 bins, and one byte of each bin's smallest hash is kept
(one permutation hashing, Li, Owen and Zhang, NIPS 2012; b-bit minwise hashing, Li and König, WWW
2010). The standard error is 0.04 at a coefficient of 0.9.

Pairs whose first word begins with certain letters take precedence in their bins. Texts of more than
about 900 words contain enough such pairs; their other pairs are not hashed, which saves most of the
time.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Iterable
from itertools import pairwise
from zlib import crc32

MIN_SIMILARITY = 0.9
"""Texts with at least this Dice coefficient are near duplicates. docs/urls.md has figures."""
MIN_WORDS = 30
"""
Shorter texts have no sketch: the pages of a site whose text is filled in by scripts all contain the
same few words.
"""
MAX_WORDS, MAX_CHARS = 5_000, 40_000
"""
Later text is ignored. With a limit of 1,000 words, menus made twice as many different pages look
like near duplicates.
"""
_BIN_COUNT = 64
_EMPTY_BIN = 0
_NO_HASH = 1 << 32
_MIN_PREFERRED_PAIRS = 256
"""With this many preferred pairs, one bin in fifty stays empty."""
_PREFERRED_PAIR = re.compile(
    rb" ((?:[bcdfkmpv13579]|[\xc2-\xdf][\x80-\x97]|[\xe0-\xef][^ ][\x80-\x97])[^ ]* [^ ]+)"
)
"""Matches a third of all pairs, chosen by the first letter of a pair's first word."""
# In scripts without spaces between words, each letter counts as a word.
_LETTER_OR_WORD = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u3040-\u30ff\u3400-\u9fff]|\w+")
_UNSPACED_LEAD_BYTES = b"\xe0\xe1\xe3\xe4\xe5\xe6\xe7\xe8\xe9"
"""The first UTF-8 bytes of letters in scripts without spaces (and in some others)."""
_OTHER_BYTES = bytes(byte for byte in range(256) if byte not in _UNSPACED_LEAD_BYTES)
_PUNCTUATION = "’‘“”–—…•·«»©¶§→\u00a0"
_PUNCTUATION_TO_SPACE = bytes(
    byte if byte >= 0x80 or chr(byte).isalnum() or byte == ord("_") else ord(" ")
    for byte in range(256)
)


def sketch_of(text: str) -> str:
    """Return the sketch of a text; empty if the text has fewer than `MIN_WORDS` words."""
    words = _split_words(text[:MAX_CHARS].lower())[:MAX_WORDS]
    if len(words) < MIN_WORDS:
        return ""
    pairs = _PREFERRED_PAIR.findall(b" " + b" ".join(words))
    min_hashes = _find_min_hashes(pairs)
    if len(pairs) < _MIN_PREFERRED_PAIRS:
        all_hashes = _find_min_hashes(map(b" ".join, pairwise(words)))
        min_hashes = [
            any_hash if preferred == _NO_HASH else preferred
            for preferred, any_hash in zip(min_hashes, all_hashes, strict=True)
        ]
    bin_bytes = bytes(
        _EMPTY_BIN if hash_value == _NO_HASH else (hash_value >> 6) % 255 + 1
        for hash_value in min_hashes
    )
    return b64encode(bin_bytes).decode()


def _find_min_hashes(pairs: Iterable[bytes]) -> list[int]:
    """Return the smallest hash in each bin. A hash's lowest bits are the index of its bin."""
    hashes = [_NO_HASH] * _BIN_COUNT
    for hash_value in map(crc32, pairs):
        if hash_value < hashes[hash_value & 63]:  # noqa: PLR1730 - min() takes twice as long
            hashes[hash_value & 63] = hash_value
    return hashes


def _split_words(text: str) -> list[bytes]:
    """Return a text's words as UTF-8. For speed, rare non-ASCII punctuation counts as letters."""
    if not text.isascii():
        for mark in _PUNCTUATION:
            text = text.replace(mark, " ")
    encoded = text.encode("utf-8", "replace").translate(_PUNCTUATION_TO_SPACE)
    words = encoded.split()
    if encoded.isascii() or not encoded.translate(None, _OTHER_BYTES):
        return words
    return [
        part for word in words for part in ((word,) if word.isascii() else _split_letters(word))
    ]


def _split_letters(word: bytes) -> list[bytes]:
    return [part.encode() for part in _LETTER_OR_WORD.findall(word.decode())]


def similarity(first: str, second: str) -> float:
    """Estimate two texts' Dice coefficient (0 to 1) from their sketches; 0 if either is empty."""
    bins = zip(b64decode(first), b64decode(second), strict=False) if first and second else ()
    filled_bins = [pair for pair in bins if pair != (_EMPTY_BIN, _EMPTY_BIN)]
    if not filled_bins:
        return 0.0
    equal_count = sum(a == b for a, b in filled_bins)
    # Different hashes have the same byte in one bin out of 255.
    jaccard = max(0.0, (equal_count / len(filled_bins) - 1 / 255) / (1 - 1 / 255))
    return 2 * jaccard / (1 + jaccard)


def are_near_same(first: str, second: str) -> bool:
    """Return True if two sketches belong to near duplicates; False if either is empty."""
    return similarity(first, second) >= MIN_SIMILARITY
