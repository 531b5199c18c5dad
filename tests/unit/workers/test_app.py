"""A worker with settings that cannot work ends before it takes a message."""

import pytest
from celery.signals import worker_init

from aragog.workers import app


def test_a_worker_whose_extractor_is_not_installed_ends_at_its_start(monkeypatch, tmp_path):
    monkeypatch.setenv("ARAGOG_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("ARAGOG_PIPELINE__EXTRACTORS", "nobodys")

    with pytest.raises(SystemExit, match="no installed package declares 'nobodys'"):
        worker_init.send(app)
