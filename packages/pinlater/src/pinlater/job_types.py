"""
Job types. Each one is a function with a section in a TOML file.

    [thumbnail]                  jobs = JobTypes.from_toml(app, Path("jobs.toml"))
    queue = "images"
    retry = "pinlater"           @jobs.job
    rate_per_s = 20              def thumbnail(path: str) -> None: ...

The function becomes a Celery task of the same name. When the function raises, its job is retried
according to the retry policy, and is FAILED after the last attempt. When a worker starts, it
writes the rates, policies and doors to the queues, replacing changes made with the command
`pinlater`. A job may run more than once, so the function must be safe to repeat.

With `doors`, programs in other languages may use the queue. Their jobs run the function, and jobs
from `delay` and `apply_async` have plain bodies, which those programs can read (job_body.py).
"""

from __future__ import annotations

import inspect
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from celery import Celery, Task, signals
from kombu import pools
from kombu.connection import Connection

from pinlater import doors, envelope
from pinlater.admin import Admin
from pinlater.brokers import kind_of
from pinlater.errors import InvalidConfig
from pinlater.retry_policy import RetryPolicy
from pinlater.worker import follow

CLUSTERS = "clusters"
"""The section with the clusters' broker URLs by name."""


@dataclass(frozen=True, slots=True)
class JobType:
    """One section of the configuration; None keeps the queue's current setting or the default."""

    queue: str
    retry: str = ""
    """The name of a retry policy, such as `pinlater`; the other settings change it."""
    max_attempts: int | None = None
    """Deliveries before a job is FAILED; default 10."""
    linear_attempts: int | None = None
    """How many failures have a delay that grows by a fixed step; default 5."""
    retry_step_s: float | None = None
    """Seconds before the second attempt; default 10."""
    retry_growth: float | None = None
    """Growth factor of the later delays, 1 to 10; default 2."""
    retry_cap_s: float | None = None
    """The longest delay in seconds; default 3,600."""
    max_age_s: float | None = None
    """
    Maximum seconds from when a job was enqueued to its next attempt. A failing job is FAILED if its
    retry would come later; default: no limit.
    """
    rate_per_s: float | None = None
    """Jobs per second across all workers of the queue; default: unlimited."""
    time_limit_s: float | None = None
    """Seconds after which a run is stopped and counts as failed."""
    doors: Sequence[str] = ()
    """The protocols through which other programs may use the queue, `http` and `thrift`."""
    cluster: str = ""
    """Name of the queue's cluster in the section `clusters`; if empty, the app's broker."""

    def policy(self) -> dict[str, float]:
        settings = {
            "max_attempts": self.max_attempts,
            "linear_attempts": self.linear_attempts,
            "retry_step_ms": _to_ms(self.retry_step_s),
            "retry_growth": self.retry_growth,
            "retry_cap_ms": _to_ms(self.retry_cap_s),
            "max_age_ms": _to_ms(self.max_age_s),
        }
        changes = {name: value for name, value in settings.items() if value is not None}
        return {**RetryPolicy.PRESETS.get(self.retry, {}), **changes}


def _to_ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1000


class JobTask(Task):  # type: ignore[misc]
    """The Celery task of a job type."""

    abstract = True
    job_type: JobType
    cluster_connection: Connection | None = None
    """The connection to the queue's cluster; None means the app's broker."""

    def apply_async(self, args: Any = None, kwargs: Any = None, **options: Any) -> Any:
        """
        Enqueue a job; see Celery's `apply_async`.

        Raises:
            InvalidArgument: the queue has doors, and an argument is not JSON or only Celery
                supports an option.
        """
        args, kwargs = tuple(args or ()), dict(kwargs or {})
        if self.job_type.doors:
            args, kwargs = bind_by_name(self.run, args, kwargs)
            options["headers"] = {**(options.get("headers") or {}), envelope.PLAIN_HEADER: True}
        uses_other_cluster = (
            self.cluster_connection is not None and not self.app.conf.task_always_eager
        )
        if not uses_other_cluster or "producer" in options:
            return super().apply_async(args, kwargs, **options)
        with pools.producers[self.cluster_connection].acquire(block=True) as producer:
            return super().apply_async(args, kwargs, producer=producer, **options)


