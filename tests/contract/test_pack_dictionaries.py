"""
Packs with few hosts get a dictionary: fewer bytes, the same pages, and no trace of deleted pages.
"""

import random
from io import BytesIO

import pytest
import zstandard
from warcio.archiveiterator import ArchiveIterator

from aragog.errors import CorruptContent
from aragog.transfer.pack_export import export_packs, files_of
from aragog.urlstore.bodies import pointer_of
from aragog.urlstore.content import FolderPacks, MemoryPacks
from aragog.urlstore.pack_index import pack_index
from aragog.urlstore.packs import dictionaries, frames
from aragog.urlstore.packs.catalog import FRESH
from aragog.urlstore.packs.pointers import index_name
from tests.support.pack_stand import HOUR_MS, fetched, pack_stand
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


def write(stand, pages):
    packing = stand.store.pack_pages(pages, now=True)
    stand.store.write_pages(packing.wait())
    packing.settle()


def site(stand, host=HOST, pages=PAGES, at_ms=NOW_MS):
    for first in range(0, pages, 40):
        some = range(first, min(pages, first + 40))
        write(stand, [fetched(f"{host}{n}", text_of(n), at_ms) for n in some])


def size_of(stand):
    return sum(file.size for file in stand.files.packs())


def dictionary_bytes(stand):
    """The dictionaries of all packs, decompressed by zstandard alone."""
    found = []
    for name in stand.names():
        data = stand.files.read_all(name)
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
    stand = pack_stand(files=files)
    site(stand)
    before, old = size_of(stand), stand.names()

    assert stand.upkeep().rewritten == 0  # more may come
    assert stand.upkeep(hours=1).rewritten == len(old) == 3
    stand.upkeep(hours=1)

    (name,) = stand.names()
    assert len(dictionary_bytes(stand)) == 1
    assert size_of(stand) < 0.75 * before
    bodies = [stand.store.content(f"{HOST}{n}").body for n in range(PAGES)]
    assert bodies == [text_of(n).encode() for n in range(PAGES)]
    assert name.endswith(".warc.zst")
    assert stand.upkeep(hours=2).rewritten == 0


def test_other_programs_can_read_a_pack_with_a_dictionary():
    stand = pack_stand()
    site(stand)
    stand.upkeep(hours=1)
    stand.upkeep(hours=1)
    (name,), (dictionary,) = stand.names(), dictionary_bytes(stand)
    data = stand.files.read_all(name)
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
    index = stand.files.indexes[index_name(name)]
    assert len(index.splitlines()) == PAGES
    assert pack_index(name, data) == (index, None)


def test_frames_without_a_dictionary_have_size_and_checksum_too():
    stand = pack_stand()
    write(stand, [fetched(HOST, "text")])

    for name in stand.names():
        for frame in frames.split(stand.files.read_all(name)):
            parameters = zstandard.get_frame_parameters(frame.data)
            assert (parameters.has_checksum, parameters.dict_id) == (True, 0)


def test_takedown_leaves_nothing_in_a_dictionary(files):
    stand = pack_stand(files=files)
    site(stand)
    stand.upkeep(hours=1)
    stand.upkeep(hours=1)
    (dictionary,) = dictionary_bytes(stand)
    seen = (n for n in range(PAGES) if any(piece in dictionary for piece in pieces_of(n)))
    gone = next(seen)
    stand.store.takedowns.take_down(url=f"{HOST}{gone}")

    for _ in range(24):
        stand.upkeep(hours=1)

    everything = stand.everything() + b"".join(dictionary_bytes(stand))
    assert not any(piece in everything for piece in pieces_of(gone))
    assert f"{HOST}{gone}\r\n".encode() not in everything
    assert len(dictionary_bytes(stand)) == 1
    left = [n for n in range(PAGES) if n != gone]
    assert [stand.store.content(f"{HOST}{n}").body for n in left] == [
        text_of(n).encode() for n in left
    ]


def test_shared_body_survives_in_a_pack_with_a_dictionary():
    from tests.contract.test_same_content import with_likeness

    stand = pack_stand()
    site(stand)
    write(stand, [with_likeness(f"{HOST}same", text_of("s"))])
    write(stand, [with_likeness(f"{HOST}copy", text_of("s"))])
    stand.upkeep(hours=1)
    stand.upkeep(hours=1)
    stand.store.takedowns.take_down(url=f"{HOST}same")

    for _ in range(24):
        stand.upkeep(hours=1)

    assert stand.store.content(f"{HOST}copy").body == text_of("s").encode()
    assert f"{HOST}same".encode() not in stand.everything()


def test_page_taken_down_while_its_pack_is_rewritten_leaves_nothing():
    stand = pack_stand()
    site(stand)
    put = stand.files.put

    def put_late(name, data, index):
        stand.files.put = put
        stand.store.takedowns.take_down(url=f"{HOST}7")
        put(name, data, index)

    stand.files.put = put_late
    stand.upkeep(hours=1)
    for _ in range(24):
        stand.upkeep(hours=1)

    everything = stand.everything() + b"".join(dictionary_bytes(stand))
    assert words(7, 200).encode()[:40] not in everything
    assert f"{HOST}7\r\n".encode() not in everything
    assert stand.store.content(f"{HOST}8").body == text_of(8).encode()


