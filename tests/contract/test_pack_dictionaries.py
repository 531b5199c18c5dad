"""
Packs with few hosts get a dictionary: fewer bytes, the same pages, and no trace of deleted pages.
"""

import random
from io import BytesIO

import pytest
import zstandard
from warcio.archiveiterator import ArchiveIterator

from aragog.errors import CorruptContent
from aragog.transfer.pack_export import export_packs, warc_files
from aragog.urlstore.bodies import pointer_of
from aragog.urlstore.content import FolderPacks, MemoryPacks
from aragog.urlstore.pack_index import pack_index
from aragog.urlstore.packs import dictionaries, frames
from aragog.urlstore.packs.catalog import FRESH
from aragog.urlstore.packs.pointers import index_name
from tests.support.pack_harness import HOUR_MS, fetched, pack_harness
from tests.support.stores import NOW_MS, node_id

HOST, OTHER = "http://a.example/", "http://b.example/"
PAGES = 120


def words(seed, count):
    """Text that compresses like prose and shares nothing with text from another seed."""
    chance = random.Random(seed)
    return " ".join(f"{chance.getrandbits(40):x}" for _ in range(count))


TEMPLATE = words("template", 900)


def text_of(n):
    return f"<html>{TEMPLATE}<main>{words(n, 200)}</main></html>"


def pieces_of(n):
    """Parts of the text that occur on no other page."""
    text = words(n, 200).encode()
    return [text[at : at + 24] for at in range(0, len(text) - 24, 24)]


def write(harness, pages):
    packing = harness.store.pack_pages(pages, now=True)
    harness.store.write_pages(packing.wait())
    packing.settle()


def site(harness, host=HOST, pages=PAGES, at_ms=NOW_MS):
    for first in range(0, pages, 40):
        some = range(first, min(pages, first + 40))
        write(harness, [fetched(f"{host}{n}", text_of(n), at_ms) for n in some])


def size_of(harness):
    return sum(file.size for file in harness.files.packs())


def dictionary_bytes(harness):
    """The dictionaries of all packs, decompressed by zstandard alone."""
    found = []
    for name in harness.names():
        data = harness.files.read_all(name)
        if data[:4] == b"\x5d\x2a\x4d\x18":
            length = int.from_bytes(data[4:8], "little")
            found.append(zstandard.ZstdDecompressor().decompress(data[8 : 8 + length]))
    return found


@pytest.fixture(params=["memory", "folder", pytest.param("s3", marks=pytest.mark.s3)])
def files(request, tmp_path):
    if request.param == "memory":
        return MemoryPacks()
    if request.param == "folder":
        return FolderPacks(tmp_path / "content")
    from aragog.urlstore.content.s3_packs import S3Packs

    return S3Packs(request.getfixturevalue("s3_settings"))


def test_packs_of_one_host_are_merged_with_a_dictionary(files):
    harness = pack_harness(files=files)
    site(harness)
    before, old = size_of(harness), harness.names()

    assert harness.upkeep().rewritten == 0  # more may come
    assert harness.upkeep(hours=1).rewritten == len(old) == 3
    harness.upkeep(hours=1)

    (name,) = harness.names()
    assert len(dictionary_bytes(harness)) == 1
    assert size_of(harness) < 0.75 * before
    bodies = [harness.store.content(f"{HOST}{n}").body for n in range(PAGES)]
    assert bodies == [text_of(n).encode() for n in range(PAGES)]
    assert name.endswith(".warc.zst")
    assert harness.upkeep(hours=2).rewritten == 0


