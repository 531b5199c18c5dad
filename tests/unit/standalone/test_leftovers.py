"""The list of child processes that a supervisor keeps."""

import os

from aragog.standalone import leftovers


def test_list_is_readable_only_by_its_owner(tmp_path):
    path = tmp_path / "children"
    path.with_suffix(".new").write_text("of an earlier release")
    before = os.umask(0o022)
    try:
        leftovers.write_list(path, [os.getpid()])
    finally:
        os.umask(before)

    assert path.stat().st_mode & 0o777 == 0o600
