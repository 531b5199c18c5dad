"""Workers of some roles have a lower priority."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from aragog.workers.niceness import AUTOGROUP
from aragog.workers.roles import ROLES

SHOW = """
import os
from aragog.workers.niceness import AUTOGROUP, be_nice
before = os.nice(0)
be_nice(3)
print(os.nice(0) - before, AUTOGROUP.read_text() if AUTOGROUP.exists() else "")
"""
with_groups = pytest.mark.skipif(
    not AUTOGROUP.exists(), reason="this kernel has no scheduling groups"
)


def after_being_nice(*, own_session: bool) -> tuple[int, str]:
    """How much nicer a process became, and the scheduling group shown by Linux."""
    argv = [sys.executable, "-c", SHOW]
    done = subprocess.run(
        argv, capture_output=True, text=True, check=True, start_new_session=own_session
    )
    raised, _, group = done.stdout.partition(" ")
    return int(raised), group.strip()


def test_process_becomes_nice():
    assert after_being_nice(own_session=True)[0] == 3


@with_groups
def test_first_process_of_a_session_also_makes_its_scheduling_group_nice():
    assert after_being_nice(own_session=True)[1].endswith("nice 3")


@with_groups
def test_groups_of_processes_that_start_together_all_become_nice():
    # Root is never refused, so this can only fail as an ordinary user.
    with ThreadPoolExecutor(8) as pool:
        shown = list(pool.map(lambda _: after_being_nice(own_session=True)[1], range(8)))

    assert [group for group in shown if not group.endswith("nice 3")] == []


@with_groups
def test_group_of_a_terminal_is_unchanged():
    # Empty for descendants of init in its own session, as in some containers.
    group = AUTOGROUP.read_text().strip()

    assert after_being_nice(own_session=False)[1] == group


def test_roles_that_produce_work_run_at_lower_priority():
    nice = {name for name, role in ROLES.items() if role.niceness}

    assert nice == {"fetch", "upkeep", "render"}