def test_other_programs_can_read_a_pack_with_a_dictionary():
    harness = pack_harness()
    site(harness)
    harness.upkeep(hours=1)
    harness.upkeep(hours=1)
    (name,), (dictionary,) = harness.names(), dictionary_bytes(harness)
    data = harness.files.read_all(name)
    codec = zstandard.ZstdDecompressor(dict_data=zstandard.ZstdCompressionDict(dictionary))

    found = []
    for frame in frames.split(data):
        parameters = zstandard.get_frame_parameters(frame.data)
        assert parameters.dict_id == int.from_bytes(dictionary[4:8], "little") >= 32_768
        assert parameters.has_checksum
        assert parameters.content_size > 0
        found.append(codec.decompress(frame.data))

    records = [
        (one.rec_type, one.rec_headers.get_header("WARC-Target-URI"), one.content_stream().read())
        for one in ArchiveIterator(BytesIO(b"".join(found)))
    ]
    assert records[0][0] == "warcinfo"
    assert {record[1:] for record in records[1:]} == {
        (f"{HOST}{n}", text_of(n).encode()) for n in range(PAGES)
    }
    index = harness.files.indexes[index_name(name)]
    assert len(index.splitlines()) == PAGES
    assert pack_index(name, data) == (index, None)


def test_frames_without_a_dictionary_have_size_and_checksum_too():
    harness = pack_harness()
    write(harness, [fetched(HOST, "text")])

    for name in harness.names():
        for frame in frames.split(harness.files.read_all(name)):
            parameters = zstandard.get_frame_parameters(frame.data)
            assert (parameters.has_checksum, parameters.dict_id) == (True, 0)


def test_takedown_leaves_nothing_in_a_dictionary(files):
    harness = pack_harness(files=files)
    site(harness)
    harness.upkeep(hours=1)
    harness.upkeep(hours=1)
    (dictionary,) = dictionary_bytes(harness)
    seen = (n for n in range(PAGES) if any(piece in dictionary for piece in pieces_of(n)))
    gone = next(seen)
    harness.store.takedowns.take_down(url=f"{HOST}{gone}")

    for _ in range(24):
        harness.upkeep(hours=1)

    everything = harness.everything() + b"".join(dictionary_bytes(harness))
    assert not any(piece in everything for piece in pieces_of(gone))
    assert f"{HOST}{gone}\r\n".encode() not in everything
    assert len(dictionary_bytes(harness)) == 1
    left = [n for n in range(PAGES) if n != gone]
    assert [harness.store.content(f"{HOST}{n}").body for n in left] == [
        text_of(n).encode() for n in left
    ]


def test_shared_body_survives_in_a_pack_with_a_dictionary():
    from tests.contract.test_same_content import with_likeness

    harness = pack_harness()
    site(harness)
    write(harness, [with_likeness(f"{HOST}same", text_of("s"))])
    write(harness, [with_likeness(f"{HOST}copy", text_of("s"))])
    harness.upkeep(hours=1)
    harness.upkeep(hours=1)
    harness.store.takedowns.take_down(url=f"{HOST}same")

    for _ in range(24):
        harness.upkeep(hours=1)

    assert harness.store.content(f"{HOST}copy").body == text_of("s").encode()
    assert f"{HOST}same".encode() not in harness.everything()


def test_page_taken_down_while_its_pack_is_rewritten_leaves_nothing():
    harness = pack_harness()
    site(harness)
    put = harness.files.put

    def put_late(name, data, index):
        harness.files.put = put
        harness.store.takedowns.take_down(url=f"{HOST}7")
        put(name, data, index)

    harness.files.put = put_late
    harness.upkeep(hours=1)
    for _ in range(24):
        harness.upkeep(hours=1)

    everything = harness.everything() + b"".join(dictionary_bytes(harness))
    assert words(7, 200).encode()[:40] not in everything
    assert f"{HOST}7\r\n".encode() not in everything
    assert harness.store.content(f"{HOST}8").body == text_of(8).encode()


def test_upkeep_killed_after_putting_a_pack_is_completed_by_the_next():
    harness = pack_harness()
    site(harness)
    put = harness.files.put

    def killed(name, data, index):
        put(name, data, index)
        raise KeyboardInterrupt

    harness.files.put = killed
    with pytest.raises(KeyboardInterrupt):
        harness.upkeep(hours=1)
    harness.files.put = put
    harness.upkeep(hours=1)
    assert harness.store.content(f"{HOST}8").body == text_of(8).encode()
    for _ in range(24):
        harness.upkeep(hours=1)

    (_,) = harness.names()
    assert harness.store.content(f"{HOST}8").body == text_of(8).encode()


