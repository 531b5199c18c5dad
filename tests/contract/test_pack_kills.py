"""
Processes that write, rewrite and take down packs are killed at each step, on real storage.

Each test kills a process at one step after the other until the process completes: at every
step with `--every-step`, otherwise at a third of them (`tests.support.killed_process`). After each
kill, another process finishes the work, and nothing is lost, duplicated or left over.
"""

import dataclasses
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import zstandard

from aragog.runtime.clock import ManualClock
from aragog.settings import ContentSettings
from aragog.urlstore import nodes
from aragog.urlstore.bodies import pointer_of
from aragog.urlstore.compression import content_hash
from aragog.urlstore.content import FolderContent, FolderPacks
from aragog.urlstore.content_port import ContentStore
from aragog.urlstore.pack_files import PackFiles
from aragog.urlstore.pack_upkeep import PackUpkeep
from aragog.urlstore.packs.pointers import index_name
from tests.support.hooked_tables import HookedTables
from tests.support.killed_process import Steps, killed_at, steps_of
from tests.support.pack_harness import HOUR_MS, PackHarness, fetched, pack_harness
from tests.support.stores import NOW_MS, node_id
from zengraph.tables.sqlite import SqliteTables

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")


A, B, C = (f"http://{name}.example/" for name in "abc")
SECRET = "the secret of this page"
FAR_MS = 4_000_000_000_000
"""A time at which every file written by a test is old."""


@dataclass
class Place:
    """A folder or a bucket for one run of a test, with SQLite tables beside it."""

    folder: Path
    s3: ContentSettings | None = None
    client: object = None
    harnesses: list[PackHarness] = field(default_factory=list)

    def stores(self) -> tuple[PackFiles, ContentStore]:
        """The stores of packs and of objects."""
        if self.s3 is None:
            return FolderPacks(self.folder / "content"), FolderContent(self.folder / "content")
        from aragog.urlstore.content.s3 import S3Content
        from aragog.urlstore.content.s3_packs import S3Packs

        return S3Packs(self.s3), S3Content(self.s3)

    def opened(self, steps: Steps | None = None, at_ms: int = NOW_MS, **settings) -> PackHarness:
        """A process on this place; `steps` counts its changes."""
        packs, objects = self.stores()
        tables = SqliteTables(self.folder / "tables", shards=1)
        if steps is not None and self.s3 is None:
            tables = HookedTables(tables, steps)
            steps.watch_folder(self.folder / "content")
        elif steps is not None:  # the writes to the tables between two requests: as on a folder
            for one in (packs, objects):
                steps.watch_bucket(one._client())
        self.harnesses.append(pack_harness(tables, packs, objects, ManualClock(at_ms), **settings))
        return self.harnesses[-1]

    def close(self) -> None:
        """Close everything that was opened: there is one place per step."""
        for harness in self.harnesses:
            harness.store.close()
        self.harnesses.clear()

    def everything(self) -> bytes:
        """All stored bytes, with all versions of a bucket; packs are decompressed."""
        return b"\n".join(itertools.chain.from_iterable(map(_readable, self.files())))

    def packed(self) -> bytes:
        """The same for packs alone, without files that a killed process had not renamed yet."""
        packs = (file for file in self.files() if ".warc." in file[0])
        return b"\n".join(itertools.chain.from_iterable(map(_readable, packs)))

    def files(self) -> list[tuple[str, bytes]]:
        """Names and bytes of all files or objects."""
        if self.s3 is None:
            paths = (p for p in sorted((self.folder / "content").rglob("*")) if p.is_file())
            return [(path.name, path.read_bytes()) for path in paths]
        found, marks = [], {}
        while True:
            page = self.client.list_object_versions(
                Bucket=self.s3.s3_bucket, Prefix=self.s3.s3_prefix, **marks
            )
            for item in page.get("Versions", ()):
                named = {"Bucket": self.s3.s3_bucket, "Key": item["Key"]}
                if item["VersionId"] not in ("", "null"):
                    named["VersionId"] = item["VersionId"]
                found.append((item["Key"], self.client.get_object(**named)["Body"].read()))
            if not page.get("IsTruncated"):
                return found
            marks = {"KeyMarker": page["NextKeyMarker"],
                     "VersionIdMarker": page["NextVersionIdMarker"]}  # fmt: skip


def _readable(file: tuple[str, bytes]):
    from aragog.errors import CorruptContent
    from aragog.urlstore.packs import frames

    name, data = file
    yield name.encode()
    if ".warc." not in name:
        yield data
        return
    try:
        for _, record in frames.records(data):
            yield record
    except CorruptContent:
        yield data  # half of a pack


S3, VERSIONS = (
    pytest.param("s3", marks=pytest.mark.s3),
    pytest.param("s3 with versions", marks=pytest.mark.s3),
)


@dataclass
class Places:
    """Makes places."""

    make: Callable[[], Place]
    steps: Iterator[int]
    """The steps at which processes are killed, each in a separate place."""


