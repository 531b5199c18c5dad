"""A bucket that keeps versions: taken down content is in none of them."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from aragog.errors import CorruptContent
from aragog.settings import ContentSettings
from aragog.urlstore.content.s3 import S3Content
from aragog.urlstore.content.s3_packs import S3Packs
from aragog.urlstore.packs import frames
from deploy.s3.server import S3Server
from tests.support.missing_parts import S3
from tests.support.pack_harness import fetched, pack_harness
from tests.support.servers import start_or_skip
from tests.support.stores import NOW_MS

pytestmark = pytest.mark.s3
A, B = "http://a.example/", "http://b.example/"
SECRET = "the secret of this page"


@pytest.fixture
def versioned(tmp_path: Path, s3_credentials):
    """Settings of a bucket with versions, and a client of its server."""
    server = S3Server(tmp_path, versions=True)
    start_or_skip(server.start, S3)
    with server:
        server.create_bucket("versions")
        server.keep_versions("versions")
        settings = ContentSettings(
            engine="s3", s3_bucket="versions", s3_endpoint=server.endpoint,
            s3_region="us-east-1",
        )  # fmt: skip
        yield settings, server.client()


def all_versions(client) -> bytes:
    """Everything in the bucket, in all versions, decompressed where possible."""
    found = []
    listed = client.list_object_versions(Bucket="versions")
    for item in listed.get("Versions", ()):
        version = {"Bucket": "versions", "Key": item["Key"], "VersionId": item["VersionId"]}
        data = client.get_object(**version)["Body"].read()
        found.append(item["Key"].encode() + data)
        try:
            found += [frames.decompress(frame.data) for frame in frames.split(data)]
        except CorruptContent:
            found.append(frames.decompress(data[data.index(b"\x28\xb5\x2f\xfd") :])
                         if b"\x28\xb5\x2f\xfd" in data else b"")  # fmt: skip
    return b"\n".join(found)


@pytest.mark.parametrize("layout", ["packs", "objects"])
def test_takedown_leaves_no_version_in_the_bucket(versioned, layout):
    settings, client = versioned
    settings = dataclasses.replace(settings, layout=layout)
    harness = pack_harness(files=S3Packs(settings), content=S3Content(settings), layout=layout)
    for n in range(3):
        harness.store.write_pages(
            [fetched(A, f"{SECRET} {n}", NOW_MS + n), fetched(B, f"stays {n}", NOW_MS + n)]
        )
    assert all_versions(client).count(SECRET.encode()) >= 3
    harness.store.takedowns.take_down(url=A)
    for _ in range(24):
        harness.upkeep(hours=1)

    left = all_versions(client)
    assert SECRET.encode() not in left
    assert A.encode() not in left
    assert harness.store.content(B).body == b"stays 2"
