"""
Records of many megabytes: the memory that a server uses to read them, before any response is sent.
"""

import random
import socket
import sys
from pathlib import Path

import orjson
import pytest

from aragog.bootstrap.stores import url_store
from aragog.settings import Settings
from tests.integration.serving.test_serve_process import serving
from tests.support import thrift_server
from tests.support.api_server import parsed, running
from tests.support.standalone import free_port
from tests.support.waiting import wait_until

SMALL, FIELDS = "http://a.example/", [f"team.f{n}" for n in range(8)]
LARGE = [f"http://big{n}.example/" for n in range(8)]
RECORD_BYTES = 8_000_000
HOST = "HTTP/1.1\r\nHost: localhost\r\n"


def fill(folder):
    """Eight records of 8 MB that cannot be compressed, and a small one."""
    store, source = url_store(Settings(data_dir=folder)), random.Random(1)
    for url in LARGE:
        value = source.randbytes(RECORD_BYTES // len(FIELDS) // 2).hex().encode()
        store.put(url, dict.fromkeys(FIELDS, b'"%b"' % value))
    store.put(SMALL, {"team.a": b"1"})
    return store


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    store = fill(tmp_path_factory.mktemp("large"))
    yield store
    store.close()


def peak_mb(pid):
    """The peak memory of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    [line] = [line for line in lines if line.startswith("VmHWM")]
    return int(line.split()[1]) // 1024


def batch(urls):
    body = orjson.dumps({"urls": urls, "fields": FIELDS})
    head = f"POST /v1/urls:batchGet {HOST}Content-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


@pytest.mark.redis
@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_many_unread_large_reads_use_limited_memory(redis_server, tmp_path):
    """
    16 threads built their responses at once, before any was counted: 3 GB, and 12 GB with plain
    reads.
    """
    fill(tmp_path).close()
    port = free_port()
    more = {
        "ARAGOG_SERVING__DEADLINE_MS": "60000",
        "ARAGOG_SERVING__MAX_RESPONSE_MEMORY_BYTES": "60000000",
    }
    plain = f"GET /v1/urls?url={LARGE[0]}&include= {HOST}\r\n".encode()
    with serving(redis_server, tmp_path, port, **more) as process:
        before = peak_mb(process.pid)
        socks = [socket.create_connection(("127.0.0.1", port), 60) for _ in range(60)]
        for place, sock in enumerate(socks):
            sock.sendall(plain if place % 2 else batch(LARGE[:4]))
        statuses = [int(sock.recv(100, socket.MSG_PEEK).split()[1]) for sock in socks]
        after = peak_mb(process.pid)
        for sock in socks:
            sock.close()

    assert set(statuses) <= {200, 503}
    assert 200 in statuses
    assert after - before < 900


def test_batch_of_large_records_is_returned_up_to_the_limit(store):
    """All of a batch were read before the first was counted."""
    with running(store, deadline_ms=60_000) as api:
        reply = api.ask("POST", "/v1/urls:batchGet", {"urls": [SMALL, *LARGE], "fields": FIELDS})
        small = api.get_fast(f"/v1/urls?url={SMALL}&include=")

    statuses = [result["status"] for result in reply.json["results"]]
    assert statuses == [200] * 6 + [413] * 3
    assert small.status == 200


def test_large_records_are_read_one_by_one_over_thrift(store, apache):
    with (
        thrift_server.running(store, deadline_ms=60_000) as server,
        apache.client(server.port) as client,
    ):
        results = client.getMany([SMALL, *LARGE], FIELDS, apache.types.ReadOptions())
        record = client.get(LARGE[-1], FIELDS, apache.types.ReadOptions())

    statuses = [result.status for result in results]
    found, left_out = apache.types.ItemStatus.OK, apache.types.ItemStatus.LEFT_OUT
    assert statuses == [found] * 2 + [left_out] * 7
    assert sum(map(len, record.fields.values())) >= RECORD_BYTES


def test_large_reads_wait_for_each_other_and_small_ones_do_not(store):
    with running(store, deadline_ms=60_000) as api:
        socks = [api.connect() for _ in range(12)]
        for sock in socks:
            sock.sendall(batch(LARGE[:4]))
        small = [api.get_fast(f"/v1/urls?url={SMALL}&include=").status for _ in range(20)]
        wait_until(lambda: api.api.unsent.held_bytes > 0, otherwise="one is answered")
        for sock in socks:
            sock.close()
        wait_until(lambda: api.api.running_calls == 0, otherwise="they end")
        wait_until(lambda: api.api.unsent.held_bytes == 0, otherwise="nothing is held")
        again = parsed(
            api.raw(
                batch(LARGE[:1]).replace(HOST.encode(), f"{HOST}Connection: close\r\n".encode())
            )
        )

    assert small == [200] * 20
    assert again.status == 200
