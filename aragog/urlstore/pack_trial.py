"""
Try a dictionary on a sample of records before packs are rewritten with it. Pure.

Compressing a page again and pointing its node to the new record takes twice the CPU time of storing
it, so it must save enough bytes. How much a dictionary saves depends on the site: a fifth to a half
for manuals and shops, but little if pages have little markup in common.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aragog.urlstore.packs.dictionaries import Dictionary
from aragog.urlstore.packs.pointers import PackPointer

MIN_SAVED = 0.15
"""Fresh packs are rewritten if dictionaries save at least this fraction of their bytes."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A dictionary for one host's records, and what it saves."""

    dictionary: Dictionary
    frames: Mapping[PackPointer, bytes]
    """The sampled records, compressed with the dictionary."""
    saved_bytes: int
    """About how many bytes the dictionary saves for all of the records; more than 0."""

    @classmethod
    def of(
        cls, pointers: Sequence[PackPointer], raw: Sequence[bytes], before: int, all_raw: int
    ) -> Trial | None:
        """
        Train a dictionary on sampled records, and compress them with it.

        Args:
            pointers: those of the sampled records.
            raw: the sampled records, decompressed.
            before: their size in bytes, compressed without a dictionary.
            all_raw: the decompressed size in bytes of all records that the dictionary is for.

        Returns:
            None if the records have too little in common for a dictionary, or it would save
            nothing.
        """
        dictionary = Dictionary.trained(raw)
        if dictionary is None:
            return None
        frames = list(map(dictionary.compress, raw))
        saved_of_sample = before - sum(map(len, frames))
        saved = saved_of_sample * all_raw // sum(map(len, raw)) - len(dictionary.frame())
        if saved <= 0:
            return None
        return cls(dictionary, dict(zip(pointers, frames, strict=True)), saved)


def saves_enough(saved_bytes: int, all_bytes: int) -> bool:
    """Return True if saving this many bytes is worth rewriting fresh packs of `all_bytes`."""
    return saved_bytes >= MIN_SAVED * all_bytes
