import pytest
from kombu import Connection

import pinlater  # noqa: F401  registers pinlater://
from pinlater.brokers import ServerAddress, mask_password, of_socket, redis_urls, shard_urls
from pinlater.errors import InvalidConfig


@pytest.mark.parametrize(
    ("broker", "redis"),
    [
        ("pinlater://", ["redis://localhost:6379"]),
        ("pinlater://h", ["redis://h:6379"]),
        ("pinlater://h:7000/3", ["redis://h:7000/3"]),
        ("pinlater://u:p@h,g:7001/2", ["redis://u:p@h:6379/2", "redis://u:p@g:7001/2"]),
        ("pinlaters://h", ["rediss://h:6379"]),
        ("pinlater+socket:///run/a.sock?virtual_host=4", ["unix:///run/a.sock?db=4"]),
        ("pinlater+socket:///run/a.sock", ["unix:///run/a.sock?db=0"]),
    ],
)
def test_broker_url_is_resolved_to_redis_urls(broker, redis):
    assert list(redis_urls(broker)) == redis


@pytest.mark.parametrize("url", ["redis://h", "pinlater://h:port", "pinlater+socket://a.sock"])
def test_a_url_without_a_server_is_refused(url):
    with pytest.raises(InvalidConfig, match=r"broker URL"):
        redis_urls(url)


def test_broker_url_of_a_socket():
    assert list(redis_urls(of_socket("/run/a.sock", 2))) == ["unix:///run/a.sock?db=2"]


def test_passwords_are_masked():
    assert mask_password("pinlater://u:secret@h/0") == "pinlater://u:**@h/0"
    assert mask_password("pinlater://h/0") == "pinlater://h/0"


@pytest.mark.parametrize(
    "url",
    [
        "pinlater://u:p@h:1,g:2/3",
        "pinlater+socket:///a.sock?virtual_host=1",
        "pinlater+postgresql://u:p@h:1,g:2/d?sslmode=require",
    ],
)
def test_kombu_keeps_the_url_and_masks_its_password(url):
    connection = Connection(url)

    assert connection.transport.shard_urls == shard_urls(url)
    assert connection.clone().transport.shard_urls == shard_urls(url)
    assert connection.as_uri() == mask_password(url)


@pytest.mark.parametrize(
    ("url", "parts", "redis_url"),
    [
        ("pinlater://host:7000", ("host", 7000, None, None, "/"), "redis://host:7000/0"),
        ("pinlater://", ("localhost", 6379, None, None, "/"), "redis://localhost:6379/0"),
        (
            "pinlater://u:p%40%2F@host/3",
            ("host", 6379, "u", "p@/", "3"),
            "redis://u:p%40%2F@host:6379/3",
        ),
        ("pinlaters://:p@host/3", ("host", 6379, None, "p", "3"), "rediss://:p@host:6379/3"),
        ("pinlater://[::1]:7000/3", ("::1", 7000, None, None, "3"), "redis://[::1]:7000/3"),
    ],
)
def test_connection_info_has_the_host_and_port_of_one_server(url, parts, redis_url):
    connection = Connection(url)
    info = connection.info()

    assert tuple(info[name] for name in ServerAddress._fields) == parts
    assert connection.transport.shard_urls == (redis_url,)
    assert connection.clone().transport.shard_urls == (redis_url,)
    whole = connection.as_uri(include_password=True)
    assert Connection(whole).transport.shard_urls == (redis_url,)
    assert connection.as_uri() == mask_password(whole)
