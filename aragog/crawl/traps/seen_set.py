"""
A bounded set of hashes that forgets the oldest ones. It consists of two Bloom filters; new hashes
are added to the younger one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

BITS_OF_EACH = 14
"""Bits per hash in a filter. One in 260 hashes that were never added is reported as present."""


class SeenSet:
    """
    A set of hashes.

    Args:
        size: size of each filter in bytes, a power of two.
        young, old: the stored filters.
        added: number of hashes in the younger filter.
    """

    def __init__(self, size: int, young: bytes = b"", old: bytes = b"", added: int = 0) -> None:
        self.size = size
        self.young, self.old = bytearray(young or bytes(size)), bytes(old)
        self.added = added

    def __contains__(self, code: int) -> bool:
        places = self._places(code)
        return self._has(self.young, places) or (bool(self.old) and self._has(self.old, places))

    @staticmethod
    def _has(bits: bytes | bytearray, places: Sequence[int]) -> bool:
        return all(bits[place >> 3] >> (place & 7) & 1 for place in places)

    def _places(self, code: int) -> Sequence[int]:
        mixed, bits = code * 0x9E3779B97F4A7C15 >> 7, self.size * 8
        return [(mixed >> shift) % bits for shift in (0, 14, 28, 42)]

    def add(self, codes: Iterable[int]) -> None:
        """Add hashes. When the younger filter is full, the older one is dropped."""
        for code in codes:
            if code in self:
                continue
            if self.added >= self.size * 8 // BITS_OF_EACH:
                self.old, self.young, self.added = bytes(self.young), bytearray(self.size), 0
            for place in self._places(code):
                self.young[place >> 3] |= 1 << (place & 7)
            self.added += 1
