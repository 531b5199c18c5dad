"""The same crawl on brokers that users already have: only the URL changes."""

import pytest

from aragog.bootstrap.stores import url_store
from aragog.client import Aragog
from aragog.standalone.demo_sites import web
from tests.support.standalone import standalone

pytestmark = [pytest.mark.redis, pytest.mark.slow]


@pytest.fixture(params=["redis", "rabbitmq"])
def broker_url(request):
    if request.param == "redis":
        server = request.getfixturevalue("own_redis")
        return f"redis+socket://{server.socket}?virtual_host=3"
    return request.getfixturevalue("rabbitmq").url


def test_small_crawl_stores_every_page(broker_url, demo_web):
    hosts = ("kitchen.test", "news.test", "busy.test")
    urls = [f"http://{host}{path}" for host in hosts for path in web()[host]]
    environ = {**demo_web, "ARAGOG_BROKER__URL": broker_url}
    with standalone(environ) as system, Aragog(system.settings) as client:
        client.enqueue(urls)
        system.finish(client)

        store = url_store(system.settings)
        records = store.get_many(urls)
        store.close()

    assert {r.facts["outcome"] if r else None for r in records} == {"Fetched"}
