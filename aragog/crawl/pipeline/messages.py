"""
The messages between the stages. A message is a batch of URLs in JSON.

Each Celery message costs 1 to 3 ms of CPU, so one message carries up to `pipeline.batch_size` URLs.
Each URL in a batch has its own outcome, retries and destination. Bodies stay in the spool, and
messages carry their tokens.

    tasks.fetch         FetchBatch    URLs to fetch
    tasks.robots        RobotsBatch   origins whose rules are needed, and URLs waiting for them
    tasks.render        ResultBatch   the result of one fetch, to be rendered
    tasks.canonicalize  ResultBatch   the results of a batch of fetches
    tasks.store         PageBatch     the spool token of the page updates to write

Every batch has a version: `VERSION`, or `DICTIONARY_VERSION` if the batch refers to bodies that are
compressed with a dictionary. A newer version raises `NewerMessage`, and the job returns to the
queue for a worker that can read it. Any other unreadable message raises `InvalidMessage`. Within a
version, fields are only added. Workers pass on unknown fields of a job or a fetch, but ignore
unknown fields of a batch. So anything that must stay with a URL has to be a field of its job.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self

from aragog.crawl.pipeline.message_hops import hops_to_wire, pop_hops
from aragog.errors import InvalidMessage, NewerMessage
from aragog.fetch_record.known_fields import known_fields, unknown_fields
from aragog.fetch_record.outcome import RECORD_FIELDS, FetchRecord, Hop, OutcomeKind

VERSION = 1
DICTIONARY_VERSION = 2
"""The version of a batch with a body that is compressed with a dictionary."""

# 0 is the most urgent, as in kombu's Redis transport and in pinlater.
URGENT = 2
"""Jobs with this priority number or a lower one overtake their domain's other jobs, and may use the
spool while it is closed to others."""
PRIORITY_DEFAULT = 5
PRIORITY_REFRESH = 7
AS_KEPT = "as-kept"
"""In `UrlJob.purposes`: the purposes of a crawl that keeps the stored page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlJob:
    """One URL to be fetched."""

    url: str
    """The normalized URL."""
    depth: int = 0
    """Levels of links to follow from the URL, within its registered domain."""
    pages: int = 0
    """Number of consecutive pages of a listing that led to the URL (`listings`)."""
    refresh: bool = False
    """True to fetch the URL even if it is stored. The request is conditional if there are
    validators (ETag, Last-Modified)."""
    sitemap: bool = False
    """True for a sitemap. Its entries are enqueued, including those of `depth` levels of sitemaps
    that it lists."""
    file: bool = False
    """True for an item's file, such as an image, which is stored without analysis."""
    priority: int = PRIORITY_DEFAULT
    attempt: int = 0
    """Number of temporary failures so far."""
    slot_at_ms: int | None = None
    """The slot (time of the request) reserved for the job, by the limiter's clock."""
    target: str | None = None
    """The URL to continue with after a deferred redirect."""
    hops: tuple[Hop, ...] = ()
    """The redirects up to `target`."""
    url_filter: str = ""
    """Which links on the page to follow, in the format of `UrlFilter.wire`."""
    given: str | None = None
    """The original form of `url`, if robots.txt might decide differently about it."""
    target_given: str | None = None
    """Likewise, the original form of `target`."""
    request_id: str = ""
    """ID of the call that enqueued the URL, for the logs of all stages."""
    traceparent: str = ""
    """The context of its `enqueue` span (W3C Trace Context). Empty if it is not traced."""
    left_at_ms: int | None = None
    """When a traced URL left its previous stage, by that machine's clock."""
    purposes: str | None = None
    """The crawl's purposes, such as `ai-input search`. Empty for no purpose, None for the purposes
    in the settings, or `AS_KEPT`."""
    then: str = ""
    """The task to run afterward for a Celery caller (`aragog.tasks.continuation`), or empty."""
    crawl: int = 0
    """The crawl's number (`crawl_records`). Called `c` in JSON, to save memory for millions of
    waiting URLs."""
    after_status: int = 0
    """The previous attempt's HTTP status, if it requires another proxy for the next attempt;
    otherwise 0."""
    unknown: Mapping[str, Any] = field(default_factory=dict, hash=False, repr=False)
    """Fields from a newer version of aragog. They are passed on."""

    def purposes_with_default(self, default: tuple[str, ...]) -> tuple[str, ...]:
        """Return the crawl's purposes, or `default` (the purposes in the settings)."""
        has_purposes = self.purposes is not None and self.purposes != AS_KEPT
        return tuple((self.purposes or "").split()) if has_purposes else default

    @property
    def next_url(self) -> str:
        """The redirect target at which the job stopped, or the job's own URL."""
        return self.target or self.url

    @property
    def url_forms(self) -> tuple[str, ...]:
        """All forms of `next_url` that robots.txt must allow."""
        original_form = self.target_given if self.target else self.given
        return (self.next_url, original_form) if original_form else (self.next_url,)

    def wire(self) -> dict[str, Any]:
        """Return the job as JSON, without default values."""
        values = {
            "url": self.url,
            **_drop_defaults(self, _JOB_DEFAULTS),
            **hops_to_wire(self.hops),
        }
        if self.crawl:
            values[_CRAWL_KEY] = self.crawl
        return {**self.unknown, **values} if self.unknown else values

    @classmethod
    def read(cls, wire: Mapping[str, Any]) -> Self:
        """Parse a job from JSON. Raises InvalidMessage if it is not a job."""
        try:
            fields = dict(wire)
            hops = pop_hops(fields)
            names = fields.keys() & _JOB_TYPES.keys()
            values = {name: fields.pop(name) for name in names}
            if _CRAWL_KEY in fields:
                names, values["crawl"] = {*names, "crawl"}, fields.pop(_CRAWL_KEY)
            job = cls(**values, hops=hops, unknown=fields)
        except (TypeError, ValueError) as error:
            raise InvalidMessage("url job", f"{error}: {str(wire)[:200]}") from error
        job._check(names)
        return job

    def _check(self, names: Iterable[str]) -> None:
        """Check types and bounds now. Later, one bad job would make the whole batch fail."""
        for name in names:
            field_type, minimum, maximum = _JOB_TYPES.get(name, _CRAWL_TYPE)
            value: Any = getattr(self, name)
            is_in_bounds = field_type is str or (
                isinstance(value, int) and minimum <= value <= maximum
            )
            is_valid = is_in_bounds and isinstance(value, field_type)
            if not (is_valid or (value is None and name in _OPTIONAL_FIELDS)):
                raise InvalidMessage("url job", f"{name} is {value!r}, of {str(self.url)[:200]!r}")


