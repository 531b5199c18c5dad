"""
Try a dictionary on some records before packs are rewritten with it. No I/O.

Compressing a page again and pointing its node to the new record takes twice the CPU time of storing
it, so it must save enough bytes. How much a dictionary saves depends on the site: a fifth to a half
for manuals and shops, but little if pages have little markup in common.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aragog.urlstore.packs.dictionaries import Dictionary
from aragog.urlstore.packs.pointers import PackPointer

TRIED_RECORDS = 16
"""Number of records that a dictionary is tried on."""
MIN_SAVED = 0.15
"""Newly written packs are rewritten if dictionaries save at least this fraction of their bytes."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A dictionary for one host's records, and what it saves."""

    dictionary: Dictionary
    frames: Mapping[PackPointer, bytes]
    """The records that it was tried on, compressed with the dictionary."""
    saved_bytes: int
    """About how many bytes the dictionary saves for all of the records; more than 0."""

    @classmethod
    def of(
        cls,
        dictionary: Dictionary,
        records: Mapping[PackPointer, bytes],
        before: int,
        all_raw: int,
    ) -> Trial | None:
        """
        Compress some records with a dictionary; returns None if it would save nothing.

        Args:
            dictionary: preferably not trained on these records, because it would compress them too
                well.
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
    """Return True if saving this many bytes is worth rewriting new packs of `all_bytes` bytes."""
    return saved_bytes >= MIN_SAVED * all_bytes
