"""The wording of the library's messages."""

import re
from pathlib import Path

import pytest

import pinlater
from pinlater.brokers import celery_settings, kind_of, redis_urls
from pinlater.errors import InvalidConfig

SOURCES = Path(pinlater.__file__).parent
SETTING_OF_A_PROGRAM = re.compile(r"\b(?:broker|redis|workers)\.(?:url|shards|nodes|queues)\b")


def test_library_never_names_a_setting_of_its_host_program():
    files = [p for kind in ("*.py", "*.lua", "*.sql", "*.html") for p in SOURCES.rglob(kind)]
    named = {p.name for p in files if SETTING_OF_A_PROGRAM.search(p.read_text())}

    assert len(files) > 60
    assert named == set()


@pytest.mark.parametrize("wrong", [kind_of, redis_urls, celery_settings])
def test_invalid_broker_url_is_reported(wrong):
    with pytest.raises(InvalidConfig, match=r"^broker URL: ftp:// is not one of "):
        wrong("ftp://example")