def test_upkeep_killed_after_putting_a_pack_is_completed_by_the_next():
    stand = pack_stand()
    site(stand)
    put = stand.files.put

    def killed(name, data, index):
        put(name, data, index)
        raise KeyboardInterrupt

    stand.files.put = killed
    with pytest.raises(KeyboardInterrupt):
        stand.upkeep(hours=1)
    stand.files.put = put
    stand.upkeep(hours=1)
    assert stand.store.content(f"{HOST}8").body == text_of(8).encode()
    for _ in range(24):
        stand.upkeep(hours=1)

    (_,) = stand.names()
    assert stand.store.content(f"{HOST}8").body == text_of(8).encode()


def unlike(n):
    return words(n, 1100)


def unlike_pages(stand, seeds, at_ms=NOW_MS):
    write(stand, [fetched(f"{HOST}{n}", unlike(seed), at_ms) for n, seed in enumerate(seeds)])


def test_packs_stay_if_a_dictionary_would_save_too_little():
    stand = pack_stand()
    unlike_pages(stand, range(PAGES))
    before = stand.names()

    assert stand.upkeep(hours=1).rewritten == 0
    assert stand.names() == before
    assert not list(stand.store.bodies.packs.catalog.walk(FRESH))  # they are not tried again


def test_a_half_dead_pack_is_rewritten_even_if_a_dictionary_would_save_too_little():
    stand = pack_stand()
    unlike_pages(stand, range(PAGES))
    stand.upkeep(hours=1)
    unlike_pages(stand, range(PAGES, 2 * PAGES - 20), NOW_MS + 1)

    assert stand.upkeep(hours=1).rewritten == 1
    assert dictionary_bytes(stand) == []
    assert stand.store.content(f"{HOST}{PAGES - 1}").body == unlike(PAGES - 1).encode()


def test_a_killed_rewrite_is_completed_even_if_a_dictionary_would_save_too_little():
    stand = pack_stand()
    unlike_pages(stand, range(PAGES))
    (name,) = stand.names()
    stand.clock.advance_ms(HOUR_MS)
    assert stand.store.bodies.packs.catalog.claim(name)  # by a process that is killed then

    assert stand.upkeep().rewritten == 0  # the claim lasts ten minutes
    assert stand.upkeep(hours=1).rewritten == 1
    assert stand.store.content(f"{HOST}8").body == unlike(8).encode()


def test_packs_of_many_hosts_stay_unchanged():
    stand = pack_stand()
    write(stand, [fetched(f"http://h{n}.example/", text_of(n)) for n in range(40)])
    names = stand.names()

    assert stand.upkeep(hours=1).rewritten == 0
    assert stand.names() == names
    assert not stand.store.bodies.packs.catalog.row(FRESH, names[0])


@pytest.mark.parametrize("options", [{"dictionaries": False}, {"pack_compression": "gzip"}])
def test_packs_stay_unchanged_without_dictionaries(options):
    stand = pack_stand(**options)
    site(stand)

    assert stand.upkeep(hours=1).rewritten == 0
    assert dictionary_bytes(stand) == []
    assert not list(stand.store.bodies.packs.catalog.walk(FRESH))


def test_pages_of_other_hosts_go_into_a_pack_without_a_dictionary():
    stand = pack_stand()
    site(stand)
    write(stand, [fetched(f"{OTHER}{n}", f"small {n}") for n in range(5)])
    stand.upkeep(hours=1)
    stand.upkeep(hours=1)

    packs = {pointer_of(stand.store.zen.nodes.get(node_id(f"{OTHER}{n}"))).pack for n in range(5)}
    assert len(packs) == 1
    assert len(stand.names()) == 2
    assert len(dictionary_bytes(stand)) == 1
    assert stand.store.content(f"{OTHER}3").body == b"small 3"


def test_half_dead_pack_with_a_dictionary_is_rewritten():
    stand = pack_stand()
    site(stand)
    stand.upkeep(hours=1)
    stand.upkeep(hours=1)
    (first,) = stand.names()
    later_ms = stand.clock.now_ms()
    for n in range(110):  # 60% of its bytes or more
        write(stand, [fetched(f"{HOST}{n}", f"new {n}", later_ms)])
    stand.upkeep()
    stand.upkeep(hours=1)

    assert first not in stand.names()
    assert stand.store.content(f"{HOST}115").body == text_of(115).encode()
    assert stand.store.content(f"{HOST}5").body == b"new 5"


class CountedPacks(MemoryPacks):
    """Counts reads."""

    reads = 0

    def read(self, name, offset, length):
        self.reads += 1
        return super().read(name, offset, length)


def test_first_read_fetches_the_dictionary_and_later_ones_do_not():
    stand = pack_stand(files=CountedPacks())
    site(stand)
    stand.upkeep(hours=1)
    again = stand.reopened()
    stand.files.reads = 0

    reads = []
    for n in (1, 2, 3):
        again.store.content(f"{HOST}{n}")
        reads.append(stand.files.reads)

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
    stand = pack_stand()
    site(stand)
    stand.upkeep(hours=1)
    stand.upkeep(hours=1)
    assert len(dictionary_bytes(stand)) == 1
    stand.store.takedowns.take_down(url=f"{HOST}7")

    report = export_packs(stand.store, tmp_path)

    assert (report.whole, report.partial) == (0, 1)
    (path,) = files_of(tmp_path)
    data = path.read_bytes()
    plain = b"".join(record for _, record in frames.records(data))
    assert dictionaries.dictionary_of(data) is None
    assert not any(piece in plain for piece in pieces_of(7))
    assert all(piece in plain for n in range(PAGES) if n != 7 for piece in pieces_of(n))
