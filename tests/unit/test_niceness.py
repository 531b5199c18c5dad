"""Workers of some roles let the others run first."""

import subprocess
import sys

import pytest

from aragog.workers.niceness import AUTOGROUP
from aragog.workers.roles import ROLES

SHOW = """
import os
from aragog.workers.niceness import AUTOGROUP, be_nice
before = os.nice(0)
be_nice(3)
print(os.nice(0) - before, AUTOGROUP.read_text().split()[-1] if AUTOGROUP.exists() else 3)
"""


def shown(*, own_session: bool) -> list[str]:
    argv = [sys.executable, "-c", SHOW]
    done = subprocess.run(
        argv, capture_output=True, text=True, check=True, start_new_session=own_session
    )
    return done.stdout.split()


def test_the_first_process_of_a_session_makes_its_scheduling_group_nice_as_well():
    assert shown(own_session=True) == ["3", "3"]


@pytest.mark.skipif(not AUTOGROUP.exists(), reason="this kernel has no scheduling groups")
def test_the_group_of_a_terminal_stays_as_it_is():
    group = AUTOGROUP.read_text().split()[-1]

    assert shown(own_session=False) == ["3", group]


def test_what_brings_work_runs_after_what_does_it():
    nice = {name for name, role in ROLES.items() if role.niceness}

    assert nice == {"fetch", "robots"}
