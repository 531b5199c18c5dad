"""
The task that writes pages and fetch outcomes.

It is safe to run twice; see aragog.crawl.stages.store.

A batch mostly waits until the pack (a file of many bodies) with its content is stored. A process
therefore runs many batches, each in a thread, but only `workers.store` threads read the spool and
write to the store.
"""

from __future__ import annotations

from typing import Any

from aragog.crawl.pipeline.messages import PageBatch
from aragog.tasks.policy import callable_module, stage
from aragog.tasks.routes import STORE
from aragog.tasks.stored_again import write_again
from aragog.workers.services import pipeline, run_in_store_thread, send_all


@stage(STORE)
def store(message: dict[str, Any] | list[str] | str) -> None:
    """
    Write the batch's content, then its nodes, links and due rows.

    For a URL (`store.delay("https://…")`) or a list of URLs, the stored pages are written again.
    """
    if isinstance(message, str | list):
        write_again(STORE, message)
        return
    stage, batch = pipeline().store, PageBatch.read(message)
    urgent = batch.is_urgent
    waiting = stage.join(batch)
    begun = run_in_store_thread(lambda: stage.begin(batch, waiting), urgent=urgent).wait()
    send_all(run_in_store_thread(lambda: stage.finish(begun), urgent=urgent))


__getattr__ = callable_module(store)
