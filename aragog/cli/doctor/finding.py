"""Input and output types of the checks of `aragog doctor`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from aragog.settings import Settings
from aragog.standalone.running_system import running_pid


class Finding(NamedTuple):
    """The result of one check."""

    part: str
    ok: bool
    text: str
    warning: bool = False
    """True for what works, and should be changed before it does not."""


@dataclass(frozen=True, slots=True)
class CheckedSystem:
    """The system that `doctor` checks."""

    settings: Settings
    """As they were given."""
    resolved: Settings
    """With everything that was left empty filled in."""

    @property
    def is_down(self) -> bool:
        """True if the standalone system would run its own servers, and does not run."""
        run_dir = self.settings.data_dir.absolute() / "run"
        return self.settings.private_redis and running_pid(run_dir) is None


Check = Callable[[CheckedSystem], Iterator[Finding]]
