"""The environment of `aragog` commands that run in the test's own process."""

import pytest

AGENT = "examplebot/1.0 (+https://example.com/bot)"


@pytest.fixture
def cli_environ(tmp_path, redis_url, redis_server, monkeypatch):
    """Settings for this test's own folder and Redis."""
    for name, value in {
        "ARAGOG_DATA_DIR": str(tmp_path),
        "ARAGOG_SETTINGS": "",
        "ARAGOG_REDIS__URL": redis_url,
        "ARAGOG_BROKER__URL": f"pinlater+socket://{redis_server.socket}?virtual_host=1",
        "ARAGOG_FETCH__USER_AGENT": AGENT,
    }.items():
        monkeypatch.setenv(name, value)
