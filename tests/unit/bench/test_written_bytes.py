"""Bytes that a measured process writes to files."""

import os
import threading
from pathlib import Path

import pytest

from bench.growth import written_bytes


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="only Linux counts them")
def test_a_small_write_to_a_file_that_was_read_in_sequence_counts_as_small(tmp_path):
    """Linux counted 26 KB for each page of 2 KB that SQLite wrote to a copied store."""
    path = tmp_path / "file"
    path.write_bytes(bytes(1 << 20))
    path.read_bytes()
    thread = f"self/task/{threading.get_native_id()}"

    with path.open("r+b", buffering=0) as file:
        os.fsync(file.fileno())
        before = written_bytes(thread)
        file.write(bytes(2048))
        written = written_bytes(thread) - before

    assert written == 2048
