"""
Random bytes and truncated or mutated requests: the server answers the next client and logs no bug.
"""

import contextlib
import random

import pytest

from tests.fuzz.engine import edited
from tests.support.api_server import read_all, running
from tests.support.stores import store_harness
from tests.support.waiting import wait_until
from zengraph.tables.memory import MemoryTables

A = "http://a.example/"
SEEDS = (
    f"GET /v1/urls?url={A}&fields=a,b&include= HTTP/1.1\r\nHost: localhost\r\n\r\n",
    f"GET /v1/links?url={A}&direction=in&limit=3&cursor=WzFd HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "GET /v1/changes?cursor=00&limit=1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ('POST /v1/urls:batchGet HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n'
    'Content-Length: 38\r\n\r\n{"urls": ["http://a.example/", "x", 1]}'),
    (f"PUT /v1/urls?url={A} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    'Transfer-Encoding: chunked\r\n\r\n1b\r\n{"fields": {"team.a": "1"}}\r\n0\r\n\r\n'),
    f'DELETE /v1/urls?url={A}&fields=team.a HTTP/1.1\r\nHost: localhost\r\nIf-Match: "x.y"\r\n\r\n',
)  # fmt: skip
PIECES = (
    b"\0", b"\xff", b"%", b"%ff", b"\r\n", b"\n", b" ", b":", b"\r\n\r\n", b"{", b"[" * 200, b"9" * 40,
    b"Content-Length: 7\r\n", b"Transfer-Encoding: chunked\r\n", b"Upgrade: h2c\r\nConnection: upgrade\r\n",
    b"\xc2\xb2", "ü".encode(), b"null", b"1e999", b"-1", b"&url=", b"Expect: 100-continue\r\n",
)  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_random_bytes_neither_stop_the_server_nor_find_a_bug(seed, caplog):
    chance = random.Random(seed)
    harness = store_harness(MemoryTables())
    harness.store.put(A, {"team.a": b"1"})
    with running(harness.store, head_timeout_s=0.05, keep_alive_s=0.05) as api:
        for _ in range(100):
            with api.connect() as sock, contextlib.suppress(OSError):
                data = edited(chance, [seed.encode() for seed in SEEDS], PIECES)
                sock.sendall(data)
                reply = read_all(sock)
                assert b" 500 " not in reply.split(b"\r\n", 1)[0], data
        # A busy machine may send the request too late for such a short limit.
        wait_until(lambda: api.get("/healthz").status == 200)

    assert "Traceback" not in caplog.text
