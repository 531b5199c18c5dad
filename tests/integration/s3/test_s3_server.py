"""The private S3 server leaves no process behind."""

import pytest

from tests.support.s3_server import start_s3

pytestmark = pytest.mark.s3


def test_a_server_that_was_started_before_its_block_is_started_once(tmp_path):
    server = start_s3(tmp_path)
    started = server._process

    with server as running:
        inside = running._process

    assert inside is started
    assert started.returncode is not None
