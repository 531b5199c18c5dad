"""S3 clients are created before the first request needs them."""

import pytest

from aragog.settings import ContentSettings
from aragog.urlstore.bodies import Bodies
from aragog.urlstore.content import MemoryContent
from aragog.urlstore.content.s3 import S3Content
from aragog.urlstore.content.s3_packs import S3Packs
from tests.support.waiting import wait_until

NAME = "20261130/101502-0123456789abcdef.warc.zst"


@pytest.mark.s3
def test_connected_bucket_has_a_client_and_a_connection_before_the_first_call(s3_settings):
    """On a busy machine, the first page that a caller waited for took a second."""
    packs = S3Packs(s3_settings)

    packs.connect()
    wait_until(lambda: packs._made is not None and _pools(packs))
    (pool,) = _pools(packs)
    wait_until(lambda: pool.num_requests == 1)
    packs.put(NAME, b"data", b"index")

    assert packs.read_all(NAME) == b"data"
    # A pack and its index are put at the same time, perhaps before the first connection is free.
    assert pool.num_connections <= 3


def _pools(packs):
    manager = packs._made._endpoint.http_session._manager
    return [manager.pools[key] for key in manager.pools.keys()]  # noqa: SIM118 - no dict


def test_unreachable_server_stops_no_process(caplog):
    settings = ContentSettings(
        engine="s3", s3_bucket="pages", s3_endpoint="http://127.0.0.1:9", s3_region="us-east-1",
        s3_attempts=1,
    )  # fmt: skip
    packs = S3Packs(settings)

    with caplog.at_level("INFO"):
        packs.connect()

        assert wait_until(lambda: "cannot connect in advance" in caplog.text)


def test_clients_of_one_process_share_the_s3_service_description():
    """Each client read it again: 11 MB and 0.06 s."""
    settings = ContentSettings(engine="s3", s3_bucket="pages", s3_endpoint="http://127.0.0.1:9")

    one, other = (bucket(settings)._client().meta for bucket in (S3Content, S3Packs))

    assert one.service_model._service_description is other.service_model._service_description


def test_only_remote_bodies_are_connected():
    calls = []
    content = MemoryContent()
    Bodies(content).connect()
    content.connect = lambda: calls.append("connect")
    Bodies(content).connect()

    assert calls == ["connect"]
