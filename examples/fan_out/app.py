"""
Deliver a story to every follower of a hub: a list of any length, walked page by page.

A job of `walk` reads one page of the followers, enqueues the jobs that deliver the story to them,
and then the job of the next page, which begins at a cursor. So no job is long, and the rate of the
queue `deliveries` limits what the store gets. Every job may run twice: a delivery puts an edge,
which exists once, and the story says up to which page it was walked, so that a worker that is
killed at any point makes one page run again at most.

Start `aragog serve` with the graph of feeds.toml, a worker, and a story:

    celery -A examples.fan_out.app worker -Q pages,deliveries
    python -m examples.fan_out.start hub:news story:1
"""

from __future__ import annotations

import os
import time
from functools import cache
from pathlib import Path

from celery import Celery

import pinlater  # noqa: F401  registers pinlater://
from aragog.client import Client, GraphMutation, connect
from pinlater.job_types import JobTypes

GRAPH = "feeds"
FOLLOWS, FEED = 16, 17
PAGE = 1000
BATCH = 250
WALKED = "walked"

app = Celery("fan_out", broker=os.environ.get("BROKER", "pinlater://localhost:6379/0"))
app.conf.broker_transport_options = {
    "claim_timeout_s": float(os.environ.get("CLAIM_TIMEOUT_S", "60"))
}
jobs = JobTypes.from_toml(app, Path(__file__).with_name("jobs.toml"))


@cache
def client() -> Client:
    """One client for each process."""
    return connect(os.environ.get("API", "thrift://127.0.0.1:8101"), deadline_s=30)


def begin(hub: str, story: str) -> None:
    """Enqueue the first page. Those who follow the hub later do not get the story."""
    walk.apply_async((hub, story, int(time.time() * 1000)), unique_key=f"{story} 0")


@jobs.job
def walk(hub: str, story: str, at_ms: int, number: int = 0, cursor: str | None = None) -> None:
    """Enqueue the deliveries of one page, then the next page; the cursor is the state."""
    node = client().get_node(story, [WALKED], graph=GRAPH)
    if node is not None and int(node.properties.get(WALKED, b"-1")) >= number:
        return  # it ran before, and was killed between its last step and its end
    page = client().edges(hub, FOLLOWS, "in", PAGE, cursor, most_score=at_ms, graph=GRAPH)
    followers = [edge.node for edge in page.edges]
    for at in range(0, len(followers), BATCH):
        deliver.apply_async((followers[at : at + BATCH], story, at_ms))
    if page.cursor is not None:
        following = (hub, story, at_ms, number + 1, page.cursor)
        walk.apply_async(following, unique_key=f"{story} {number + 1}")
    client().put_node(story, {WALKED: b"%d" % number}, graph=GRAPH)


@jobs.job
def deliver(followers: list[str], story: str, at_ms: int) -> None:
    """Put the story into these feeds, newest first by its time; the same again does nothing."""
    client().mutate(
        GRAPH,
        [GraphMutation("put_edge", node, FEED, story, score=at_ms) for node in followers],
    )
