"""What the store knows of URLs before they are fetched: whether at all, and their validators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from aragog.pipeline.faults import damaged
from aragog.pipeline.messages import UrlJob
from aragog.pipeline.services import Services
from aragog.urlstore.records import Record


@dataclass(frozen=True, slots=True)
class StoredValidators:
    """The validators of what is stored, and the URL that gave it: the only one they are told to."""

    url: str | None = None
    etag: str | None = None
    last_modified: str | None = None


@dataclass(frozen=True, slots=True)
class Revalidation:
    """A batch's jobs, cut by what is stored."""

    wanted: list[UrlJob]
    """To be fetched."""
    done: list[UrlJob]
    """Stored already, and nobody asked for a refresh."""
    validators: dict[str, StoredValidators]
    """By URL, for a conditional request."""
    stuck: list[UrlJob] = field(default_factory=list)
    """What is stored of them cannot be read: their rows are in a damaged file."""


def split_known(jobs: Sequence[UrlJob], services: Services) -> Revalidation:
    """
    One multi-get for the jobs that are at their beginning.

    A URL counts as stored when a fetch of it has brought a page once; earlier failures do not keep
    it out. A job in the middle of its redirects or attempts always goes on.
    """
    known = Revalidation([], [], {})
    fresh = [job for job in jobs if not job.hops and (job.refresh or not job.attempt)]
    found: dict[str, Record | None] = {}

    def read(some: Sequence[UrlJob]) -> None:
        urls = [job.url for job in some]
        found.update(zip(urls, services.store.get_many(urls, fields=[]), strict=True))

    known.stuck.extend(damaged.apart(fresh, read))
    done = {job.url for job in known.stuck}
    for job in fresh:
        record = found.get(job.url)
        if record is None or not record.content_key:
            continue
        if not job.refresh:
            done.add(job.url)
            known.done.append(job)
        else:
            names = ("final_url", "etag", "last_modified")
            known.validators[job.url] = StoredValidators(
                *(_text(record.facts.get(name)) for name in names)
            )
    known.wanted.extend(job for job in jobs if job.url not in done)
    return known


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