_JOB_TYPES: dict[str, tuple[type, int, int]] = {
    "url": (str, 0, 0),
    "depth": (int, 0, 1 << 31),
    "pages": (int, 0, 1 << 31),
    "refresh": (int, 0, 1),
    "sitemap": (int, 0, 1),
    "file": (int, 0, 1),
    "priority": (int, 0, 9),
    "attempt": (int, 0, 1 << 31),
    "slot_at_ms": (int, 0, 1 << 53),
    "target": (str, 0, 0),
    "given": (str, 0, 0),
    "target_given": (str, 0, 0),
    "url_filter": (str, 0, 0),
    "request_id": (str, 0, 0),
    "traceparent": (str, 0, 0),
    "left_at_ms": (int, 0, 1 << 53),
    "purposes": (str, 0, 0),
    "then": (str, 0, 0),
    "after_status": (int, 0, 999),
}
"""Type and bounds of each field. A bool counts as an int."""
_CRAWL_KEY = "c"
_CRAWL_TYPE = (int, 0, 1 << 53)
_OPTIONAL_FIELDS = ("slot_at_ms", "target", "given", "target_given", "left_at_ms", "purposes")
_JOB_DEFAULTS = {
    f.name: f.default
    for f in dataclasses.fields(UrlJob)
    if f.name not in ("url", "hops", "crawl", "unknown")
}


