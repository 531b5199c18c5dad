"""Packs can be read by other archive programs."""

import io
import json

import fastwarc
import pytest
import zstandard
from warcio.archiveiterator import ArchiveIterator

from aragog.errors import CorruptContent
from aragog.urlstore.pack_index import pack_index
from aragog.urlstore.packs import frames
from aragog.urlstore.packs.pointers import PackPointer
from tests.support.pack_harness import fetched, pack_harness
from tests.support.stores import NOW_MS

A, B = "http://a.example/", "http://b.example/"


def plain(data, compression):
    """The bytes of a pack for a reader that only knows the compression."""
    if compression == "gzip":
        return io.BytesIO(data)
    reader = zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True)
    return io.BytesIO(reader.read())


def a_pack(compression="zstd"):
    harness = pack_harness(pack_compression=compression)
    harness.store.write_pages([fetched(A, "the body of a"), fetched(B, "of b")])
    (name,) = harness.names()
    return harness, name, harness.files.read_all(name)


@pytest.mark.parametrize("compression", ["zstd", "gzip"])
def test_warcio_reads_all_records_with_correct_digests(compression):
    _, name, data = a_pack(compression)
    assert name.endswith(".warc.zst" if compression == "zstd" else ".warc.gz")

    found = []
    for record in ArchiveIterator(plain(data, compression), check_digests="raise"):
        body = record.content_stream().read()
        found.append((record.rec_type, record.rec_headers.get_header("WARC-Target-URI"), body))
        assert record.rec_headers.protocol == "WARC/1.1"
        if record.rec_type == "response":
            assert record.http_headers.get_header("X-Crawler-Content-Encoding") == "gzip"
            assert record.http_headers.get_header("Content-Length") == str(len(body))
            assert record.rec_headers.get_header("WARC-IP-Address") == "192.0.2.7"

    assert [(kind, url) for kind, url, _ in found] == [
        ("warcinfo", None), ("response", A), ("response", B),
    ]  # fmt: skip
    assert [body for _, _, body in found[1:]] == [b"the body of a", b"of b"]


@pytest.mark.parametrize("compression", ["zstd", "gzip"])
def test_fastwarc_reads_a_stored_pack(compression, tmp_path):
    """It decompresses both formats itself."""
    harness, name, _ = a_pack(compression)
    packing = harness.store.pack_pages([fetched(A, "the body of a", NOW_MS + 60_000)], now=True)
    harness.store.write_pages(packing.wait())
    found = []
    for number, pack in enumerate(harness.names()):
        path = tmp_path / f"{number}{name[name.index('.') :]}"
        path.write_bytes(harness.files.read_all(pack))
        for record in fastwarc.ArchiveIterator(str(path)):
            kind = record.headers["WARC-Type"]
            if kind != "warcinfo":
                url, status = record.headers["WARC-Target-URI"], record.http_headers.status_code
                found.append((kind, url, status, bytes(record.reader.read())))

    assert sorted(found) == [
        ("response", A, 200, b"the body of a"),
        ("response", B, 200, b"of b"),
        ("revisit", A, 200, b""),
    ]


@pytest.mark.parametrize("compression", ["zstd", "gzip"])
def test_index_gives_the_location_of_each_record(compression):
    harness, name, data = a_pack(compression)
    (index,) = harness.files.indexes.values()

    lines = index.decode().splitlines()
    assert lines == sorted(lines)
    for line in lines:
        values = json.loads(line.split(" ", 2)[2])
        frame = data[int(values["offset"]) : int(values["offset"]) + int(values["length"])]
        (record,) = ArchiveIterator(plain(frame, compression))
        assert record.rec_headers.get_header("WARC-Target-URI") == values["url"]
        assert values["filename"] == name.rpartition("/")[2]
        assert values["mime"] == "text/html"
    assert pack_index(name, data) == (index, None)


def test_revisit_refers_to_the_record_with_the_body():
    harness, _, _ = a_pack()
    packing = harness.store.pack_pages([fetched(A, "the body of a", NOW_MS + 60_000)], now=True)
    harness.store.write_pages(packing.wait())
    packs = [plain(harness.files.read_all(name), "zstd") for name in harness.names()]
    records = [record for pack in packs for record in ArchiveIterator(pack)]
    (record,) = (one for one in records if one.rec_type == "revisit")

    headers = record.rec_headers.get_header
    assert headers("WARC-Profile").endswith("1.1/revisit/identical-payload-digest")
    assert headers("WARC-Refers-To-Target-URI") == A
    assert headers("WARC-Refers-To-Date") == "2023-11-14T22:13:20Z"
    assert headers("WARC-Date") == "2023-11-14T22:14:20Z"


@pytest.mark.parametrize("compression", ["zstd", "gzip"])
def test_pack_is_split_into_frames_and_a_truncated_one_is_detected(compression):
    _, _, data = a_pack(compression)
    parts = list(frames.split(data))

    assert b"".join(part.data for part in parts) == data
    assert parts[0].offset == 0
    for cut in (1, 5, parts[-1].offset - 1, len(data) - 1):
        with pytest.raises(CorruptContent):
            list(frames.split(data[:cut]))


@pytest.mark.parametrize("cell", [b"", b"x", b"2 a b", b"1 ../x 0 1 aa", b"1 20261129/x 0 1 a"])
def test_invalid_pointer_is_refused(cell):
    with pytest.raises(CorruptContent, match="is not a pointer"):
        PackPointer.read(cell)


def test_pointer_round_trips_and_unknown_parts_are_ignored():
    pointer = PackPointer("20261129/101502-00112233445566aa.warc.zst", 7, 9, "f" * 32)

    assert PackPointer.read(pointer.cell()) == pointer
    assert PackPointer.read(pointer.cell() + b" more") == pointer
