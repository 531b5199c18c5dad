"""Each worker collects all test files, but starts at a different part."""

import pytest

from tests.support.collecting import parts_of, rotated


@pytest.fixture
def folder(tmp_path):
    for name in ("test_top.py", "unit/test_a.py", "unit/urls/deep/test_b.py", "system/test_c.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "support").mkdir()
    (tmp_path / "support" / "origin.py").touch()
    return tmp_path


def test_parts_contain_every_test_file_once(folder):
    parts = [str(part.relative_to(folder)) for part in parts_of(folder)]

    assert parts == ["system/test_c.py", "test_top.py", "unit/test_a.py", "unit/urls"]


def test_each_worker_starts_with_a_different_part_and_omits_none(folder):
    parts = parts_of(folder)

    orders = [rotated(parts, worker, 4) for worker in range(4)]

    assert [order[0] for order in orders] == parts
    assert all(sorted(order) == parts for order in orders)


def test_fewer_parts_than_workers_are_collected_by_all(folder):
    assert all(len(rotated(parts_of(folder)[:1], worker, 4)) == 1 for worker in range(4))
