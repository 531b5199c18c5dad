"""
The export of a whole store as a copy of its packs, without records that must not be published.
"""

import io
import itertools
import json
from collections import Counter
from dataclasses import replace

import pytest
from warcio.archiveiterator import ArchiveIterator

from aragog.errors import BadInput
from aragog.transfer.pack_export import export_packs, warc_files
from aragog.urlstore import nodes
from aragog.urlstore.bodies import pointer_of
from aragog.urlstore.content import FolderPacks
from aragog.urlstore.packs import frames
from aragog.urlstore.packs.pointers import index_name
from tests.support.killed_process import killed_at
from tests.support.pack_harness import HOUR_MS, fetched, pack_harness
from tests.support.stores import NOW_MS, node_id

A, B, C, D = (f"http://{name}.example/" for name in "abcd")


def write(harness, *pages):
    """Write pages, with all bodies in one pack."""
    packing = harness.store.pack_pages(pages, now=True)
    harness.store.write_pages(packing.wait())
    packing.settle()


def read(folder):
    """(type, URL, body) of all records in an export, read by warcio."""
    found = []
    for path in warc_files(folder):
        data = path.read_bytes()
        plain = b"".join(frames.decompress(frame.data) for frame in frames.split(data))
        for record in ArchiveIterator(io.BytesIO(plain), check_digests="raise"):
            url = record.rec_headers.get_header("WARC-Target-URI")
            found.append((record.rec_type, url, record.content_stream().read().decode()))
    return found


def bodies(folder):
    return Counter(body for kind, _, body in read(folder) if kind in ("response", "resource"))


def test_packs_with_only_publishable_records_are_copied_byte_for_byte(tmp_path):
    harness = pack_harness(files=FolderPacks(tmp_path / "content"))
    write(harness, fetched(A, "one"), fetched(B, "two"))
    write(harness, fetched(A, "one", NOW_MS + 1000), fetched(C, "three"))

    report = export_packs(harness.store, tmp_path / "out")

    assert (report.whole, report.partial, report.records) == (2, 0, 4)
    for name in harness.names():
        for one in (name, index_name(name)):
            copied = (tmp_path / "out" / one).read_bytes()
            assert copied == (tmp_path / "content" / "packs" / one).read_bytes()
    kinds = Counter(kind for kind, _, _ in read(tmp_path / "out"))
    assert kinds == {"warcinfo": 2, "response": 3, "revisit": 1}


@pytest.mark.parametrize("compression", ["zstd", "gzip"])
def test_unpublishable_records_are_in_no_file(tmp_path, compression):
    harness = pack_harness(pack_compression=compression)
    soon = {"unavailable_after_ms": NOW_MS + HOUR_MS}
    expiring = fetched(f"{A}expiring", "SECRET expiring")
    write(
        harness,
        fetched(f"{A}replaced", "SECRET replaced"),
        fetched(f"{A}removed", "SECRET removed"),
        fetched(f"{A}taken", "SECRET taken down"),
        replace(expiring, facts={**expiring.facts, **soon}),
        fetched(B, "public"),
    )
    write(harness, fetched(f"{A}replaced", "new", NOW_MS + 1000))
    harness.store.remove(f"{A}removed")
    harness.store.takedowns.take_down(url=f"{A}taken")
    harness.clock.advance_ms(2 * HOUR_MS)

    report = export_packs(harness.store, tmp_path)

    assert (report.whole, report.partial) == (1, 1)
    assert bodies(tmp_path) == {"new": 1, "public": 1}
    for path in warc_files(tmp_path):
        assert b"SECRET" not in b"".join(
            frames.decompress(frame.data) for frame in frames.split(path.read_bytes())
        )
        lines = (tmp_path / index_name(str(path.relative_to(tmp_path)))).read_text().splitlines()
        for line in lines:
            place = json.loads(line.split(" ", 2)[2])
            at = int(place["offset"])
            frame = path.read_bytes()[at : at + int(place["length"])]
            assert place["url"].encode() in frames.decompress(frame)


def test_record_shared_by_two_pages_is_written_for_the_publishable_one(tmp_path):
    harness = pack_harness()
    write(harness, fetched(A, "shared"), fetched(C, "other"))
    row = harness.store.zen.nodes.get(node_id(A))
    harness.store.bodies.packs.catalog.share(pointer_of(row), B)
    cells = {c: row[c].value for c in (*nodes.CONTENT, nodes.SENTINEL) if c in row}
    harness.store.zen.nodes.put(node_id(B), {**cells, nodes.URL: B.encode()}, at_ms=NOW_MS)
    harness.store.takedowns.take_down(url=A)

    export_packs(harness.store, tmp_path)

    assert bodies(tmp_path) == {"shared": 1, "other": 1}
    assert A not in [url for _, url, _ in read(tmp_path)]


def test_pages_stored_as_objects_are_in_the_export(tmp_path):
    harness = pack_harness()
    harness.reopened(layout="objects").store.write_pages([fetched(A, "an object")])
    write(harness, fetched(B, "in a pack"))

    assert export_packs(harness.store, tmp_path).records == 2
    assert bodies(tmp_path) == {"an object": 1, "in a pack": 1}
    assert export_packs(harness.store, tmp_path).records == 0


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_export_killed_at_any_step_is_completed_by_the_next(tmp_path):
    harness = pack_harness()
    for n in range(3):
        write(harness, fetched(f"{A}{n}", f"text {n}"))
    for step in itertools.count(1):
        folder = tmp_path / str(step)

        def work(steps, folder=folder):
            steps.watch_folder(folder)
            export_packs(harness.store, folder)

        was_killed = killed_at(step, work)
        export_packs(harness.store, folder)

        assert bodies(folder) == {f"text {n}": 1 for n in range(3)}
        if not was_killed:
            assert step > 15
            break


def test_records_moved_by_upkeep_during_an_export_are_in_it(tmp_path):
    harness = pack_harness()
    write(harness, *(fetched(f"{A}{n}", f"old {n}") for n in range(5)))
    write(harness, *(fetched(f"{A}{n}", f"new {n}", NOW_MS + 1) for n in range(4)))
    listed = harness.files.packs

    def moving():
        names = list(listed())
        harness.upkeep()
        harness.upkeep(hours=1)
        yield from names

    harness.files.packs = moving
    export_packs(harness.store, tmp_path)

    assert set(bodies(tmp_path)) == {"new 0", "new 1", "new 2", "new 3", "old 4"}


def test_damaged_pack_is_reported_and_the_others_are_copied(tmp_path):
    harness = pack_harness()
    write(harness, fetched(A, "one"))
    write(harness, fetched(B, "two"))
    (first, _) = harness.names()
    harness.files.stored[first] = harness.files.stored[first][:-5]
    problems = []

    report = export_packs(harness.store, tmp_path, on_problem=lambda *each: problems.append(each))

    assert report.problems == len(problems) > 0
    assert {what for what, _ in problems} == {f"pack {first}"}
    assert sum(bodies(tmp_path).values()) == 1


def test_export_folder_is_for_one_purpose(tmp_path):
    harness = pack_harness()
    write(harness, fetched(A, "one"))
    export_packs(harness.store, tmp_path, purpose="search")

    with pytest.raises(BadInput, match="for search, but this export is for any purpose"):
        export_packs(harness.store, tmp_path)