@dataclass(frozen=True, slots=True)
class FetchBatch:
    """URLs to fetch."""

    jobs: tuple[UrlJob, ...]

    def wire(self) -> dict[str, Any]:
        return {"v": VERSION, "urls": [job.wire() for job in self.jobs]}

    @classmethod
    def read(cls, wire: Any) -> Self:
        return cls(tuple(UrlJob.read(job) for job in cls.entries(wire)))

    @staticmethod
    def entries(wire: Any) -> list[Any]:
        """Return the jobs as unparsed JSON. Raises InvalidMessage if `wire` is not a batch."""
        return list(_read_entries(wire, "urls"))


@dataclass(frozen=True, slots=True)
class RobotsBatch:
    """Origins whose robots rules are needed, and URLs waiting for the rules (none in a refresh)."""

    origins: tuple[str, ...]
    jobs: tuple[UrlJob, ...] = ()
    claimed: bool = False
    """True if the sender has claimed the refresh of these origins for this message."""
    refresh: bool = False
    """True to fetch the rules even if the cached ones are fresh."""
    slots: Mapping[str, int] = field(default_factory=dict)
    """Slots already reserved for origins, in ms by the limiter's clock."""

    def wire(self) -> dict[str, Any]:
        return {
            "v": VERSION,
            "origins": list(self.origins),
            "urls": [job.wire() for job in self.jobs],
            "claimed": self.claimed,
            **({"refresh": True} if self.refresh else {}),
            **({"slots": dict(self.slots)} if self.slots else {}),
        }

    @classmethod
    def read(cls, wire: Any) -> Self:
        jobs = tuple(UrlJob.read(job) for job in _read_entries(wire, "urls"))
        origins, slots = tuple(wire.get("origins", ())), wire.get("slots", {})
        return cls(origins, jobs, bool(wire.get("claimed")), bool(wire.get("refresh")), slots)


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchResult:
    """The result of one job, without its body."""

    job: UrlJob
    fetch: FetchRecord
    token: str | None = None
    """The token of the compressed body in the spool."""
    body_hash: str | None = None
    """The SHA-256 of the uncompressed body, in hex."""
    needs_dictionary: bool = False
    """True if the body in the spool is compressed with a dictionary."""
    taken_down: bool = False
    """True if a redirect of `job.url` leads to a URL that was taken down."""

    def wire(self) -> dict[str, Any]:
        """Return the result as JSON, without default values or values that the job contains."""
        fetch = self.fetch
        values = {
            "job": self.job.wire(),
            "outcome": fetch.outcome.value,
            "final_url": fetch.final_url,
            **_drop_defaults(fetch, _RECORD_DEFAULTS),
            **_drop_defaults(self, _RESULT_DEFAULTS),
            **hops_to_wire(fetch.hops),
        }
        return {**fetch.unknown, **values} if fetch.unknown else values

    @classmethod
    def read(cls, wire: Mapping[str, Any]) -> Self:
        """Parse a result from JSON. Raises InvalidMessage if it is unreadable."""
        try:
            values = dict(wire)
            job = UrlJob.read(values.pop("job"))
            result_values = {name: values.pop(name) for name in _RESULT_DEFAULTS if name in values}
            fetch = FetchRecord(
                url=job.url,
                attempts=job.attempt + 1,
                outcome=OutcomeKind.read(values.pop("outcome")),
                hops=pop_hops(values),
                headers=tuple((k, v) for k, v in values.pop("headers", ())),
                **known_fields(FetchRecord, values),
                _unknown=unknown_fields(FetchRecord, values),
            )
            return cls(job=job, fetch=fetch, **result_values)
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidMessage("fetch result", str(error)) from error


