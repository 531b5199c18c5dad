"""Addresses of topics, and their client settings files."""

import pytest

from aragog.addons.kafka.topic_address import TopicAddress
from aragog.errors import BadInput, ConfigError


def test_address_has_brokers_a_topic_and_options():
    address = TopicAddress.parse("kafka://a:9092,[::1]:9093/page.changes?name=shop&config=/etc/k")

    assert address == TopicAddress("a:9092,[::1]:9093", "page.changes", "shop", "/etc/k")
    assert str(address) == "page.changes on a:9092,[::1]:9093"


@pytest.mark.parametrize(
    "text",
    ["kafka://a:9092", "kafka://a/topic", "kafka://user:pw@a:9092/t", "http://a:9092/t",
     "kafka://a:9092/t/u", "kafka://a:9092/t#x", "kafka:///t", "kafka://a:9092/t?acks=0",
     "kafka://a:9092/t?name=a%20b"],
)  # fmt: skip
def test_malformed_address_is_refused(text):
    with pytest.raises(BadInput):
        TopicAddress.parse(text)


def test_file_overrides_defaults_but_not_delivery_settings(tmp_path):
    file = tmp_path / "kafka.properties"
    file.write_text("# TLS\n\nsecurity.protocol = SSL\nlinger.ms=50\nssl.key.password=a=b\n")
    address = TopicAddress("a:9092", "t", config=str(file))

    assert address.settings({"acks": "all"}, {"linger.ms": 5, "client.id": "aragog"}) == {
        "bootstrap.servers": "a:9092",
        "security.protocol": "SSL",
        "linger.ms": "50",
        "ssl.key.password": "a=b",
        "client.id": "aragog",
        "acks": "all",
    }
    file.write_text("acks=0\n")
    with pytest.raises(ConfigError, match=":1: acks is set by aragog"):
        address.settings({"acks": "all"}, {})
    file.write_text("\nacks\n")
    with pytest.raises(ConfigError, match=":2: the line is not `key=value`"):
        address.settings({}, {})
    with pytest.raises(ConfigError, match="cannot be read"):
        TopicAddress("a:9092", "t", config=str(tmp_path / "none")).settings({}, {})
