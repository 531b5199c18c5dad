"""
Measure examples/fan_out: a story to every follower of a hub, through pinlater, Thrift and Zen.

    python -m bench.fan_out [--followers 1000000] [--workers 1]

SQLite, one server process, `--workers` Celery workers with one process each, and a private Redis,
all on this machine. The queue's rate limit is removed. Prints how fast followers were put directly
in batches, and the deliveries per second from the first page to the last delivery.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from aragog.bootstrap.graphs import application_graphs
from aragog.settings import load_settings
from aragog.standalone.redis_server import RedisServer
from bench.quick import add_quick
from bench.zen import server
from pinlater.admin import Admin
from pinlater.brokers import of_socket
from urlspelling import url_key
from zengraph import IN, EdgeKey, Graph, NewEdge

ROOT = Path(__file__).parent.parent
FOLLOWS, FEED = 16, 17
HUB, STORY = "hub:news", "story:1"
BATCH = 1000
MAX_RUN_S = 3600


def fill(graph: Graph, followers: int) -> None:
    """Make a number of users follow the hub."""
    for first in range(0, followers, BATCH):
        users = range(first, min(followers, first + BATCH))
        hub = url_key(HUB)
        graph.put_edges([NewEdge(EdgeKey(url_key(f"user:{n}"), FOLLOWS, hub), n) for n in users])


@contextmanager
def worker(environ: dict[str, str]) -> Iterator[None]:
    """Run a Celery worker of the example."""
    command = [sys.executable, "-m", "celery", "-A", "examples.fan_out.app", "worker"]
    process = subprocess.Popen(
        [*command, "-Q", "pages,deliveries", "-c1", "--without-gossip", "--without-mingle"],
        env=os.environ | environ, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def is_busy(admin: Admin) -> bool:
    """Return True if jobs of either queue wait or run."""
    sizes = [admin.status(queue).sizes for queue in ("pages", "deliveries")]
    return any(
        sizes_of_queue.due + sizes_of_queue.later + sizes_of_queue.running
        for sizes_of_queue in sizes
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--followers", type=int, default=1_000_000)
    parser.add_argument("--workers", type=int, default=1)
    add_quick(parser, followers=2000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ar") as name, ExitStack() as stack:
        folder = Path(name)
        redis = stack.enter_context(RedisServer(folder))
        environ = {"ARAGOG_DATA_DIR": name, "BROKER": of_socket(str(redis.socket))}
        graph_settings = {
            "ARAGOG_STORE__GRAPHS": "feeds",
            "ARAGOG_STORE__GRAPH_COUNTED": "feeds:16",
        }
        graphs = stack.enter_context(
            closing(application_graphs(load_settings(None, environ | graph_settings)))
        )
        started_s = time.perf_counter()
        fill(graphs["feeds"], options.followers)
        took_s = time.perf_counter() - started_s
        print(f"{options.followers} followers put: {options.followers / took_s:.0f}/s", flush=True)
        core = max(os.sched_getaffinity(0))
        port, _ = stack.enter_context(server("thrift", environ | graph_settings, core))
        environ["API"] = f"thrift://127.0.0.1:{port}"
        for _ in range(options.workers):
            stack.enter_context(worker(environ))
        admin = Admin.connect(environ["BROKER"])
        wait_until(
            lambda: admin.status("deliveries").settings, 60
        )  # workers write it as they start
        admin.limit("deliveries", None)
        started_s = time.perf_counter()
        command = [sys.executable, "-m", "examples.fan_out.start", HUB, STORY]
        subprocess.run(command, env=os.environ | environ, cwd=ROOT, check=True)
        wait_until(lambda: not is_busy(admin), MAX_RUN_S)
        took_s = time.perf_counter() - started_s
        delivered = sum(1 for _ in graphs["feeds"].walk_edges(url_key(STORY), IN, FEED))
        jobs = admin.status("deliveries").sizes.succeeded + admin.status("pages").sizes.succeeded
        print(
            f"{delivered} of {options.followers} feeds have the story after {took_s:.1f} s: "
            f"{delivered / took_s:.0f}/s, {jobs} jobs, {options.workers} worker processes"
        )
        if delivered != options.followers:
            sys.exit(1)


def wait_until(condition: Callable[[], object], limit_s: float) -> None:
    """Wait for a condition."""
    deadline_s = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > deadline_s:
            raise TimeoutError
        time.sleep(0.05)


if __name__ == "__main__":
    main()