def unlike(n):
    return words(n, 1100)


def unlike_pages(harness, seeds, at_ms=NOW_MS):
    write(harness, [fetched(f"{HOST}{n}", unlike(seed), at_ms) for n, seed in enumerate(seeds)])


def test_packs_stay_if_a_dictionary_would_save_too_little():
    harness = pack_harness()
    unlike_pages(harness, range(PAGES))
    before = harness.names()

    assert harness.upkeep(hours=1).rewritten == 0
    assert harness.names() == before
    assert not list(harness.store.bodies.packs.catalog.walk(FRESH))  # they are not tried again


def test_a_half_dead_pack_is_rewritten_even_if_a_dictionary_would_save_too_little():
    harness = pack_harness()
    unlike_pages(harness, range(PAGES))
    harness.upkeep(hours=1)
    unlike_pages(harness, range(PAGES, 2 * PAGES - 20), NOW_MS + 1)

    assert harness.upkeep(hours=1).rewritten == 1
    assert dictionary_bytes(harness) == []
    assert harness.store.content(f"{HOST}{PAGES - 1}").body == unlike(PAGES - 1).encode()


def test_a_killed_rewrite_is_completed_even_if_a_dictionary_would_save_too_little():
    harness = pack_harness()
    unlike_pages(harness, range(PAGES))
    (name,) = harness.names()
    harness.clock.advance_ms(HOUR_MS)
    assert harness.store.bodies.packs.catalog.claim(name)  # by a process that is killed then

    assert harness.upkeep().rewritten == 0  # the claim lasts ten minutes
    assert harness.upkeep(hours=1).rewritten == 1
    assert harness.store.content(f"{HOST}8").body == unlike(8).encode()


def test_packs_of_many_hosts_stay_unchanged():
    harness = pack_harness()
    write(harness, [fetched(f"http://h{n}.example/", text_of(n)) for n in range(40)])
    names = harness.names()

    assert harness.upkeep(hours=1).rewritten == 0
    assert harness.names() == names
    assert not harness.store.bodies.packs.catalog.row(FRESH, names[0])


@pytest.mark.parametrize("options", [{"dictionaries": False}, {"pack_compression": "gzip"}])
def test_packs_stay_unchanged_without_dictionaries(options):
    harness = pack_harness(**options)
    site(harness)

    assert harness.upkeep(hours=1).rewritten == 0
    assert dictionary_bytes(harness) == []
    assert not list(harness.store.bodies.packs.catalog.walk(FRESH))


def test_pages_of_other_hosts_go_into_a_pack_without_a_dictionary():
    harness = pack_harness()
    site(harness)
    write(harness, [fetched(f"{OTHER}{n}", f"small {n}") for n in range(5)])
    harness.upkeep(hours=1)
    harness.upkeep(hours=1)

    packs = {pointer_of(harness.store.zen.nodes.get(node_id(f"{OTHER}{n}"))).pack for n in range(5)}
    assert len(packs) == 1
    assert len(harness.names()) == 2
    assert len(dictionary_bytes(harness)) == 1
    assert harness.store.content(f"{OTHER}3").body == b"small 3"


def test_half_dead_pack_with_a_dictionary_is_rewritten():
    harness = pack_harness()
    site(harness)
    harness.upkeep(hours=1)
    harness.upkeep(hours=1)
    (first,) = harness.names()
    later_ms = harness.clock.now_ms()
    for n in range(110):  # 60% of its bytes or more
        write(harness, [fetched(f"{HOST}{n}", f"new {n}", later_ms)])
    harness.upkeep()
    harness.upkeep(hours=1)

    assert first not in harness.names()
    assert harness.store.content(f"{HOST}115").body == text_of(115).encode()
    assert harness.store.content(f"{HOST}5").body == b"new 5"


