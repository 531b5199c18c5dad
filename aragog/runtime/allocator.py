"""Limits the freed memory that glibc's `malloc` keeps. Has no effect with other C libraries."""

from __future__ import annotations

import ctypes
from contextlib import suppress

_M_MMAP_THRESHOLD = -3  # mallopt(3)
_OWN_MAPPING_BYTES = 262_144


def return_large_blocks() -> None:
    """
    Make malloc return large blocks to the system as soon as they are freed.

    By default, when a large block is freed, glibc raises the size of blocks that get a mapping of
    their own, up to 32 MiB. The blocks of large responses then stay in the heaps of many threads.
    """
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _OWN_MAPPING_BYTES)


def return_freed() -> None:
    """
    Return all free pages to the system now, even in the middle of the heap: malloc_trim(3).

    Startup frees much memory that is not needed again: 1.4 MB in a worker, 4 MB in the API. At that
    point this takes less than a millisecond. Memory that is needed again costs a page fault per 4
    KiB.
    """
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)
