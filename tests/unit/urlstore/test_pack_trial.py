"""What a dictionary saves, found on a few records."""

import random

from aragog.urlstore.compression import compress
from aragog.urlstore.pack_trial import TRIED_RECORDS, Trial, saves_enough
from aragog.urlstore.packs.dictionaries import Dictionary
from aragog.urlstore.packs.pointers import PackPointer


def words(seed, count):
    chance = random.Random(seed)
    return b" ".join(b"%x" % chance.getrandbits(40) for _ in range(count))


TEMPLATE = words("template", 900)
PAGES = [TEMPLATE + words(n, 100) for n in range(40)]


def trial_of(pages):
    """A trial of the dictionary of PAGES on some records, which are a tenth of all."""
    records = {PackPointer("", n, 0, ""): page for n, page in enumerate(pages)}
    before = sum(len(compress(page)) for page in pages)
    return Trial.of(Dictionary.train(PAGES), records, before, 10 * sum(map(len, pages))), before


def test_a_dictionary_saves_what_it_saves_on_the_records_less_its_own_size():
    others = [TEMPLATE + words(n, 100) for n in range(1000, 1000 + TRIED_RECORDS)]
    trial, before = trial_of(others)
    after = sum(map(len, trial.frames.values()))

    assert trial.saved_bytes == 10 * (before - after) - len(trial.dictionary.frame())
    assert saves_enough(trial.saved_bytes, 10 * before)
    assert [trial.dictionary.decompress(frame) for frame in trial.frames.values()] == others


def test_a_dictionary_that_saves_less_than_its_own_size_is_not_used():
    trial, _ = trial_of([words(n, 1000) for n in range(1000, 1000 + TRIED_RECORDS)])

    assert trial is None


def test_packs_are_rewritten_for_15_percent():
    assert saves_enough(15, 100)
    assert not saves_enough(14, 100)
