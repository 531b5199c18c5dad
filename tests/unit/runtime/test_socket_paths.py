"""Where sockets are created when paths are too long for them."""

import os
import tempfile
from pathlib import Path

import pytest

from aragog.errors import ConfigError
from aragog.runtime import socket_paths
from aragog.settings import Settings


@pytest.fixture
def long_tmpdir(tmp_path, monkeypatch):
    """A TMPDIR that is too long for sockets."""
    deep = tmp_path / ("x" * 120)
    deep.mkdir()
    monkeypatch.setenv("TMPDIR", str(deep))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return deep


def test_socket_path_is_limited_to_107_bytes():
    assert socket_paths.fits("/" + "x" * 106)
    assert not socket_paths.fits("/" + "x" * 107)
    assert not socket_paths.fits("/" + "é" * 54)


@pytest.mark.parametrize("name", ["redis_socket", "postgres_socket"])
def test_long_data_dir_and_tmpdir_still_give_bindable_sockets(long_tmpdir, name):
    settings = Settings(data_dir=long_tmpdir / "data")
    assert socket_paths.fits(f"{getattr(settings, name)}.lock")
    assert getattr(settings, name) == getattr(settings, name)


def test_short_tmpdir_is_used(monkeypatch):
    with tempfile.TemporaryDirectory(prefix="ar") as folder:
        monkeypatch.setenv("TMPDIR", folder)
        monkeypatch.setattr(tempfile, "tempdir", None)
        assert socket_paths.short_folder(40) == Path(folder)


def test_error_names_tmpdir_when_no_folder_is_short_enough(long_tmpdir):
    with pytest.raises(ConfigError, match=f"TMPDIR: {os.environ['TMPDIR']} is too long"):
        socket_paths.short_folder(40, shared=[str(long_tmpdir / "none")])
