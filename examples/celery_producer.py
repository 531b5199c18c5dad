"""
A Celery app of your own that hands URLs to aragog.

    celery -A examples.celery_producer worker -Q mine      (your worker, for your task)
    python examples/celery_producer.py http://shop.example/p/3

It shares aragog's broker and sends the task `aragog.tasks.fetch` by its name, so it imports none
of the crawler's tasks. Prefer `aragog.client` where it can be imported: it sends a URL once,
however many callers want it, and says which URLs are invalid.
"""

from __future__ import annotations

import sys

from celery import Celery

from aragog.settings import load_settings
from pinlater.brokers import celery_settings

broker = load_settings().resolved().broker
app = Celery("mine", set_as_current=False)
app.conf.update(celery_settings(broker.url, broker.shards, broker.claim_timeout_s))
app.conf.task_default_queue = "mine"


@app.task
def look_at(url: str) -> None:
    """Do something of your own, then have the page fetched."""
    app.send_task("aragog.tasks.fetch", [url], queue="fetch")


if __name__ == "__main__":
    for url in sys.argv[1:]:
        look_at(url)
        print(f"sent: {url}")
