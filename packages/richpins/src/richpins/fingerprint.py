r"""
A text in 64 bits, 16 hex digits: texts that are near the same differ in few of them. Pure.

It is one bit of each bin of the sketch (`text_sketch`), a MinHash with one bit a bin (b-bit minwise
hashing, Li and König, WWW 2010). Of two texts whose word pairs have the Jaccard coefficient J, a
bit differs with probability (1 - J) / 2: with J = 0.95 three of 64 bits or fewer in 92 of 100
pairs, and of unrelated texts never.

The sketch decides whether two pages say near the same; a fingerprint is for finding such pages, and
for comparing them with those of others. Step by step, for a text in any program:

1. Take the first 40,000 characters, in lower case, and of these the first 5,000 words.
2. Replace each of the characters A0, A7, A9, AB, B6, B7, BB, 2013, 2014, 2018, 2019, 201C, 201D,
   2022, 2026 and 2192 by a space, and every ASCII character but letters, digits and `_`. What lies
   between spaces is a word. If a character of the text begins with the byte E0, E1 or E3 to E9 in
   UTF-8, as those of scripts without spaces do, a word that is not ASCII stands for its parts, from
   left to right: one character of U+0E00 to 0EFF, 1000 to 109F, 3040 to 30FF or 3400 to 9FFF, or
   else the longest run of what Python's `\w` matches.
   A text of fewer than 30 words has no fingerprint. Words count in UTF-8 from here on.
3. A pair is two words that follow each other, with a space between. Pairs come first whose first
   word begins with one of `bcdfkmpv13579`, with a letter of two bytes whose second is 80 to 97, or
   with one of three bytes whose third is that; each word is in one of these pairs at most, from
   left to right. If they are fewer than 256, the other pairs fill the bins that they leave empty.
4. The hash of a pair is its CRC-32. Its lowest 6 bits are the number of a bin, and each bin keeps
   the smallest of its hashes h.
5. Bit n, counted from the most significant, is 1 if (h >> 6) % 255 of bin n is even, and 0 if it is
   odd or the bin is empty.
"""

from __future__ import annotations

import re
from base64 import b64decode

BITS = 64
_FORM = re.compile(r"[0-9a-f]{16}")


def fingerprint_of(sketch: str) -> str:
    """The fingerprint of the text of a sketch, 16 hex digits; empty without a sketch."""
    bits = 0
    for kept in b64decode(sketch):
        bits = bits << 1 | kept & 1
    return f"{bits:016x}" if sketch else ""


def distance(one: str, other: str) -> int | None:
    """How many of the 64 bits differ; None if one of the two is no fingerprint."""
    if not _FORM.fullmatch(one) or not _FORM.fullmatch(other):
        return None
    return (int(one, 16) ^ int(other, 16)).bit_count()
