"""
On a server whose memory is full, messages between stages are accepted and new URLs are refused.
"""

import pytest
import redis
from celery import Celery

from aragog.crawl.pipeline.messages import FetchBatch, PageBatch, UrlJob
from aragog.crawl.pipeline.routing import CelerySender, Destination, OutgoingMessage
from aragog.errors import BrokerUnavailable
from pinlater.admin import Admin
from pinlater.brokers import of_socket

pytestmark = pytest.mark.redis
JOBS = (UrlJob(url="http://site.example/"),)


@pytest.mark.parametrize("count", [1, 3])
def test_stage_can_send_when_a_producer_cannot(own_redis, count):
    url = of_socket(own_redis.socket)
    app = Celery("t", broker=url, set_as_current=False)
    app.conf.task_publish_retry = False
    sender, admin = CelerySender(app), Admin.connect(url)
    # As workers do when they start: the queues are known.
    sender.send(OutgoingMessage(Destination.FETCH, FetchBatch(JOBS)))
    sender.send(OutgoingMessage(Destination.STORE, PageBatch("t.1", JOBS)))
    client = redis.Redis.from_url(own_redis.url)
    client.config_set("maxmemory", 1)
    try:
        with pytest.raises(BrokerUnavailable):
            sender.send_all([OutgoingMessage(Destination.FETCH, FetchBatch(JOBS))] * count)
        sender.send_all(
            [OutgoingMessage(Destination.FETCH, FetchBatch(JOBS), even_when_full=True)] * count
        )
        sender.send_all(
            [OutgoingMessage(Destination.STORE, PageBatch("t.1", JOBS), even_when_full=True)]
            * count
        )
    finally:
        client.config_set("maxmemory", 0)
        client.close()
        app.close()

    assert admin.status("fetch").sizes.due == 1 + count
    assert admin.status("store").sizes.due == 1 + count
