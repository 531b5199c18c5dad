"""
The exceptions of pinlater, grouped by what the caller can do.

    PinlaterError
    ├── BrokerUnavailable     a server does not answer or refuses; the same call may work later
    │   └── BrokerFull        it has no memory or disk space for new jobs
    ├── InvalidArgument       fix the call; a retry cannot help
    ├── InvalidConfig         fix the broker URL, the option or the file
    └── InvalidMessage        a job or task message that cannot be read

An error's fields are also its `args`, so that Celery can pickle it. Its message is `MESSAGE` with
these fields.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


class PinlaterError(Exception):
    """The base class of all exceptions that pinlater raises."""

    MESSAGE: ClassVar[str] = ""

    def __post_init__(self) -> None:
        # pickle passes these to `__init__` of the copy.
        self.args = tuple(vars(self).values())

    def __str__(self) -> str:
        return self.MESSAGE.format_map(vars(self)) or super().__str__()


@dataclass(eq=False, repr=False)
class BrokerUnavailable(PinlaterError):
    """The broker is unavailable; a job is enqueued only if its call returned."""

    MESSAGE = "{where}: {reason}"
    where: str
    reason: str


class BrokerFull(BrokerUnavailable):
    """The broker has no memory or disk space for new jobs; existing jobs still run."""


class InvalidArgument(PinlaterError):
    """The caller passed an invalid argument; a retry cannot help."""


class InvalidConfig(PinlaterError):
    """
    A broker URL, an option or a file of job types is invalid, or an extra is not installed.

    `problems` has one line for each problem, with the setting or file, the value and the remedy.
    """

    def __init__(self, *problems: str) -> None:
        super().__init__(*problems)
        self.problems = problems

    def __str__(self) -> str:
        return "\n".join(self.problems)


@dataclass(eq=False, repr=False)
class InvalidMessage(PinlaterError):
    """
    A job or task message cannot be read; `where` is the path of the invalid value.

    A job whose task raises it is FAILED at its first attempt, even with `broker_retries`.
    """

    MESSAGE = "{where}: {reason}"
    where: str
    reason: str
