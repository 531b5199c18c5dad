"""
A bounded set of hashes that forgets the oldest: two Bloom filters, the younger of which is added
to.
"""

from __future__ import annotations

from collections.abc import Iterable


class SeenSet:
    """
    The set.

    Args:
        size: bytes of each filter, a power of two.
        young, old: what was stored.
        added: how many hashes the younger one has.
    """

    def __init__(self, size: int, young: bytes = b"", old: bytes = b"", added: int = 0) -> None:
        self.size = size
        self.young, self.old = bytearray(young or bytes(size)), bytes(old)
        self.added = added

    def __contains__(self, code: int) -> bool:
        places = self._places(code)
        return self._has(self.young, places) or (bool(self.old) and self._has(self.old, places))

    @staticmethod
    def _has(bits: bytes | bytearray, places: tuple[int, int]) -> bool:
        return all(bits[place >> 3] >> (place & 7) & 1 for place in places)

    def _places(self, code: int) -> tuple[int, int]:
        bits = self.size * 8
        return code % bits, (code * 0x9E3779B1 >> 12) % bits

    def add(self, codes: Iterable[int]) -> None:
        """Add hashes; once a third of the bits could be set, the older filter is dropped."""
        for code in codes:
            if code in self:
                continue
            if self.added >= self.size * 8 // 6:
                self.old, self.young, self.added = bytes(self.young), bytearray(self.size), 0
            for place in self._places(code):
                self.young[place >> 3] |= 1 << (place & 7)
            self.added += 1
