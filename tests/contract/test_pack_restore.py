"""A store with packs is restored from a backup: first the tables, then the packs."""

import shutil

import pytest

from aragog.transfer.copy import copy_packs, copy_tables
from aragog.urlstore.content import FolderPacks, MemoryPacks
from aragog.urlstore.packs.pointers import index_name
from tests.support.pack_harness import fetched, pack_harness
from tests.support.stores import NOW_MS
from zengraph.tables.memory import MemoryTables

A, B, C = (f"http://{name}.example/" for name in "abc")
SECRET = "the secret of this page"
FAR_MS = 4_000_000_000_000
"""A time at which every file written by a test is old."""


def write(harness, *pages):
    """Write pages, with all bodies in one pack."""
    packing = harness.store.pack_pages(pages, now=True)
    harness.store.write_pages(packing.wait())
    packing.settle()


def by_name(source, target):
    """Copy the files as `cp -r` and `aws s3 sync` do."""
    shutil.copytree(source.folder / "packs", target.folder / "packs", dirs_exist_ok=True)


@pytest.fixture(params=["store copy", "files by name"])
def backup(request, tmp_path):
    """
    (the packs of a store, those of its backup, a function that copies the first to the second).
    """
    if request.param == "store copy":
        return MemoryPacks(), MemoryPacks(), copy_packs
    return FolderPacks(tmp_path / "data"), FolderPacks(tmp_path / "backup"), by_name


def test_backup_made_under_load_can_be_restored(backup):
    files, kept, copy = backup
    harness = pack_harness(files=files)
    write(harness, *(fetched(f"{A}{n}", f"old {n}") for n in range(5)))
    write(harness, fetched(B, SECRET), fetched(C, "stays"))

    tables = MemoryTables(harness.clock)
    copy_tables(harness.tables, tables)
    write(harness, *(fetched(f"{A}{n}", f"new {n}", NOW_MS + 1) for n in range(4)))
    assert harness.upkeep().rewritten == 1
    copy(files, kept)
    again = pack_harness(tables, kept, clock=harness.clock)

    assert [again.store.content(f"{A}{n}").body for n in range(5)] == [
        f"old {n}".encode() for n in range(5)
    ]
    assert again.store.content(B).body == SECRET.encode()
    again.clock.advance_ms(FAR_MS - again.clock.now_ms())
    found = again.store.maintenance.repair(wait=False).repaired
    assert set(found) == {
        "record of a pack that no page has"
    }  # records written after the tables were copied
    again.store.takedowns.take_down(url=B)
    for _ in range(24):
        again.upkeep(hours=1)
    left = again.everything()
    assert SECRET.encode() not in left
    assert b"new" not in left
    assert again.store.content(C).body == b"stays"
    assert [again.store.content(f"{A}{n}").body for n in range(5)] == [
        f"old {n}".encode() for n in range(5)
    ]
    assert again.store.maintenance.repair(wait=False).repaired == {}


def test_page_whose_pack_was_deleted_before_the_copy_is_refetched(backup):
    """The copy of the packs began more than 15 minutes after a rewrite."""
    files, kept, copy = backup
    harness = pack_harness(files=files)
    write(harness, *(fetched(f"{A}{n}", f"old {n}") for n in range(3)))
    write(harness, fetched(B, "stays"))
    tables = MemoryTables(harness.clock)
    copy_tables(harness.tables, tables)
    write(harness, *(fetched(f"{A}{n}", f"new {n}", NOW_MS + 1) for n in range(2)))
    harness.upkeep()
    assert harness.upkeep(hours=1).deleted == 1
    copy(files, kept)

    again = pack_harness(tables, kept, clock=harness.clock)
    again.clock.advance_ms(FAR_MS - again.clock.now_ms())
    found = again.store.maintenance.repair(wait=False).repaired
    assert found["content missing or damaged"] == 3
    assert all(again.store.get(f"{A}{n}").due_at_ms is not None for n in range(3))
    assert again.store.content(B).body == b"stays"


def test_interrupted_copy_is_continued_with_complete_indexes():
    harness, kept = pack_harness(), MemoryPacks()
    for n in range(4):
        write(harness, fetched(f"{A}{n}", f"text {n}"))
    first, second, *_ = harness.names()
    kept.put(first, harness.files.stored[first][:-7], b"")

    copied = []
    copy_packs(harness.files, kept, on_progress=lambda name, _: copied.append(name))

    assert copied == harness.names()
    assert kept.stored == harness.files.stored
    assert kept.indexes == harness.files.indexes
    assert index_name(second) in kept.indexes
