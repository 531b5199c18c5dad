"""The command `aragog reextract`."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from multiprocessing import get_context

import click
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from aragog.bootstrap.stores import url_store
from aragog.cli.arguments import Host
from aragog.cli.data_folder import command_settings
from aragog.cli.progress_display import progress_display
from aragog.cli.terminal import note
from aragog.cli.write_pace import WritePace, max_per_second_option
from aragog.client import Aragog
from aragog.crawl.pipeline.routing import Destination, OutgoingMessage
from aragog.crawl.stages.page_analysis import named_agent
from aragog.crawl.stages.reextract import (
    WALK,
    ReextractBatch,
    Versions,
    reextract_batch,
    text_version,
    walk,
)
from aragog.pages.rules_version import rules_versions
from aragog.settings import Settings
from aragog.urlstore.store import UrlStore

# Number of URLs per message or local batch.
BATCH_SIZE = 25


@click.command()
@click.option("--host", type=Host(), help="Only pages of this host.")
@click.option(
    "--tasks", is_flag=True, help="Send the pages to the workers instead of processing them here."
)
@click.option(
    "--afresh", is_flag=True, help="Start at the beginning instead of where the last run stopped."
)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Also process pages that this version has already processed.",
)
@max_per_second_option
def reextract(
    host: str | None,
    max_per_second: float | None,
    *,
    tasks: bool,
    afresh: bool,
    everything: bool,
) -> None:
    """
    Extract the fields of stored pages again; nothing is fetched.

    An interrupted run continues. Pages that this version of aragog has processed with the current
    rules of `extract`, `pipeline.extractors` and `pipeline.store_text` are skipped; use --all after
    you install a new version of an extractor.
    """
    counts: Counter[str] = Counter()
    settings, pace = command_settings(), WritePace(max_per_second)
    texts = text_version(settings.pipeline)
    rules = rules_versions(settings.pipeline.extractors, settings.extract)
    with (
        closing(url_store(settings)) as opened,
        _progress_bar() as progress,
        _batch_runner(tasks=tasks) as process,
    ):
        parts = [WALK, texts, rules.whole, "all" if everything else "", host]
        name = " ".join(filter(None, parts))
        cursor = None if afresh else opened.maintenance.bookmark(name)
        task = progress.add_task("extracting again", total=None if host else 1.0)
        current = Versions(texts, rules)
        for part in walk(opened, cursor, current, host=host, everything=everything):
            urls = part.urls
            batches = [
                urls[start : start + BATCH_SIZE] for start in range(0, len(urls), BATCH_SIZE)
            ]
            pace.wait(len(urls))
            for batch_counts in process(batches):
                counts += batch_counts
            opened.maintenance.set_bookmark(name, part.cursor)
            done = None if host else part.done
            progress.update(task, completed=done, description=f"{sum(counts.values()):,} read")
    result_texts = (f"{number} {name}" for name, number in sorted(_rename_results(counts).items()))
    note(", ".join(result_texts) or "nothing to extract again")


def _rename_results(counts: Counter[str]) -> dict[str, int]:
    names = {"changed": "changed", "read": "unchanged", "content": "without content"}
    return {names.get(name, name): number for name, number in counts.items()}


@contextmanager
def _batch_runner(
    *, tasks: bool
) -> Iterator[Callable[[list[tuple[str, ...]]], Iterator[Counter[str]]]]:
    if tasks:
        with Aragog() as client:
            yield partial(_send, client)
        return
    with _process_pool(os.cpu_count() or 1) as read:
        yield read


@contextmanager
def _process_pool(
    count: int,
) -> Iterator[Callable[[list[tuple[str, ...]]], Iterator[Counter[str]]]]:
    with get_context("spawn").Pool(count) as pool:
        yield partial(pool.imap_unordered, _reextract_here)


def reextract_pages(urls: Sequence[str]) -> Counter[str]:
    """Extract the fields of stored pages again, in local processes. Returns counts by result."""
    batches = [tuple(urls[start : start + BATCH_SIZE]) for start in range(0, len(urls), BATCH_SIZE)]
    counts: Counter[str] = Counter()
    if batches:
        with _process_pool(min(len(batches), os.cpu_count() or 1)) as read:
            for batch_counts in read(batches):
                counts += batch_counts
    return counts


def _send(client: Aragog, batches: list[tuple[str, ...]]) -> Iterator[Counter[str]]:
    for urls in batches:
        client.send(OutgoingMessage(Destination.REEXTRACT, ReextractBatch(urls)))
        yield Counter({"sent": len(urls)})


_process_store: list[tuple[UrlStore, Settings]] = []


def _reextract_here(urls: tuple[str, ...]) -> Counter[str]:
    if not _process_store:
        settings = command_settings()
        _process_store.append((url_store(settings), settings))
    store, settings = _process_store[0]
    return reextract_batch(
        ReextractBatch(urls),
        store,
        agent=named_agent(settings.fetch),
        limits=settings.pipeline,
        rules=settings.extract,
        purposes=settings.preferences.purposes,
    )


def _progress_bar() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    return progress_display(*columns, TimeRemainingColumn())