@pytest.fixture(params=["folder", S3, VERSIONS])
def places(request, tmp_path):
    """Makes places for one kind of storage."""
    numbers = itertools.count()

    def make() -> Place:
        number = next(numbers)
        folder = tmp_path / str(number)
        folder.mkdir()
        if request.param == "folder":
            return Place(folder)
        fixture = "s3_settings" if request.param == "s3" else "versioned_s3_settings"
        settings = request.getfixturevalue(fixture)
        server = "s3_server" if request.param == "s3" else "versioned_s3_server"
        client = request.getfixturevalue(server).client()
        return Place(folder, dataclasses.replace(settings, s3_prefix=f"{number}/"), client)

    return Places(make, steps_of(request))


def kill_at_steps(places, prepare, work):
    """
    Yield a place for each step at which `work` is killed, and one where it completed.

    `prepare` gets the harness that fills the place, `work` the harness of the process that is killed.
    """
    for step in places.steps:
        place = places.make()
        harness = place.opened(layout="packs")
        prepare(harness)
        harness.store.close()

        def killed(steps, place=place):
            work(place.opened(steps))

        was_killed = killed_at(step, killed)
        yield place, step
        place.close()
        if not was_killed:
            assert step > (2 if place.s3 else 10)
            return


def write(harness, pages):
    packing = harness.store.pack_pages(pages, now=True)
    harness.store.write_pages(packing.wait())
    packing.settle()


def body(harness, url):
    found = harness.store.content(url)
    return None if found is None else found.body.decode()


def check_pointers(harness, urls):
    """Every pointer of a node leads to the right bytes."""
    for url in urls:
        row = harness.store.zen.nodes.get(node_id(url))
        if nodes.content_cell(row) is not None:
            assert harness.store.bodies.get(row) is not None
        if pointer := pointer_of(row):
            assert harness.store.bodies.read(pointer).body


def run_upkeep_for_a_day(place):
    """Run upkeep every six hours for a day, in a new process; returns its harness."""
    harness = place.opened(at_ms=NOW_MS + HOUR_MS)
    for _ in range(4):
        assert harness.upkeep(hours=6).problems == []
    return harness


# Writing


OLD = [fetched(A, "the first text of a"), fetched(B, "the text of b")]
BATCH = [
    fetched(A, "the second text of a", NOW_MS + 1000),
    fetched(B, "the text of b", NOW_MS + 1000),
    fetched(C, "the text of c", NOW_MS + 1000),
]


@pytest.mark.parametrize(
    ("places", "other_ms"),
    [
        ("folder", None),
        ("folder", 500),
        ("folder", 1500),
        pytest.param("s3", 1500, marks=pytest.mark.s3),
        pytest.param("s3 with versions", 500, marks=pytest.mark.s3),
    ],
    indirect=["places"],
)
def test_batch_killed_at_any_step_runs_again_without_loss(places, other_ms):
    """`other_ms`: another process writes page A in between, fetched before or after the batch."""
    other = [] if other_ms is None else [fetched(A, "the other text of a", NOW_MS + other_ms)]
    newest = "the other text of a" if other_ms == 1500 else "the second text of a"

    for place, step in kill_at_steps(
        places, lambda harness: write(harness, OLD), lambda harness: write(harness, BATCH)
    ):
        harness = place.opened(at_ms=NOW_MS + 2000)
        check_pointers(harness, (A, B, C))
        assert body(harness, B) == "the text of b"
        assert body(harness, A) in ("the first text of a", "the second text of a")
        if other:
            write(harness, other)
        write(harness, BATCH)
        assert (body(harness, A), body(harness, B), body(harness, C)) == (
            newest, "the text of b", "the text of c",
        ), f"killed at step {step}"  # fmt: skip
        harness.store.close()

        harness = run_upkeep_for_a_day(place)
        check_pointers(harness, (A, B, C))
        assert body(harness, A) == newest
        assert place.packed().count(b"the text of c") == 1
        check_order(harness, place)


def check_order(harness, place):
    """
    Each pack has its index, and repair finds at most dead records that were not counted.

    A process that is killed between two writes leaves them. The node of their URL knows them, so a
    takedown removes them, and repair counts them.
    """
    harness.clock.advance_ms(FAR_MS - harness.clock.now_ms())
    repaired = harness.store.maintenance.repair(wait=False).repaired
    assert set(repaired) <= {"record of a pack that no page has"}
    assert harness.store.maintenance.repair(wait=False).repaired == {}
    names = {name for name, _ in place.files()}
    assert {index_name(name) for name in names if ".warc." in name} <= names
    harness.store.close()


# Upkeep


def write_half_dead_pack(harness):
    write(harness, [fetched(f"{A}{n}", f"old {n}") for n in range(3)])
    write(harness, [fetched(f"{A}{n}", SECRET, NOW_MS + 1) for n in range(2)])
    harness.store.takedowns.take_down(url=f"{A}0")


def run_upkeep_rounds(harness):
    for hours in (13, 1, 1):
        harness.upkeep(hours=hours)


