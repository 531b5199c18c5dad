"""Fixtures of the dashboard tests: settings of a system whose Redis is down."""

import pytest

from aragog.settings import BrokerSettings, FetchSettings, RedisSettings, Settings, StoreSettings


@pytest.fixture
def offline(tmp_path):
    return Settings(
        data_dir=tmp_path,
        redis=RedisSettings(url=f"unix://{tmp_path}/nobody.sock"),
        broker=BrokerSettings(url="memory://"),
        store=StoreSettings(engine="memory"),
        fetch=FetchSettings(user_agent="t/1.0 (+http://example.com/)"),
    )
