"""A record keeps the frame in which its body was fetched, and every reader gets the whole body."""

import io
import os
import subprocess

import fastwarc
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator

from aragog.errors import CorruptContent
from aragog.urlstore import zstd
from aragog.urlstore.compression import compress, content_hash
from aragog.urlstore.packs import frames
from aragog.urlstore.packs.dictionaries import Dictionary
from aragog.urlstore.packs.pack_record import PackRecord
from aragog.urlstore.warc_records import WarcPage, page_head, read_record

BODIES = [
    b"", b"x", b"<p>some text of a page</p>" * 400,
    os.urandom(300_000),  # three uncompressed blocks
    b"\0" * 500_000,  # run-length blocks
    b"".join(b"%d " % (n * 7919) for n in range(100_000)),
    b"WARC/1.1\r\nWARC-Type: response\r\nContent-Length: 4\r\n\r\nabcd\r\n\r\n",  # looks like a record
    b"\r\n\r\n", zstd.MAGIC * 50,
]  # fmt: skip


def head_of(body):
    return page_head(
        WarcPage("http://a.example/", 1_700_000_000_000, content_hash(body), len(body))
    )


def record_of(body, compressed=None, compression="zstd"):
    frame = compress(body) if compressed is None else compressed
    return PackRecord.around(head_of(body), frame, compression)


def pack_of(bodies):
    return b"".join(record_of(body).frame for body in bodies)


@pytest.mark.parametrize("body", BODIES)
def test_fetched_body_is_copied_into_its_record(body):
    record = record_of(body)

    assert compress(body) in record.frame
    read = read_record(frames.decompress(record.frame))
    assert read.body == body
    assert read.fields["warc-payload-digest"] == f"sha256:{content_hash(body)}"


@given(st.lists(st.binary(max_size=500), min_size=1, max_size=5))
def test_records_of_several_frames_are_kept_together(bodies):
    made = [record_of(body).frame for body in [*bodies, *BODIES[-2:]]]
    found = list(frames.records(b"".join(made)))

    assert [frame.data for frame, _ in found] == made
    assert [read_record(record).body for _, record in found] == [*bodies, *BODIES[-2:]]


def test_every_frame_has_its_size_and_checksum():
    """Zstandard Compression for WARC Files 1.0, section 4.1."""
    pack = pack_of(BODIES)
    at = count = 0
    while at < len(pack):
        parameters = zstandard.get_frame_parameters(pack[at:])
        assert parameters.has_checksum
        assert zstd.content_size(pack[at:]) is not None
        at, count = zstd.end_of_frame(pack, at), count + 1

    assert count == 3 * len(BODIES)


def test_other_programs_can_read_the_records(tmp_path):
    path = tmp_path / "pack.warc.zst"
    path.write_bytes(pack_of(BODIES))

    by_fastwarc = [bytes(record.reader.read()) for record in fastwarc.ArchiveIterator(str(path))]
    reader = zstandard.ZstdDecompressor().stream_reader(path.read_bytes(), read_across_frames=True)
    plain = io.BytesIO(reader.read())
    by_warcio = [
        record.content_stream().read() for record in ArchiveIterator(plain, check_digests="raise")
    ]

    assert by_fastwarc == by_warcio == BODIES


def test_fastwarc_reads_one_record_by_its_offset():
    made = [record_of(body).frame for body in BODIES]
    for at, body in enumerate(BODIES):
        record = next(iter(fastwarc.ArchiveIterator(io.BytesIO(b"".join(made[at:])))))
        assert bytes(record.reader.read()) == body


def test_pack_truncated_anywhere_is_detected():
    pack = pack_of(BODIES[:3])
    whole = [frame.offset + len(frame.data) for frame, _ in frames.records(pack)]
    for cut in set(range(1, len(pack))) - set(whole):
        with pytest.raises(CorruptContent):
            list(frames.split(pack[:cut]))


@pytest.mark.parametrize("body", BODIES)
def test_body_of_an_earlier_version_is_compressed_again(body):
    """It has no checksum because a process of that version fetched it."""
    record = record_of(body, zstd.compress(body, 3))

    assert zstd.is_checked(record.frame)
    assert read_record(frames.decompress(record.frame)).body == body


def test_single_frame_records_of_earlier_versions_are_read():
    records = [head_of(body).with_body(body) for body in BODIES]
    pack = b"".join(frames.compress(record, "zstd") for record in records)

    assert [record for _, record in frames.records(pack)] == records
    assert [frames.decompress(frame.data) for frame in frames.split(pack)] == records


@pytest.mark.parametrize("damage", ["cut", "not zstd", "a changed byte without checksum"])
def test_damaged_body_is_refused(damage):
    body = BODIES[2]
    damaged = {
        "cut": compress(body)[:-9],
        "not zstd": b"\x1f\x8b" + bytes(40),
        "a changed byte without checksum": zstd.without_checksum(compress(body))[:-1],
    }[damage]

    with pytest.raises(CorruptContent):
        record_of(body, damaged)


@pytest.mark.parametrize("body", BODIES)
def test_gzip_has_one_member_per_record(body):
    """pywb and warcio treat every member as a separate record."""
    record = record_of(body, compression="gzip")
    records = ArchiveIterator(io.BytesIO(record.frame), check_digests="raise")
    assert [one.content_stream().read() for one in records] == [body]


def test_records_compressed_with_a_dictionary_are_read():
    records = [head_of(b"%d" % n * 300).with_body(b"%d" % n * 300) for n in range(64)]
    dictionary = Dictionary.train(records)
    pack = dictionary.frame() + b"".join(map(dictionary.compress, records))

    assert [record for _, record in frames.records(pack)] == records


def test_zstd_program_reads_a_pack(tmp_path):
    path = tmp_path / "pack.warc.zst"
    path.write_bytes(pack_of(BODIES))
    try:
        done = subprocess.run(["zstd", "-dc", path], capture_output=True, timeout=60, check=True)
    except FileNotFoundError:
        pytest.skip("the program zstd is not installed")

    assert done.stdout == b"".join(record for _, record in frames.records(path.read_bytes()))
