"""
A worker process that sends requests to one origin as fast as the limiter allows.

    python -m tests.support.slot_worker NODE[,NODE] PORT QPS SECONDS THREADS HOST...

`SHARED|LEASE_S|NODE[,NODE]` also names the server with the ring's record, and the lease of the first.

Each thread reserves a slot, acquires a permit, sends and releases, until time is up. If a limiter
node does not answer, it sends nothing and continues with the next host. Prints counts as JSON. It may
be killed at any time.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from collections import Counter

from aragog.crawl.politeness.limiter import Limiter
from aragog.crawl.politeness.nodes.record import LEASE_S
from aragog.crawl.politeness.slots import Slot, SlotRequest
from aragog.errors import LimiterUnavailable
from aragog.settings import PolitenessSettings


def work(limiter: Limiter, port: int, hosts: list[str], until_s: float, did: Counter[str]) -> None:
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    turn = 0
    while time.monotonic() < until_s:
        host = hosts[turn % len(hosts)]
        turn += 1
        try:
            send(limiter, connection, host, did)
        except LimiterUnavailable:
            did["unavailable"] += 1


def send(limiter: Limiter, connection: socket.socket, host: str, did: Counter[str]) -> None:
    slot = limiter.reserve([SlotRequest(host)])[0]
    assert isinstance(slot, Slot)
    if not limiter.acquire_permit(slot):
        did["late"] += 1
        return
    connection.sendall(f"GET /{slot.token} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    did["sent"] += 1
    did["solo"] += bool(slot.pre_granted_until_us)
    try:
        limiter.release_permit(slot)
    finally:
        connection.recv(65536)


def main(url: str, port: str, qps: str, seconds: str, threads: str, *hosts: str) -> None:
    *ring, nodes = url.split("|")
    shared, lease_s = (ring[0], float(ring[1])) if ring else (None, LEASE_S)
    settings = PolitenessSettings(qps=float(qps))
    limiter = Limiter(nodes.split(","), settings, shared=shared, lease_s=lease_s)
    did: Counter[str] = Counter()
    until_s = time.monotonic() + float(seconds)
    args = (limiter, int(port), list(hosts), until_s, did)
    running = [threading.Thread(target=work, args=args) for _ in range(int(threads))]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    limiter.close()
    print(json.dumps(did | {"cpu_ms": int(time.process_time() * 1000)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
