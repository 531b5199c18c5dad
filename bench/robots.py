"""
Measure robots.txt: parsing 800 rules and checking a URL, with both engines in one run; then the
whole robots stage (slot, GET, parse and store, without the message).

    python -m bench.robots

Takes a few seconds, loopback only. `ready` is parsing and the first check, which builds the
matcher. The hostile file is 500 KiB of wildcards, checked against a path of 2,000 characters.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import random
import socket
import tempfile
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from aragog.bootstrap.stages import connect
from aragog.crawl.pipeline.messages import RobotsBatch
from aragog.crawl.pipeline.routing import OutgoingMessage
from aragog.crawl.politeness.robots_rules import RobotsRules
from aragog.settings import FetchSettings, Settings, StoreSettings
from aragog.settings.servers import RedisSettings
from aragog.standalone.redis_server import RedisServer
from bench import figures
from bench.quick import add_quick
from bench.timing import best_s

AGENT = "aragog/1.0 (+https://example.org/bot)"
LETTERS = "abcdefghij-_"


def robots_txt(rules: int, wildcard_share: float, rng: random.Random) -> bytes:
    """Return a file with `rules` rules, a share of them with wildcards."""
    lines = ["User-agent: *"]
    for _ in range(rules):
        words = ("".join(rng.choices(LETTERS, k=rng.randint(3, 10))) for _ in range(3))
        path = "/" + "/".join(words)
        if rng.random() < wildcard_share:
            path = rng.choice(
                [f"/*{path[1:]}", f"{path}/*/x", f"/*?{path[1:8]}=", f"*{path[-6:]}$"]
            )
        lines.append(rng.choice(("Disallow: ", "Allow: ")) + path)
    return "\n".join(lines).encode()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_quick(parser)
    rules = 20 if parser.parse_args().quick else 800
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from reppy.robots import Robots

    rng = random.Random(1)
    words = ("".join(rng.choices(LETTERS, k=8)) for _ in range(4))
    url = f"https://www.example.com/{'/'.join(words)}?page=12&sort=price"
    table = Table("800 rules", "parse ms", "ready ms", "match µs", "reppy parse ms", "match µs")
    for wildcard_share in (0.0, 0.1, 0.3, 1.0):
        body = robots_txt(rules, wildcard_share, rng)
        parsed_rules, reppy_rules = (
            RobotsRules.parse(body),
            Robots.parse("https://a.test/robots.txt", body),
        )

        def parse_and_match(body=body):
            RobotsRules.parse(body).allows(AGENT, url)

        def reppy_parse(body=body):
            Robots.parse("https://a.test/robots.txt", body)

        def match(rules=parsed_rules):
            for _ in range(1000):
                rules.allows(AGENT, url)

        def reppy_match(rules=reppy_rules):
            for _ in range(1000):
                rules.allowed(url, "aragog")

        table.add_row(
            f"{wildcard_share:.0%} with wildcards",
            f"{best_s(lambda body=body: RobotsRules.parse(body)) * 1e3:.2f}",
            f"{best_s(parse_and_match) * 1e3:.2f}",
            f"{best_s(match) * 1e3:.2f}",
            f"{best_s(reppy_parse) * 1e3:.2f}",
            f"{best_s(reppy_match) * 1e3:.2f}",
        )
    Console().print(table)

    lines = (f"Disallow: /*{'a' * 49}b{'a' * 49}*{n}" for n in range(4400))
    hostile = ("User-agent: *\n" + "\n".join(lines)).encode()
    took_s = best_s(lambda: RobotsRules.parse(hostile).allows(AGENT, "/" + "a" * 2000), 1)
    print(f"hostile file of {len(hostile) / 1024:.0f} KiB: {took_s * 1e3:.0f} ms")
    wildcards = b"User-agent: *\nDisallow: /*a*a*a*ab"
    reppy_rules = Robots.parse("https://a.test/robots.txt", wildcards)
    path = "https://a.test/" + "a" * 60
    aragog_us = best_s(lambda: RobotsRules.parse(wildcards).allows("a", path)) * 1e6
    reppy_us = best_s(lambda: reppy_rules.allowed(path, "a"), 1) * 1e6
    print(f"four wildcards, a path of 60: {aragog_us:.0f} µs, reppy {reppy_us:.0f} µs")
    for origins in (1, 25):
        ms_per_origin = stage_ms(origins)
        figures.report(robots=ms_per_origin)
        print(f"robots stage, {origins} origins per message: {ms_per_origin:.2f} ms per origin")


BODY = b"User-agent: *\nDisallow: /private/\nDisallow: /*?sort=\nSitemap: https://a.test/s.xml\n"


def serve(listener: socket.socket) -> None:
    """Answer every request with the same robots.txt."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {len(BODY)}\r\n\r\n"
    while True:
        with contextlib.suppress(OSError):
            connection, _ = listener.accept()
            connection.recv(65_536)
            connection.sendall(head.encode() + BODY)
            connection.close()


class NullSender:
    """A sender that discards all messages."""

    def send(self, message: OutgoingMessage) -> None:
        """Discard the message."""

    def send_all(self, messages: Sequence[OutgoingMessage]) -> None:
        """Discard the messages."""


def stage_ms(origins: int, rounds: int = 40) -> float:
    """Return the CPU ms of this process per robots.txt, with `origins` domains per message."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=512)
    server = multiprocessing.Process(target=serve, args=(listener,), daemon=True)
    server.start()
    with tempfile.TemporaryDirectory(prefix="ar") as folder, RedisServer(Path(folder)) as shared:
        fetch = FetchSettings(
            user_agent="aragog/1.0 (+http://127.0.0.1/)",
            host_map={"*.test": f"127.0.0.1:{listener.getsockname()[1]}"},
            allowed_networks=("127.0.0.0/8",),
        )
        settings = Settings(
            data_dir=Path(folder),
            redis=RedisSettings(url=shared.url),
            store=StoreSettings(engine="memory"),
            fetch=fetch,
        )
        pipeline = connect(settings, NullSender())

        def run_batches(first: int, last: int) -> None:
            for n in range(first, last):
                names = tuple(f"http://d{n}x{i}.test" for i in range(origins))
                pipeline.robots.run(RobotsBatch(names))

        run_batches(0, 5)
        started = time.process_time()
        run_batches(5, 5 + rounds)
        took_s = time.process_time() - started
        pipeline.close()
    server.kill()
    return took_s / rounds / origins * 1e3


if __name__ == "__main__":
    main()
