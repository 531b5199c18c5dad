"""
Reads any producer's messages. A message is one URL, a list, or a batch
(`aragog.crawl.pipeline.messages`).

URLs need not be normalized. Entries that are neither URLs nor jobs are reported as problems; the
others are still read.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from aragog.crawl.pipeline.messages import FetchBatch, RobotsBatch, UrlJob
from aragog.errors import InvalidMessage, InvalidUrl
from urlspelling import normalize
from urlspelling.domain import origin


def read_fetch(message: Any) -> tuple[FetchBatch, list[str]]:
    """
    Return the batch in a message, with normalized URLs, and the problems with unreadable entries.

    Raises:
        InvalidMessage: not a batch, a batch of another version, or a batch whose entries are all
            unreadable.
    """
    jobs: list[UrlJob] = []
    problems: list[str] = []
    for entry in _read_entries(message):
        try:
            jobs.append(_read_job(entry))
        except (InvalidMessage, InvalidUrl) as error:
            problems.append(str(error))
    if problems and not jobs:
        raise InvalidMessage("fetch", "; ".join(problems))
    return FetchBatch(tuple(jobs)), problems


def read_robots(message: Any) -> RobotsBatch:
    """
    Return the batch in a message. A URL or a list of URLs is a request for the rules of their
    origins, even if the cached rules are fresh.

    Raises:
        InvalidMessage: not a batch, a batch of another version, or a list with an entry that is not
            a URL.
    """
    if not isinstance(message, str | list | tuple):
        return RobotsBatch.read(message)
    urls = [message] if isinstance(message, str) else message
    try:
        origins = dict.fromkeys(origin(normalize(url)) for url in urls)
    except (InvalidUrl, TypeError, AttributeError) as error:
        raise InvalidMessage("robots", str(error)) from error
    return RobotsBatch(tuple(origins), refresh=True)


def urls_in(message: Any) -> list[str]:
    """Return the URLs in a message of any stage, normalized as in the in-flight set."""
    entries = message if isinstance(message, list | tuple) else [message]
    if isinstance(message, Mapping):
        entries = [*_get_list(message, "urls"), *_get_list(message, "results")]
    result = []
    for entry in entries:
        job = entry.get("job", entry) if isinstance(entry, Mapping) else entry
        url = job.get("url") if isinstance(job, Mapping) else job
        if isinstance(url, str):
            with suppress(InvalidUrl):
                result.append(normalize(url))
    return result


def _get_list(message: Mapping[str, Any], name: str) -> list[Any]:
    items = message.get(name)
    return items if isinstance(items, list) else []


def _read_entries(message: Any) -> list[Any]:
    if isinstance(message, str):
        return [message]
    if isinstance(message, list | tuple):
        return list(message)
    return FetchBatch.entries(message)


def _read_job(entry: Any) -> UrlJob:
    job = UrlJob(url=entry) if isinstance(entry, str) else UrlJob.read(entry)
    url = normalize(job.url)
    target = None if job.target is None else normalize(job.target)
    if (url, target) == (job.url, job.target):
        return job
    return replace(job, url=url, target=target)
