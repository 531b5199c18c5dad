"""
Job types defined by a function and a section of a TOML file.

    [thumbnail]                  jobs = JobTypes.from_toml(app, Path("jobs.toml"))
    queue = "images"
    max_attempts = 5             @jobs.job
    rate_per_s = 20              def thumbnail(path: str) -> None: ...

The function becomes a Celery task of the same name. When it raises, its job runs again according to
the queue's retry policy, and is FAILED after the last attempt. The rate and the policy belong to
the queue: a worker writes them when it starts, and the command `pinlater` changes them live until
the next start. A job may run more than once, so the function must be safe to repeat.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from celery import Celery, signals

from pinlater.admin import Admin
from pinlater.brokers import kind_of
from pinlater.errors import InvalidConfig
from pinlater.worker import follow


@dataclass(frozen=True, slots=True)
class JobType:
    """One section of the configuration. None keeps the queue's current setting, or the default."""

    queue: str
    max_attempts: int | None = None
    """Deliveries before a job is FAILED; default 10."""
    retry_step_s: float | None = None
    """Delay before the second attempt; default 10."""
    rate_per_s: float | None = None
    """Jobs a second, over all workers of the queue; default: unlimited."""
    time_limit_s: float | None = None
    """A run that takes longer is ended, and fails."""

    def settings(self) -> dict[str, float]:
        """Settings to apply to the queue."""
        settings = {
            "max_attempts": self.max_attempts,
            "retry_step_ms": self.retry_step_s and self.retry_step_s * 1000,
            "rate": self.rate_per_s,
        }
        return {name: value for name, value in settings.items() if value is not None}


class JobTypes:
    """
    The job types of one Celery app.

    Args:
        app: its workers will record how jobs end (`pinlater.worker`).
        types: the job types by function name.
    """

    def __init__(self, app: Celery, types: Mapping[str, JobType]) -> None:
        self.types = dict(types)
        self._app = app
        follow(app)
        signals.worker_init.connect(self._configure, weak=False)

    @classmethod
    def from_toml(cls, app: Celery, path: Path) -> JobTypes:
        """
        Read job types from a file with one section per type.

        Raises:
            InvalidConfig: the file, a key or a value is invalid; lists all problems at once.
        """
        try:
            sections = tomllib.loads(path.read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise InvalidConfig(f"{path}: {error}") from error
        problems = [p for name, section in sections.items() for p in _problems(name, section)]
        if problems:
            raise InvalidConfig(*problems)
        return cls(app, {name: JobType(**section) for name, section in sections.items()})

    def job(self, function: Callable[..., None]) -> Any:
        """
        Make a function a Celery task; `task.delay(…)`, `task.apply_async(…)` enqueue a job.

        Raises:
            InvalidConfig: the configuration has no section with the function's name.
        """
        name = str(getattr(function, "__name__", function))
        kind = self.types.get(name)
        if kind is None:
            raise InvalidConfig(f"{name}: has no section in the configuration of job types")
        return self._app.task(
            function,
            name=name,
            queue=kind.queue,
            acks_late=True,
            reject_on_worker_lost=True,
            acks_on_failure_or_timeout=False,
            ignore_result=True,
            broker_retries=True,
            time_limit=kind.time_limit_s,
        )

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
        for kind in self.types.values():
            if kind.settings():
                admin.configure(kind.queue, **kind.settings())


def _problems(name: str, section: Any) -> list[str]:
    if not isinstance(section, dict):
        return [f"{name}: must be a section"]
    settings = {field.name for field in fields(JobType)}
    problems = [
        f"{name}.{key}: is not a setting of a job type" for key in section.keys() - settings
    ]
    if not isinstance(section.get("queue"), str):
        problems.append(f"{name}.queue: must be the name of a queue")
    for key in (section.keys() & settings) - {"queue"}:
        value = section[key]
        if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
            problems.append(f"{name}.{key}: must be a number above 0, got {value!r}")
    return problems
