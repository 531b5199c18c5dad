"""
Trains shared dictionaries while a crawl fetches few sites, and erases them when a takedown requires
this.

Recompressing pages later would cost twice the CPU time of storing them. So fetch processes compress
them with a dictionary trained on earlier pages (`packs.shared_dictionaries`). The dictionary is
trained on 2 MB of packs, and used if a trial on other records saves 15% or more. Each pack has a
copy of it, which would take up the savings in a very small pack. Such packs are later rewritten by
host (`pack_rewrite`).

A dictionary contains text from the pages that it was trained on. While packs with it exist, the
packs that it was trained on are not rewritten, so that a takedown finds their records. If bytes in
one of those packs must be erased, the dictionary is no longer used, and all packs that contain it
are rewritten without it. To limit that work, a dictionary is used for at most 1,000 packs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from aragog.errors import CorruptContent
from aragog.runtime.clock import Clock
from aragog.urlstore.bodies import Packs
from aragog.urlstore.pack_groups import FreshPack, is_worthwhile, large_hosts
from aragog.urlstore.pack_records import PackedRecord, PackRecords
from aragog.urlstore.pack_trial import TRIED_RECORDS, Trial
from aragog.urlstore.packs import frames
from aragog.urlstore.packs.catalog import MOVED
from aragog.urlstore.packs.dictionaries import Dictionary, dictionary_of, sampled
from aragog.urlstore.packs.dictionary_records import DictionaryRecords, SharedRecord
from zengraph import MultiGraph

TRAINED_ON_BYTES = 2_097_152
"""Size of the packs that a dictionary is trained on, about 200 pages of documentation."""
HOST_BYTES, MAX_BYTES = 65_536, 196_608
"""A dictionary's size per large host, and its maximum size. Stored dictionaries take a third of
that."""
MIN_SAVED = 0.15
"""A dictionary is used if it saves this fraction of the bytes, counting its copy in each pack."""
MAX_TRAINED_ON = 64
"""Maximum number of packs to train a dictionary on; they are read together."""
MAX_PACKS = 1000
"""Once this many packs have a dictionary, it is no longer used."""
CHECKED_BYTES = 524_288
"""How much of a pack is read to check what its dictionary saves."""
RETRY_MS = 600_000
"""Milliseconds until the next training, if the last dictionary saved too little."""
MAX_AGE_MS = 600_000
"""Only packs from the last ten minutes are used, because older crawls may have ended."""
UNUSED_MS = 3_600_000
"""Milliseconds after which a dictionary is forgotten if no pack has it."""
ERASED_MS = 7 * 86_400_000
"""Milliseconds that an erased dictionary is remembered. A process that has it in memory may still
write a pack with it."""


@dataclass(frozen=True, slots=True)
class DictionaryUpkeep:
    """
    All methods are safe to repeat.

    Args:
        trained_on_bytes: size of the packs that a dictionary is trained on.
        max_packs: a dictionary is no longer used once this many packs have it.
    """

    zen: MultiGraph
    packs: Packs
    clock: Clock
    trained_on_bytes: int = TRAINED_ON_BYTES
    max_packs: int = MAX_PACKS

    @property
    def records(self) -> DictionaryRecords:
        return self.packs.catalog.dictionaries

    def kept_packs(self) -> frozenset[str]:
        """Return the packs that must not be rewritten except to erase bytes."""
        kept = (one.trained_on for one in self.records.all() if one.erased_ms is None)
        return frozenset[str]().union(*kept)

    def erase(self) -> None:
        """
        Erase dictionaries if bytes in a pack that they were trained on must be erased.

        `PackUpkeep` then rewrites the packs that have them. Also forgets dictionaries that nothing
        needs.
        """
        for one in self.records.all():
            if one.erased_ms is None and any(map(self.packs.catalog.erased, one.trained_on)):
                self.records.erase(one.id)
        for one in self.records.all():
            if one.erased_ms is not None:
                self._erase_from_packs(one.id)
            if self._is_over(one):
                self.records.forget(one.id)

    def is_used(self, pack: str) -> bool:
        """Return True if other packs have a dictionary trained on this pack."""
        trained = (one.id for one in self.records.all() if pack in one.trained_on)
        return any(next(self.records.packs_with(one), None) for one in trained)

    def train(self, fresh: Sequence[FreshPack]) -> bool:
        """
        Train a dictionary on new packs if none is in use. Returns True if the new one will be used.

        Needs 2 MB of packs, half of it from hosts with 256 KB or more. Takes 0.1 s of CPU, at most
        every ten minutes if dictionaries save too little.
        """
        recent_ms = self.clock.now_ms() - MAX_AGE_MS
        recent = [pack for pack in fresh if pack.at_ms >= recent_ms]
        chosen = _newest(recent, self.trained_on_bytes)
        if not chosen or not is_worthwhile(chosen) or self.records.in_use():
            return False
        if self.records.tried_ms() > self.clock.now_ms() - RETRY_MS:
            return False
        self.records.record_try()
        names = [pack.name for pack in chosen]
        claimed = [name for name in names if self.packs.catalog.claim(name)]
        try:
            return claimed == names and self._train_on(names, large_hosts(chosen))
        finally:
            for name in claimed:
                self.packs.catalog.release(name)

    def check(self, group: Sequence[FreshPack]) -> None:
        """Stop using the new packs' dictionary if it saves too little or too many packs have it."""
        last = group[-1]
        if not last.dictionary or last.dictionary != self.records.in_use():
            return
        users = islice(self.records.packs_with(last.dictionary), self.max_packs)
        if sum(1 for _ in users) >= self.max_packs or self._saved(group) < MIN_SAVED:
            self.records.use(0)

    def restore(self, pack: str, data: bytes, *, was_lost: bool) -> None:
        """
        Restore the records about the dictionary at the beginning of a pack.

        If the dictionary's record was lost with a damaged file, its training packs are unknown, so
        it is erased from the pack. `was_lost` is True if the pack's own entry was lost.
        """
        dictionary = dictionary_of(data)
        if dictionary is None:
            return
        if self.records.is_known(dictionary.id):
            self.packs.catalog.record_dictionary(pack, dictionary.id)
        elif was_lost or self.packs.catalog.dictionary(pack):
            self.packs.catalog.erase_dictionary(pack)

    def _train_on(self, names: Sequence[str], hosts: int) -> bool:
        try:
            live = [one for name in names for one in self._live(name)]
        except CorruptContent:  # `pack_upkeep` reports it when it rewrites the pack
            return False
        samples = sampled(live)
        dictionary = Dictionary.train(
            [one.record for one in samples], min(MAX_BYTES, hosts * HOST_BYTES)
        )
        if dictionary is None or _saved_by(dictionary, live, samples, len(names)) < MIN_SAVED:
            return False
        # The packs stay claimed until this is stored, so a process that erases their records later
        # finds this dictionary.
        self.records.add(dictionary, names)
        self.records.use(dictionary.id)
        return True

    def _live(self, name: str) -> list[PackedRecord]:
        """Return the live records of a pack, except those that must be erased."""
        data = self.packs.files.read_all(name)
        if data is None:
            return []
        erased = self.packs.catalog.erased(name)
        records = PackRecords(self.zen, self.packs).read(name, data)
        return [one for one in records if one.owners and one.pointer.offset not in erased]

    def _saved(self, group: Sequence[FreshPack]) -> float:
        """Return the fraction of bytes saved, estimated from the first records of the last pack."""
        data = self.packs.files.read(group[-1].name, 0, CHECKED_BYTES) or b""
        try:
            dictionary = dictionary_of(data)
            found = [one.data for one in islice(_complete(data, dictionary), TRIED_RECORDS)]
            plain = [frames.compress(frames.decompress(one, dictionary), "zstd") for one in found]
        except CorruptContent:  # `pack_upkeep` reports it when it rewrites the pack
            return 0.0
        if dictionary is None or not found:
            return 0.0
        size = sum(pack.size for pack in group)
        of_records = size - len(group) * len(dictionary.frame())
        plain_size = of_records * sum(map(len, plain)) / sum(map(len, found))
        return 1 - size / plain_size if plain_size > 0 else 0.0

    def _erase_from_packs(self, dictionary_id: int) -> None:
        catalog = self.packs.catalog
        for pack in self.records.packs_with(dictionary_id):
            if not catalog.row(MOVED, pack) and 0 not in catalog.erased(pack):
                catalog.erase_dictionary(pack)

    def _is_over(self, one: SharedRecord) -> bool:
        now_ms = self.clock.now_ms()
        if one.erased_ms is None:
            has_time = one.at_ms > now_ms - UNUSED_MS
        else:
            has_time = one.erased_ms > now_ms - ERASED_MS
        return not has_time and next(self.records.packs_with(one.id), None) is None


