"""Run checks, each in a limited time: one that hangs becomes a finding, and the others run."""

from __future__ import annotations

import errno
import threading
from collections.abc import Sequence

import redis

from aragog.cli.doctor.finding import STARTS_WITHIN_S, Check, CheckedSystem, Finding
from aragog.errors import ALL

WITHIN_S = 2 * STARTS_WITHIN_S
"""A check waits for a system that starts, and then for the timeouts of its servers."""

FULL = (errno.ENOSPC, errno.EDQUOT)
"""Errors of a write for which there is no room."""


def findings_within(
    checks: Sequence[Check], system: CheckedSystem, within_s: float
) -> tuple[list[Finding], bool]:
    """
    The findings of all checks in their order, and whether a check still runs.

    A check that fails to run, or takes longer than `within_s` seconds, becomes a finding. Its
    thread goes on, and may keep the process from ending. An error that no check expects is raised.
    """
    findings: list[Finding] = []
    hung = False
    for check in checks:
        found: list[Finding] = []
        defects: list[Exception] = []
        thread = threading.Thread(target=_run, args=(check, system, found, defects), daemon=True)
        thread.start()
        thread.join(within_s)
        findings += found
        for defect in defects:
            raise defect
        if thread.is_alive():
            hung = True
            text = f"no result within {within_s:g} s: a server accepts connections and hangs"
            findings.append(Finding(_name(check), ok=False, text=text))
    return findings, hung


def _run(
    check: Check, system: CheckedSystem, found: list[Finding], defects: list[Exception]
) -> None:
    try:
        found.extend(check(system))
    except ALL as error:
        found.append(Finding(_name(check), ok=False, text=str(error)))
    except redis.RedisError as error:
        text = f"does not answer: {type(error).__name__}: {error}"
        found.append(Finding(_name(check), ok=False, text=text))
    except OSError as error:
        text = _disk_full(error) or f"does not answer: {type(error).__name__}: {error}"
        found.append(Finding(_name(check), ok=False, text=text))
    except Exception as error:  # noqa: BLE001 - raised again in the thread that waits
        defects.append(error)


def _disk_full(error: OSError) -> str | None:
    if error.errno not in FULL:
        return None
    return f"{error.strerror} ({error.filename or 'data_dir'}): free some space, or move data_dir"


def _name(check: Check) -> str:
    return check.__name__.removeprefix("check_")
