"""Run the checks of `aragog doctor`, with their input and results."""

from __future__ import annotations

import errno
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TypeVar

import redis

from aragog.errors import ALL
from aragog.settings import Settings
from aragog.settings.in_use import SettingsInUse, running_pid
from aragog.standalone.running_system import running_for_s

T = TypeVar("T")

POLL_INTERVAL_S = 0.5
START_TIMEOUT_S = 60.0
"""Even on a busy machine, all processes of `aragog up` respond within this time."""


class Finding(NamedTuple):
    """The result of one check."""

    part: str
    ok: bool
    text: str
    warning: bool = False
    """True if something works, but should be changed before it fails."""


@dataclass(frozen=True)
class CheckedSystem:
    """The settings that `doctor` checks, and whether aragog runs with them."""

    in_use: SettingsInUse
    should_run: bool = True
    """If False, aragog was not started, and missing servers are not errors."""

    @property
    def settings(self) -> Settings:
        """The settings as written, without the addresses of private servers."""
        return self.in_use.settings

    @cached_property
    def resolved(self) -> Settings:
        """The settings with the addresses of private servers."""
        return self.settings.resolved()

    @property
    def is_down(self) -> bool:
        """True if the settings are for a standalone aragog, and it is not running."""
        private = self.settings.private_redis or self.settings.private_postgres
        return private and self.running_pid is None

    @property
    def running_pid(self) -> int | None:
        """Return the process id of this data folder's running supervisor, or None."""
        return running_pid(self._run_dir)

    def wait_for(self, read: Callable[[], T], is_complete: Callable[[T], bool]) -> T:
        """
        Call `read` until its result is complete or all processes have had time to start.

        Calls it only once if aragog has run for a minute, or is not expected to run.
        """
        while not is_complete(result := read()) and self.should_run:
            age_s = running_for_s(self._run_dir)
            if age_s is None or age_s > START_TIMEOUT_S:
                break
            time.sleep(POLL_INTERVAL_S)
        return result

    @property
    def _run_dir(self) -> Path:
        return self.settings.data_dir.absolute() / "run"


Check = Callable[[CheckedSystem], Iterator[Finding]]


CHECK_TIMEOUT_S = 2 * START_TIMEOUT_S
"""Time limit for a check. It leaves time for processes to start and for servers to time out."""

DISK_FULL_ERRNOS = (errno.ENOSPC, errno.EDQUOT)


def run_checks(
    checks: Sequence[Check], system: CheckedSystem, timeout_s: float
) -> tuple[list[Finding], bool]:
    """
    Run the checks; returns their findings in order, and whether a check is still running.

    A check that fails to run or takes longer than `timeout_s` seconds is reported as a finding. In
    the second case, its thread keeps running and may prevent the process from exiting. Unexpected
    errors are raised.
    """
    findings: list[Finding] = []
    is_hanging = False
    for check in checks:
        check_findings: list[Finding] = []
        unexpected_errors: list[Exception] = []
        thread = threading.Thread(
            target=_run_check, args=(check, system, check_findings, unexpected_errors), daemon=True
        )
        thread.start()
        thread.join(timeout_s)
        findings += check_findings
        for unexpected_error in unexpected_errors:
            raise unexpected_error
        if thread.is_alive():
            is_hanging = True
            text = f"no result within {timeout_s:g} s; a server accepts connections but hangs"
            findings.append(Finding(_check_name(check), ok=False, text=text))
    return findings, is_hanging


def _run_check(
    check: Check, system: CheckedSystem, findings: list[Finding], unexpected_errors: list[Exception]
) -> None:
    try:
        findings.extend(check(system))
    except ALL as error:
        findings.append(Finding(_check_name(check), ok=False, text=str(error)))
    except redis.RedisError as error:
        text = f"does not respond: {type(error).__name__}: {error}"
        findings.append(Finding(_check_name(check), ok=False, text=text))
    except OSError as error:
        text = _describe_full_disk(error) or f"does not respond: {type(error).__name__}: {error}"
        findings.append(Finding(_check_name(check), ok=False, text=text))
    except Exception as error:  # noqa: BLE001 - raised again in the waiting thread
        unexpected_errors.append(error)


def _describe_full_disk(error: OSError) -> str | None:
    if error.errno not in DISK_FULL_ERRNOS:
        return None
    return f"{error.strerror} ({error.filename or 'data_dir'}); free some space, or move data_dir"


def _check_name(check: Check) -> str:
    return check.__name__.removeprefix("check_")
