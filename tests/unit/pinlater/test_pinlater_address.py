import pytest
from kombu import Connection

import aragog.pinlater  # noqa: F401  registers pinlater://
from aragog.errors import ConfigError
from aragog.pinlater.address import masked, of_socket, redis_urls


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
def test_a_broker_url_names_its_servers(broker, redis):
    assert list(redis_urls(broker)) == redis


@pytest.mark.parametrize("url", ["redis://h", "pinlater://h:port", "pinlater+socket://a.sock"])
def test_a_url_that_names_none_is_refused(url):
    with pytest.raises(ConfigError, match=r"broker\.url"):
        redis_urls(url)


def test_a_socket_has_a_broker_url():
    assert list(redis_urls(of_socket("/run/a.sock", 2))) == ["unix:///run/a.sock?db=2"]


def test_passwords_are_not_shown():
    assert masked("pinlater://u:secret@h/0") == "pinlater://u:**@h/0"
    assert masked("pinlater://h/0") == "pinlater://h/0"


@pytest.mark.parametrize(
    "url", ["pinlater://u:p@h:1,g:2/3", "pinlater+socket:///a.sock?virtual_host=1"]
)
def test_kombu_hands_the_url_through_and_shows_it_without_its_password(url):
    connection = Connection(url)

    assert connection.transport.redis_urls == redis_urls(url)
    assert connection.clone().transport.redis_urls == redis_urls(url)
    assert connection.as_uri() == masked(url)
