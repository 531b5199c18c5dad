"""
Tries a dictionary on some records before packs are rewritten with it. No I/O.

Recompressing a page and updating its node takes twice the CPU time of storing it, so a rewrite must
save enough bytes. A dictionary saves a fifth to a half for manuals and shops, but little if pages
have little markup in common.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aragog.urlstore.packs.dictionaries import Dictionary
from aragog.urlstore.packs.pointers import PackPointer

TRIED_RECORDS = 16
"""Number of records to try a dictionary on."""
MIN_SAVED = 0.15
"""New packs are rewritten if dictionaries save at least this fraction of their bytes."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A dictionary for one host's records, and what it saves."""

    dictionary: Dictionary
    frames: Mapping[PackPointer, bytes]
    """The records it was tried on, compressed with it."""
    saved_bytes: int
    """An estimate of how many bytes the dictionary saves for all of the records; more than 0."""

    @classmethod
    def of(
        cls,
        dictionary: Dictionary,
        records: Mapping[PackPointer, bytes],
        before: int,
        all_raw: int,
    ) -> Trial | None:
        """
        Try a dictionary. Returns None if it would save nothing.

        Args:
            dictionary: preferably not trained on these records, which it would compress too well.
            records: the records, decompressed.
            before: their size in bytes, compressed without a dictionary.
            all_raw: the decompressed size in bytes of all records that the dictionary is for.
        """
        frames = {pointer: dictionary.compress(raw) for pointer, raw in records.items()}
        saved_of_sample = before - sum(map(len, frames.values()))
        raw_of_sample = sum(map(len, records.values()))
        saved = saved_of_sample * all_raw // raw_of_sample - len(dictionary.frame())
        return cls(dictionary, frames, saved) if saved > 0 else None


def saves_enough(saved_bytes: int, all_bytes: int) -> bool:
    """Return True if saving this many of `all_bytes` bytes justifies rewriting new packs."""
    return saved_bytes >= MIN_SAVED * all_bytes
