"""The limit of open files and how it is shared."""

import os
import resource
from pathlib import Path

import pytest

from aragog.runtime import open_files
from aragog.settings import FetchSettings, ServingSettings, StoreSettings
from aragog.workers.roles import ROLES, files_per_thread


@pytest.fixture
def soft_limit():
    """Sets the soft limit and restores it afterward."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield lambda number: resource.setrlimit(resource.RLIMIT_NOFILE, (number, hard))
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_soft_limit_is_raised_up_to_the_hard_limit(soft_limit):
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    soft_limit(256)
    expected = (
        open_files.REQUESTED_LIMIT
        if hard == resource.RLIM_INFINITY
        else min(open_files.REQUESTED_LIMIT, hard)
    )
    assert open_files.raise_limit() == open_files.limit() == expected


def test_higher_limit_is_kept(soft_limit):
    soft_limit(300)
    assert open_files.raise_limit(260) == 300


def test_limit_of_another_process_is_read(soft_limit):
    highest = max(int(file.name) for file in Path("/proc/self/fd").iterdir())
    limit = highest + 64  # earlier tests may have left more open files than a fixed limit allows
    soft_limit(limit)
    assert open_files.read_limit(os.getpid()) == limit
    assert open_files.read_limit(2**22 + 1) is None


def test_open_files_fit_below_a_low_limit(soft_limit):
    soft_limit(256)
    each = files_per_thread(StoreSettings())
    threads = open_files.threads_within_limit(40, each) * each
    sockets = open_files.sockets_within_limit(FetchSettings().concurrency)
    others = 60
    assert threads + 2 * sockets + 256 // 8 + others <= 256


def test_enough_open_files_allow_all_defaults(soft_limit):
    soft_limit(open_files.SUFFICIENT_LIMIT)
    threads = max(role.concurrency for role in ROLES.values()) + 8
    assert open_files.threads_within_limit(threads, files_per_thread(StoreSettings())) == threads
    for wanted in (FetchSettings().concurrency, ServingSettings().max_connections):
        assert open_files.clients_within_limit(wanted) == wanted
    assert open_files.sockets_within_limit(128) == 128