class CountedPacks(MemoryPacks):
    """Counts reads."""

    reads = 0

    def read(self, name, offset, length):
        self.reads += 1
        return super().read(name, offset, length)


def test_first_read_fetches_the_dictionary_and_later_ones_do_not():
    harness = pack_harness(files=CountedPacks())
    site(harness)
    harness.upkeep(hours=1)
    again = harness.reopened()
    harness.files.reads = 0

    reads = []
    for n in (1, 2, 3):
        again.store.content(f"{HOST}{n}")
        reads.append(harness.files.reads)

    assert reads == [2, 3, 4]


def test_large_dictionary_takes_a_second_read():
    whole = dictionaries.Dictionary.train([text_of(n).encode() for n in range(64)])
    frame = whole.frame()
    asked = []

    def read(_, offset, length):
        asked.append((offset, length))
        return frame[offset : offset + min(length, 1000 if not offset else length)]

    found = dictionaries.PackDictionaries(read).of("pack")

    assert found.decompress(whole.compress(b"record")) == b"record"
    assert asked == [(0, dictionaries.FIRST_READ_BYTES), (1000, len(frame) - 1000)]


@pytest.mark.parametrize(
    "begin",
    [
        b"", b"\x28\xb5\x2f\xfd", b"\x5d\x2a\x4d\x18", b"\x5d\x2a\x4d\x18\x09\x00\x00\x00abc",
        b"\x5d\x2a\x4d\x18\x03\x00\x00\x00abc",
        b"\x5d\x2a\x4d\x18\x09\x00\x00\x00\x37\xa4\x30\xec\x01\x00\x00\x00\x00",
        b"\x5d\x2a\x4d\x18\x08\x00\x00\x00\x28\xb5\x2f\xfd\x00\x00\x00\x00",
    ],
)  # fmt: skip
def test_damaged_dictionary_raises_corrupt_content(begin):
    with pytest.raises(CorruptContent):
        dictionaries.PackDictionaries(lambda *_: begin).of("pack")


@pytest.mark.parametrize("at", [12, 2000])
def test_pack_with_a_damaged_dictionary_is_deleted_after_repair_and_takedown(at):
    files = MemoryPacks()
    harness = pack_harness(files=files)
    site(harness)
    harness.upkeep(hours=1)
    assert len(dictionary_bytes(harness)) == 1
    harness.upkeep(hours=48)
    (name,) = harness.names()
    data = bytearray(files.stored[name])
    data[at] ^= 1
    files.stored[name] = bytes(data)
    harness = harness.reopened()
    harness.store.maintenance.repair(grace_s=0.001)

    harness.store.takedowns.take_down(url=f"{HOST}1")
    problems = [harness.upkeep(hours=48).problems for _ in range(4)]

    assert problems == [[]] * 4
    assert harness.names() == []


def test_record_with_the_wrong_dictionary_raises_corrupt_content():
    one, other = (
        dictionaries.Dictionary.train([text_of(n + seed).encode() for n in range(64)])
        for seed in (0, 1000)
    )

    with pytest.raises(CorruptContent, match="cannot be decompressed"):
        frames.decompress(one.compress(b"a record"), other)


def test_records_with_nothing_in_common_get_no_dictionary():
    assert dictionaries.Dictionary.train([b"a"]) is None
    assert HOUR_MS == 3_600_000


def test_filtered_export_has_no_dictionary(tmp_path):
    harness = pack_harness()
    site(harness)
    harness.upkeep(hours=1)
    harness.upkeep(hours=1)
    assert len(dictionary_bytes(harness)) == 1
    harness.store.takedowns.take_down(url=f"{HOST}7")

    report = export_packs(harness.store, tmp_path)

    assert (report.whole, report.partial) == (0, 1)
    (path,) = warc_files(tmp_path)
    data = path.read_bytes()
    plain = b"".join(record for _, record in frames.records(data))
    assert dictionaries.dictionary_of(data) is None
    assert not any(piece in plain for piece in pieces_of(7))
    assert all(piece in plain for n in range(PAGES) if n != 7 for piece in pieces_of(n))