def bind_by_name(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """
    Return a call's arguments by parameter name, if all have one.

    Other languages then read `{"path": "a.png", "width": 10}`, however Python passed them. A single
    argument of type bytes stays positional, because it is the body.

    Raises:
        TypeError: the arguments do not match the function's parameters.
    """
    bound = inspect.signature(function).bind(*args, **kwargs)
    kinds = {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL}
    parameters = bound.signature.parameters
    if any(parameters[name].kind in kinds for name in bound.arguments):
        return bound.args, bound.kwargs
    values = dict(bound.arguments)
    if len(values) == 1 and isinstance(value := next(iter(values.values())), bytes):
        return (value,), {}
    for name in list(values):
        if parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
            values |= values.pop(name)
    return (), values


class JobTypes:
    """
    The job types of one Celery app.

    >>> from celery import Celery
    >>> app = Celery("shop", broker="memory://", set_as_current=False)
    >>> jobs = JobTypes(app, {"thumbnail": JobType(queue="images")})
    >>> @jobs.job
    ... def thumbnail(path: str) -> None:
    ...     print("shrink", path)
    >>> thumbnail("cat.png")
    shrink cat.png
    >>> jobs.types["thumbnail"].queue
    'images'

    Args:
        app: the Celery app. Its workers record how jobs end (`pinlater.worker`) and log each run.
        types: the job types by function name.
        clusters: the broker URLs of other clusters, by the name in `JobType.cluster`. A worker
            serves one cluster: `celery -A app -b URL worker`.
    """

    def __init__(
        self, app: Celery, types: Mapping[str, JobType], clusters: Mapping[str, str] | None = None
    ) -> None:
        self.types = dict(types)
        self._app = app
        self._clusters = dict(clusters or {})
        connect: Any = Connection
        self._connections = {name: connect(url) for name, url in self._clusters.items()}
        follow(app)
        signals.worker_init.connect(self._configure, weak=False)

    @classmethod
    def from_toml(
        cls, app: Celery, path: Path, clusters: Mapping[str, str] | None = None
    ) -> JobTypes:
        """
        Read job types from a file with one section per type.

        Args:
            app: see the class.
            path: the file; its section `clusters` may contain broker URLs.
            clusters: broker URLs that override the file's. Pass URLs with passwords here.

        Raises:
            InvalidConfig: the file, a key or a value is invalid. Lists all problems.
        """
        try:
            sections = tomllib.loads(path.read_text("utf-8-sig"))
        except (OSError, ValueError) as error:
            raise InvalidConfig(f"{path}: {error}") from error
        urls = sections.pop(CLUSTERS, {})
        problems = _find_cluster_problems(urls)
        urls = {**(urls if not problems else {}), **(clusters or {})}
        problems += [
            problem
            for name, section in sections.items()
            for problem in _find_section_problems(name, section, urls)
        ]
        problems += _find_door_problems(sections)
        if problems:
            raise InvalidConfig(*problems)
        return cls(app, {name: JobType(**section) for name, section in sections.items()}, urls)

    def job(self, function: Callable[..., None]) -> Any:
        """
        Make a function a Celery task; its `delay` and `apply_async` enqueue a job.

        Raises:
            InvalidConfig: the configuration has no section with the function's name.
        """
        name = str(getattr(function, "__name__", function))
        job_type = self.types.get(name)
        if job_type is None:
            raise InvalidConfig(f"{name}: has no section in the configuration of job types")
        if job_type.doors:
            doors.open_type(job_type.queue, name)
        return self._app.task(
            function,
            base=type("AppJobTask", (JobTask, self._app.Task), {"abstract": True}),
            name=name,
            queue=job_type.queue,
            job_type=job_type,
            cluster_connection=self._connections.get(job_type.cluster),
            acks_late=True,
            reject_on_worker_lost=True,
            acks_on_failure_or_timeout=False,
            ignore_result=True,
            broker_retries=True,
            time_limit=job_type.time_limit_s,
        )

    def settings(self, broker_url: str) -> dict[str, dict[str, float | None]]:
        """
        Return the settings of each queue served by this broker's workers.

        A retry policy applies to the queue if it has only one job type, otherwise to the job type.
        """
        served = {
            name: job_type
            for name, job_type in self.types.items()
            if not job_type.cluster or self._clusters.get(job_type.cluster) == broker_url
        }
        count = Counter(job_type.queue for job_type in served.values())
        result: dict[str, dict[str, float | None]] = {}
        for name, job_type in served.items():
            settings = result.setdefault(job_type.queue, {doors.SETTING: None})
            open_doors = int(settings[doors.SETTING] or 0) | doors.encode_setting(job_type.doors)
            settings[doors.SETTING] = open_doors or None
            settings |= RetryPolicy.settings(
                job_type.policy(), name if count[job_type.queue] > 1 else ""
            )
            if job_type.rate_per_s is not None:
                settings["rate"] = job_type.rate_per_s
        return result

    def _configure(self, **_: Any) -> None:
        conf = self._app.conf
        if kind_of(conf.broker_url) != "pinlater":
            return
        options = conf.broker_transport_options or {}
        admin = Admin.connect(
            conf.broker_url,
            options.get("shards", ()),
            prefix=options.get("global_keyprefix", ""),
        )
        for queue, settings in self.settings(conf.broker_url).items():
            admin.configure(queue, **settings)


def _find_cluster_problems(urls: Any) -> list[str]:
    if not isinstance(urls, dict):
        return [f"{CLUSTERS}: must be a section"]
    return [
        f"{CLUSTERS}.{name}: must be a broker URL"
        for name, url in urls.items()
        if not isinstance(url, str) or "://" not in url
    ]


def _find_door_problems(sections: Mapping[str, Any]) -> list[str]:
    """Check that a queue's job types have the same doors, because doors open whole queues."""
    first_sections: dict[str, tuple[str, Any]] = {}
    problems = []
    for name, section in sections.items():
        if isinstance(section, dict) and isinstance(queue := section.get("queue"), str):
            section_doors = section.get("doors", [])
            other, other_doors = first_sections.setdefault(queue, (name, section_doors))
            if section_doors != other_doors:
                problems.append(
                    f"{name}.doors: queue {queue} has {other_doors!r} in section {other}; give "
                    "both the same doors, or separate queues"
                )
    return problems


def _find_section_problems(name: str, section: Any, clusters: Mapping[str, str]) -> list[str]:
    if not isinstance(section, dict):
        return [f"{name}: must be a section"]
    settings = {field.name for field in fields(JobType)}
    problems = [
        f"{name}.{key}: is not a setting of a job type" for key in section.keys() - settings
    ]
    if not isinstance(section.get("queue"), str):
        problems.append(f"{name}.queue: must be the name of a queue")
    if section.get("retry", "") not in ("", *RetryPolicy.PRESETS):
        presets = " or ".join(RetryPolicy.PRESETS)
        problems.append(f"{name}.retry: must be {presets}, got {section['retry']!r}")
    if section.get("cluster", "") not in ("", *clusters):
        problems.append(f"{name}.cluster: {section['cluster']!r} is not in section {CLUSTERS}")
    section_doors = section.get("doors", [])
    if not isinstance(section_doors, list) or not all(
        door in doors.DOORS for door in section_doors
    ):
        problems.append(
            f"{name}.doors: must be a list of {', '.join(doors.DOORS)}, got {section_doors!r}"
        )
    numbers = (section.keys() & settings) - {"queue", "retry", "cluster", "doors"}
    for key in sorted(numbers):
        value = section[key]
        if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
            problems.append(f"{name}.{key}: must be a number above 0, got {value!r}")
        elif key == "retry_growth" and not 1 <= value <= 10:
            problems.append(f"{name}.{key}: must be a number from 1 to 10, got {value!r}")
    return problems
