"""A worker with unusable settings exits before it takes a message."""

import pytest
from celery.signals import worker_init

from aragog.workers import app


def test_worker_exits_at_startup_if_its_extractor_is_not_installed(monkeypatch, tmp_path):
    monkeypatch.setenv("ARAGOG_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("ARAGOG_PIPELINE__EXTRACTORS", "nobodys")

    with pytest.raises(SystemExit, match="no installed package declares 'nobodys'"):
        worker_init.send(app)
