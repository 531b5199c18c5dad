"""The shared state of the pipeline according to the settings; nothing is connected."""

from aragog.crawl.pipeline.shared_state import SharedState
from aragog.settings import RedisSettings, Settings


def test_first_server_is_redis_url_and_servers_are_named_after_their_settings():
    urls = [f"redis://127.0.0.1:{port}/0" for port in (1, 2, 3)]
    settings = Settings(redis=RedisSettings(url=urls[0], nodes=tuple(urls[1:])))
    opened = []

    def open_client(url):
        opened.append(url)
        return url

    shared = SharedState.from_settings(settings, open_client)

    assert (opened, shared.client) == (urls, urls[0])
    assert shared.servers() == {
        "redis.url": urls[0], "redis.nodes 0": urls[1], "redis.nodes 1": urls[2],
    }  # fmt: skip