def _complete(data: bytes, dictionary: Dictionary | None) -> Iterator[frames.Frame]:
    """Yield a truncated pack's complete records, except the first one (`warcinfo`)."""
    found = frames.beginnings(data, dictionary)
    try:
        for one in islice(found, 1, None):
            yield one.frame
    except CorruptContent:  # the last one is truncated
        return


def _newest(fresh: Sequence[FreshPack], min_bytes: int) -> list[FreshPack]:
    """Return the newest packs that together have this size; empty if there are too few."""
    chosen: list[FreshPack] = []
    for pack in sorted(fresh, reverse=True)[:MAX_TRAINED_ON]:
        chosen.append(pack)
        if sum(one.size for one in chosen) >= min_bytes:
            return chosen
    return []


def _saved_by(
    dictionary: Dictionary,
    live: Sequence[PackedRecord],
    samples: Sequence[PackedRecord],
    packs: int,
) -> float:
    """
    Return the fraction of bytes that the dictionary would save in that many packs.

    Estimated from records that the dictionary was not trained on.
    """
    trained_on = {one.pointer for one in samples}
    tried = sampled([one for one in live if one.pointer not in trained_on], TRIED_RECORDS)
    if not tried:
        return 0.0
    all_raw = sum(one.raw_bytes for one in live)
    plain = sum(len(one.frame) for one in tried)
    trial = Trial.of(dictionary, {one.pointer: one.record for one in tried}, plain, all_raw)
    if trial is None:
        return 0.0
    of_other_packs = (packs - 1) * len(dictionary.frame())
    return (trial.saved_bytes - of_other_packs) / sum(len(one.frame) for one in live)
