"""Input and output types of the checks of `aragog doctor`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TypeVar

from aragog.settings import Settings
from aragog.settings.in_use import SettingsInUse, running_pid
from aragog.standalone.running_system import running_for_s

T = TypeVar("T")

READ_EVERY_S = 0.5
STARTS_WITHIN_S = 60.0
"""A busy machine needs this long until every process of the standalone system has answered."""


class Finding(NamedTuple):
    """The result of one check."""

    part: str
    ok: bool
    text: str
    warning: bool = False
    """True for what works, and should be changed before it does not."""


@dataclass(frozen=True)
class CheckedSystem:
    """The system that `doctor` checks."""

    in_use: SettingsInUse
    should_run: bool = True
    """False before it is started: servers and processes that do not run are no defect."""

    @property
    def settings(self) -> Settings:
        """The settings as they were given."""
        return self.in_use.settings

    @cached_property
    def resolved(self) -> Settings:
        """The settings with everything that was left empty filled in."""
        return self.settings.resolved()

    @property
    def is_down(self) -> bool:
        """True if the standalone system would run its own servers, and does not run."""
        private = self.settings.private_redis or self.settings.private_postgres
        return private and self.running_pid is None

    @property
    def running_pid(self) -> int | None:
        """The process of the standalone system that runs in this data folder."""
        return running_pid(self._run_dir)

    def settled(self, read: Callable[[], T], is_complete: Callable[[T], bool]) -> T:
        """
        What `read` returns once it is complete, or else once the system has had time to start.

        A system that has run for a minute, or that is not expected to run, is read once.
        """
        while not is_complete(found := read()) and self.should_run:
            age_s = running_for_s(self._run_dir)
            if age_s is None or age_s > STARTS_WITHIN_S:
                break
            time.sleep(READ_EVERY_S)
        return found

    @property
    def _run_dir(self) -> Path:
        return self.settings.data_dir.absolute() / "run"


Check = Callable[[CheckedSystem], Iterator[Finding]]
