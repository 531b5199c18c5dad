"""Workers of some roles let the others run first."""

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
    """How much nicer a process became, and what Linux says of its scheduling group."""
    argv = [sys.executable, "-c", SHOW]
    done = subprocess.run(
        argv, capture_output=True, text=True, check=True, start_new_session=own_session
    )
    raised, _, group = done.stdout.partition(" ")
    return int(raised), group.strip()


def test_a_process_becomes_nice():
    assert after_being_nice(own_session=True)[0] == 3


@with_groups
def test_the_first_process_of_a_session_makes_its_scheduling_group_nice_as_well():
    assert after_being_nice(own_session=True)[1].endswith("nice 3")


@with_groups
def test_processes_that_start_at_once_all_make_their_groups_nice():
    # Root is never refused: this fails as an ordinary user alone.
    with ThreadPoolExecutor(8) as pool:
        shown = list(pool.map(lambda _: after_being_nice(own_session=True)[1], range(8)))

    assert [group for group in shown if not group.endswith("nice 3")] == []


@with_groups
def test_the_group_of_a_terminal_stays_as_it_is():
    # Empty for what descends from init in init's own session, as in some containers.
    group = AUTOGROUP.read_text().strip()

    assert after_being_nice(own_session=False)[1] == group


def test_what_brings_work_runs_after_what_does_it():
    nice = {name for name, role in ROLES.items() if role.niceness}

    assert nice == {"fetch", "upkeep", "render"}