_RESULT_DEFAULTS = {
    f.name: f.default for f in dataclasses.fields(FetchResult) if f.name not in ("job", "fetch")
}
_RECORD_DEFAULTS = {
    f.name: f.default
    for f in dataclasses.fields(FetchRecord)
    if f.name in RECORD_FIELDS and f.name not in ("url", "attempts", "outcome", "final_url", "hops")
}


@dataclass(frozen=True, slots=True)
class ResultBatch:
    """The results of a batch of fetches."""

    results: tuple[FetchResult, ...]

    def wire(self) -> dict[str, Any]:
        version = _body_version(any(result.needs_dictionary for result in self.results))
        return {"v": version, "results": [result.wire() for result in self.results]}

    @classmethod
    def read(cls, wire: Any) -> Self:
        results = _read_entries(wire, "results", DICTIONARY_VERSION)
        return cls(tuple(FetchResult.read(result) for result in results))


@dataclass(frozen=True, slots=True)
class PageBatch:
    """The token of page updates in the spool. If they have expired, the jobs are fetched again."""

    token: str
    jobs: tuple[UrlJob, ...]
    bodies: tuple[str, ...] = field(default=())
    """Tokens of bodies to free after everything is written."""
    needs_dictionary: bool = False
    """True if one of the bodies is compressed with a dictionary."""

    @property
    def is_urgent(self) -> bool:
        """True if a caller is waiting for one of the pages."""
        return any(job.priority <= URGENT for job in self.jobs)

    def wire(self) -> dict[str, Any]:
        return {
            "v": _body_version(self.needs_dictionary),
            "token": self.token,
            "bodies": list(self.bodies),
            "urls": [job.wire() for job in self.jobs],
        }

    @classmethod
    def read(cls, wire: Any) -> Self:
        entries = _read_entries(wire, "urls", DICTIONARY_VERSION)
        jobs = tuple(UrlJob.read(job) for job in entries)
        needs_dictionary = wire["v"] == DICTIONARY_VERSION
        return cls(str(wire.get("token")), jobs, tuple(wire.get("bodies", ())), needs_dictionary)


def _body_version(needs_dictionary: bool) -> int:
    return DICTIONARY_VERSION if needs_dictionary else VERSION


def check_version(wire: Any, kind: str, newest: int = VERSION) -> None:
    """
    Check the version of a message.

    Raises:
        NewerMessage: its version is newer than `newest`.
        InvalidMessage: it has no version, or an older one.
    """
    version = wire.get("v") if isinstance(wire, Mapping) else type(wire).__name__
    if not isinstance(version, int) or not VERSION <= version <= newest:
        error = NewerMessage if isinstance(version, int) and version > newest else InvalidMessage
        raise error(kind, f"version {version!r} is not {newest}")


@contextmanager
def message_errors(wire: Any, kind: str) -> Iterator[None]:
    """Check the version of a message, and raise InvalidMessage if the block fails to read it."""
    check_version(wire, kind)
    try:
        yield
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidMessage(kind, str(error)) from error


def split_into_batches(jobs: Sequence[UrlJob], size: int) -> list[FetchBatch]:
    """Return the jobs in batches of at most `size`, in order."""
    return [FetchBatch(tuple(jobs[i : i + size])) for i in range(0, len(jobs), size)]


def _read_entries(wire: Any, name: str, newest: int = VERSION) -> Sequence[Any]:
    check_version(wire, "batch", newest)
    items = wire.get(name)
    if not isinstance(items, list):
        raise InvalidMessage(f"batch.{name}", "is not a list")
    return items


def _drop_defaults(
    value: UrlJob | FetchResult | FetchRecord, defaults: Mapping[str, Any]
) -> dict[str, Any]:
    values = ((name, getattr(value, name)) for name in defaults)
    return {name: field_value for name, field_value in values if field_value != defaults[name]}
