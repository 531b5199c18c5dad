import pytest

from pinlater.brokers import celery_settings, limitations
from pinlater.errors import InvalidConfig


@pytest.mark.parametrize(
    "url",
    ["pinlater://h", "pinlaters://h", "pinlater+socket:///s", "redis://h", "amqp://h", "memory://"],
)
def test_tasks_are_acknowledged_late_on_every_broker(url):
    settings = celery_settings(url)

    assert settings["task_acks_late"]
    assert settings["task_reject_on_worker_lost"]
    assert settings["broker_url"] == url


def test_rabbitmq_gets_quorum_queues_with_native_delayed_delivery():
    settings = celery_settings("amqp://h")

    assert settings["task_default_queue_type"] == "quorum"
    assert settings["worker_detect_quorum_queues"]


def test_only_pinlater_urls_accept_shards():
    assert celery_settings("pinlater://h", ["redis://g"])["broker_transport_options"]["shards"] == (
        "redis://g",
    )
    with pytest.raises(InvalidConfig, match=r"shards"):
        celery_settings("redis://h", ["redis://g"])


def test_every_broker_except_pinlater_has_limitations():
    assert limitations("pinlater://h") == []
    assert any("ETA" in line for line in limitations("redis://h"))
    assert any("priorities" in line for line in limitations("amqp://h"))


def test_the_error_for_an_unknown_broker_names_its_scheme():
    with pytest.raises(InvalidConfig, match="kafka"):
        limitations("kafka://h")
