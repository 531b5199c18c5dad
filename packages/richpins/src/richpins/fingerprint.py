r"""
Compute a 64-bit fingerprint of a text (16 hex digits); similar texts differ in few bits.

It takes one bit from each bin of the sketch (`text_sketch`), as one-bit MinHash does (Li and König,
WWW 2010). If the word pairs of two texts have the Jaccard coefficient J, a bit differs with
probability (1 - J) / 2. With J = 0.95, at most three of 64 bits differ in 92 of 100 pairs. No pair
of unrelated texts differed in so few.

Use sketches to decide whether two pages are near duplicates, and fingerprints to find candidates.
To compute the same fingerprint in any program:

1. Take the first 40,000 characters, in lower case, and of these the first 5,000 words.
2. Replace each of the characters A0, A7, A9, AB, B6, B7, BB, 2013, 2014, 2018, 2019, 201C, 201D,
   2022, 2026 and 2192 with a space, and every ASCII character except letters, digits and `_`. Words
   are what is between spaces. If a character of the text begins with the byte E0, E1 or E3 to E9 in
   UTF-8, as in languages written without spaces, each word that is not ASCII is replaced by its
   parts, from left to right: one character of U+0E00 to 0EFF, 1000 to 109F, 3040 to 30FF or 3400 to
   9FFF, or else the longest run that Python's `\w` matches. A text of fewer than 30 words has no
   fingerprint. From here on, words are UTF-8 bytes.
3. A pair is two consecutive words with a space between them. A pair is preferred if its first word
   begins with one of `bcdfkmpv13579`, with a two-byte letter whose second byte is 80 to 97, or with
   a three-byte letter whose third byte is 80 to 97. Each word is in at most one preferred pair,
   from left to right. If there are fewer than 256 preferred pairs, the other pairs fill the bins
   that are still empty.
4. The hash of a pair is its CRC-32. Its lowest 6 bits are the index of its bin, and each bin keeps
   the smallest of its hashes h.
5. Bit n, counted from the most significant, is 1 if (h >> 6) % 255 of bin n is even, and 0 if it is
   odd or the bin is empty.
"""

from __future__ import annotations

import re
from base64 import b64decode

BITS = 64
_FINGERPRINT = re.compile(r"[0-9a-f]{16}")


def fingerprint_of(sketch: str) -> str:
    """Return the fingerprint of a sketch's text (16 hex digits); empty if the sketch is empty."""
    bits = 0
    for value in b64decode(sketch):
        bits = bits << 1 | value & 1
    return f"{bits:016x}" if sketch else ""


def distance(first: str, second: str) -> int | None:
    """Return how many of the 64 bits differ, or None if either is not a fingerprint."""
    if not _FINGERPRINT.fullmatch(first) or not _FINGERPRINT.fullmatch(second):
        return None
    return (int(first, 16) ^ int(second, 16)).bit_count()
