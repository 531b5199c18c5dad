"""A private S3 server for the whole run, and a separate bucket for every test."""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from aragog.settings import ContentSettings
from aragog.urlstore.content.s3 import S3Content
from deploy.s3.server import ACCESS_KEY, SECRET_KEY, S3Server
from tests.support.missing_parts import S3
from tests.support.servers import folder_of_a_server, start_or_skip

_numbers = itertools.count(1)


def start_s3(folder: Path) -> S3Server:
    """Start a server; see `start_or_skip`."""
    return start_or_skip(S3Server(folder).start, S3)


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    """One server for the whole run. Tests leave it running."""
    with folder_of_a_server("s3") as folder, start_s3(folder) as server:
        yield server


@pytest.fixture
def s3_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set credentials where boto3 looks first, and hide the user's files."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture
def s3_settings(s3_server: S3Server, s3_credentials: None) -> ContentSettings:
    """An empty bucket on the session's server."""
    bucket = f"test-{next(_numbers)}"
    s3_server.create_bucket(bucket)
    return ContentSettings(
        engine="s3",
        s3_bucket=bucket,
        s3_endpoint=s3_server.endpoint,
        s3_region="us-east-1",
        s3_prefix="pages/",
    )


@pytest.fixture(scope="session")
def versioned_s3_server() -> Iterator[S3Server]:
    """One server for the whole run whose buckets may keep versions."""
    with folder_of_a_server("s3-versions") as folder:
        server = S3Server(folder, versions=True)
        with start_or_skip(server.start, S3):
            yield server


@pytest.fixture
def versioned_s3_settings(versioned_s3_server: S3Server, s3_credentials: None) -> ContentSettings:
    """An empty bucket that keeps all versions of its objects."""
    bucket = f"versions-{next(_numbers)}"
    versioned_s3_server.create_bucket(bucket)
    versioned_s3_server.keep_versions(bucket)
    return ContentSettings(
        engine="s3",
        s3_bucket=bucket,
        s3_endpoint=versioned_s3_server.endpoint,
        s3_region="us-east-1",
    )


@pytest.fixture
def s3_content(s3_settings: ContentSettings) -> S3Content:
    """The content store in that bucket."""
    return S3Content(s3_settings)


@pytest.fixture
def own_s3_server() -> Iterator[S3Server]:
    """This test's own server, which it may stop and start."""
    with tempfile.TemporaryDirectory(prefix="aragog-s3-") as folder:
        server = start_s3(Path(folder))
        yield server
        server.stop()