def test_upkeep_killed_at_any_step_is_completed_by_the_next(places):
    for place, step in kill_at_steps(places, write_half_dead_pack, run_upkeep_rounds):
        harness = place.opened(at_ms=NOW_MS + 20 * HOUR_MS)
        check_pointers(harness, (f"{A}1", f"{A}2"))
        assert body(harness, f"{A}0") is None
        for _ in range(4):
            harness.upkeep(hours=6)
        assert (body(harness, f"{A}1"), body(harness, f"{A}2")) == (SECRET, "old 2")
        left = place.everything()
        assert f"{A}0".encode() not in left, f"killed at step {step}"
        # The copy from a killed run that the page's node already knows may stay as dead space.
        assert left.count(SECRET.encode()) in (1, 2)
        check_order(harness, place)


# Shared dictionaries


def write_site(harness):
    from tests.contract.test_pack_dictionaries import site

    site(harness, A, pages=80)


def use_and_erase_a_dictionary(harness):
    """Train a dictionary, write pages with it, and take down a page that it was trained on."""
    from tests.contract.test_pack_dictionaries import text_of

    bodies = harness.store.bodies
    PackUpkeep(harness.store.zen, bodies, harness.clock, trained_on_bytes=100_000).run()
    bodies.packs.shared.refresh()
    for n in (100, 101):
        page = fetched(f"{A}{n}", text_of(n))
        body = bodies.compress(text_of(n).encode())
        content = dataclasses.replace(
            page.content, body=body, digest=content_hash(text_of(n).encode())
        )
        write(harness, [dataclasses.replace(page, content=content)])
    harness.store.takedowns.take_down(url=f"{A}0")
    run_upkeep_rounds(harness)


def test_use_and_erasure_of_a_dictionary_killed_at_any_step_leaves_no_byte(places):
    from tests.contract.test_pack_dictionaries import pieces_of, text_of

    for place, step in kill_at_steps(places, write_site, use_and_erase_a_dictionary):
        harness = place.opened(at_ms=NOW_MS + 20 * HOUR_MS)
        check_pointers(harness, (f"{A}1", f"{A}100", f"{A}101"))
        harness.store.takedowns.take_down(url=f"{A}0")
        harness.store.close()
        harness = place.opened(at_ms=NOW_MS + 21 * HOUR_MS)
        for _ in range(8):
            assert harness.upkeep(hours=6).problems == []
        left = place.everything() + b"".join(map(dictionary_in, place.files()))
        assert not any(piece in left for piece in pieces_of(0)), f"killed at step {step}"
        assert body(harness, f"{A}7") == text_of(7)
        assert body(harness, f"{A}100") in (None, text_of(100))
        check_pointers(harness, (f"{A}1", f"{A}100", f"{A}101"))


def dictionary_in(file):
    """The dictionary at the start of a pack, decompressed by zstandard alone."""
    name, data = file
    if ".warc." not in name or data[:4] != b"\x5d\x2a\x4d\x18":
        return b""
    try:
        return zstandard.ZstdDecompressor().decompress(
            data[8 : 8 + int.from_bytes(data[4:8], "little")]
        )
    except zstandard.ZstdError:
        return b""  # half of a pack


# Takedowns


def test_takedown_killed_at_any_step_runs_again_and_leaves_no_byte(places):
    def prepare(harness):
        write(harness, [fetched(A, SECRET), fetched(B, "stays")])
        write(harness, [fetched(A, f"{SECRET}, changed", NOW_MS + 1)])
        objects = harness.reopened(layout="objects")
        objects.store.write_pages([fetched(f"{A}object", SECRET)])

    def take_down(harness):
        harness.store.takedowns.take_down(host="a.example")

    for place, step in kill_at_steps(places, prepare, take_down):
        harness = place.opened(at_ms=NOW_MS + 1000)
        take_down(harness)
        assert body(harness, A) is None
        assert body(harness, f"{A}object") is None
        harness.store.close()
        harness = run_upkeep_for_a_day(place)
        left = place.everything()
        assert SECRET.encode() not in left, f"killed at step {step}"
        assert b"a.example" not in left
        assert body(harness, B) == "stays"
        check_order(harness, place)


# Moving objects into packs


def test_objects_move_into_packs_after_a_kill_at_any_step(places):
    def prepare(harness):
        objects = harness.reopened(layout="objects")
        objects.store.write_pages([fetched(A, "one"), fetched(B, "two")])

    def move(harness):
        harness.store.maintenance.pack_objects()

    for place, step in kill_at_steps(places, prepare, move):
        harness = place.opened(at_ms=NOW_MS + 1000)
        assert (body(harness, A), body(harness, B)) == ("one", "two")
        move(harness)
        assert (body(harness, A), body(harness, B)) == ("one", "two")
        assert list(harness.content.keys()) == [], f"killed at step {step}"
        harness.store.close()
        harness = run_upkeep_for_a_day(place)
        assert (body(harness, A), body(harness, B)) == ("one", "two")
        assert place.everything().count(b"\r\n\r\ntwo") == 1
        check_order(harness, place)
