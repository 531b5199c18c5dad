"""
Measure the small costs of `aragog plan` that no other measurement shows.

    python -m bench.plan_costs [--number 20000]

A private redis-server, for a few seconds. It prints the Redis memory of an in-flight entry and of a
robots.txt's rules, the CPU of a name lookup, and the CPU of a sitemap entry that is parsed and
looked up among 10,000 stored pages. A lookup is the system's resolver in a separate thread for a
name in /etc/hosts, plus the two datagrams, for A and AAAA, that another name needs; a responder on
loopback answers them.
"""

from __future__ import annotations

import argparse
import multiprocessing
import socket
import tempfile
import time
from pathlib import Path

import redis

from aragog.crawl.fetcher.dns import look_up, system_lookup
from aragog.crawl.pipeline.in_flight import InFlightSet
from aragog.crawl.politeness.robots_cache import RobotsCache
from aragog.crawl.politeness.robots_records import RobotsResult
from aragog.pages import sitemaps
from aragog.settings import PolitenessSettings, StoreSettings
from aragog.standalone.redis_server import RedisServer
from aragog.urlstore.content import MemoryContent
from aragog.urlstore.store import UrlStore
from bench import figures
from bench.quick import add_quick
from bench.robots import BODY
from bench.urlstore import pages_of
from zengraph.tables.sqlite import SqliteTables

CHUNK = 500
DATAGRAM = b"x" * 60


def in_flight_bytes(client: redis.Redis, count: int) -> float:
    """Return the Redis memory of a URL in the in-flight set."""
    before, in_flight = _used_bytes(client), InFlightSet(client, prefix="bench:")
    for start in range(0, count, CHUNK):
        urls = [
            f"https://www.site{n // 40}.example/articles/{n}/title"
            for n in range(start, start + CHUNK)
        ]
        in_flight.mark(urls)
        in_flight.confirm(urls)
    return (_used_bytes(client) - before) / count


def robots_bytes(client: redis.Redis, url: str, count: int) -> float:
    """Return the Redis memory of one origin's rules, whose file has four lines."""
    before, rules, now_ms = _used_bytes(client), RobotsCache(url, PolitenessSettings()), _now_ms()
    for start in range(0, count, CHUNK):
        origins = (f"https://www.site-{n}.example" for n in range(start, start + CHUNK))
        rules.put_many([RobotsResult(origin, 200, BODY, now_ms) for origin in origins])
    rules.close()
    return (_used_bytes(client) - before) / count


def _used_bytes(client: redis.Redis) -> int:
    return int(client.info("memory")["used_memory_dataset"])


def _now_ms() -> int:
    return int(time.time() * 1000)


def lookup_ms(count: int) -> float:
    """Return the CPU ms of this process per lookup."""
    responder = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    responder.bind(("127.0.0.1", 0))
    process = multiprocessing.get_context("fork").Process(
        target=_respond, args=(responder,), daemon=True
    )
    process.start()
    address = responder.getsockname()

    def lookup(host: str) -> list[str]:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            for _ in ("A", "AAAA"):
                client.sendto(DATAGRAM, address)
            for _ in ("A", "AAAA"):
                client.recv(512)
        return system_lookup(host)

    look_up(lookup, "localhost", 5)
    started_s = time.process_time()
    for _ in range(count):
        look_up(lookup, "localhost", 5)
    ms_per_entry = (time.process_time() - started_s) / count * 1000
    process.kill()
    process.join()
    return ms_per_entry


def _respond(responder: socket.socket) -> None:
    while True:
        _, address = responder.recvfrom(512)
        responder.sendto(DATAGRAM, address)


def sitemap_ms(folder: Path, count: int) -> float:
    """Return the CPU ms of a sitemap entry: parsed, and looked up in the store."""
    tables = SqliteTables(folder / "tables")
    tables.create()
    store = UrlStore(tables, MemoryContent(), StoreSettings())
    pages = pages_of(min(count, 1000))
    for start in range(0, len(pages), 25):
        store.write_pages(pages[start : start + 25])
    entries = "".join(
        f"<url><loc>{page.url}</loc><lastmod>2026-01-02</lastmod></url>" for page in pages
    )
    body = (
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>'.encode()
    )
    started_s, rounds = time.process_time(), max(1, count // len(pages))
    for _ in range(rounds):
        urls = [entry.url for entry in sitemaps.parse(body, pages[0].url).urls]
        for start in range(0, len(urls), CHUNK):
            store.pages.seen_at_ms(urls[start : start + CHUNK])
    ms_per_entry = (time.process_time() - started_s) / rounds / len(pages) * 1000
    store.close()
    return ms_per_entry


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--number", type=int, default=20_000, help="of URLs, files and entries")
    add_quick(parser, number=1000)
    number = parser.parse_args().number
    with tempfile.TemporaryDirectory(prefix="ar") as folder, RedisServer(Path(folder)) as server:
        client = redis.Redis.from_url(server.url)
        costs = {
            "in_flight_url": in_flight_bytes(client, number),
            "robots_rules": robots_bytes(client, server.url, number),
            "dns": lookup_ms(number // 10),
            "sitemap_url": sitemap_ms(Path(folder), number),
        }
        client.close()
    print(f"in-flight set: {costs['in_flight_url']:.0f} bytes per entry")
    print(f"rules of a robots.txt: {costs['robots_rules']:.0f} bytes per file")
    print(f"lookup of a name: {costs['dns']:.3f} CPU ms")
    print(f"entry of a sitemap: {costs['sitemap_url']:.4f} CPU ms")
    figures.report(**costs)


if __name__ == "__main__":
    main()
