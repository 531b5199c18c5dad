"""Passwords are never shown: in URLs, in messages of libraries, or in reprs."""

import pickle
import traceback

import pytest
from click.testing import CliRunner

from pinlater.__main__ import Broker, main
from pinlater.cluster import connect_shards
from pinlater.errors import InvalidConfig
from pinlater.masking import reveal, without_login, without_password
from pinlater.postgres.link import PostgresLink
from pinlater.redis.connect import connect

PASSWORD = "hunter2"
URLS = (
    f"redis://user:{PASSWORD}@host:6379/0",
    f"redis://:{PASSWORD}@host",
    f"redis://:{PASSWORD}/#?@@host",
    f"redis://{PASSWORD}@host",
    f"http//user:{PASSWORD}@host",
    f"user:{PASSWORD}@host",
    f"unix:///run/redis.sock?password={PASSWORD}",
    f"smtp://user:{PASSWORD}@host",
    f"host=db port=5432 user=app password={PASSWORD} dbname=pages",
    f"host=db password='a b {PASSWORD}'",
    f"host=db password = {PASSWORD}",
    f"host=db password=a b {PASSWORD}",
    f"postgresql://user:{PASSWORD}",
    f"postgresql://user:{PASSWORD}/db",
    f"postgresql:/user:{PASSWORD}@host/db",
    f"postgresql//user:{PASSWORD}@host/db",
    f"postgresql:user:{PASSWORD}@host",
    f"user:{PASSWORD}",
    f"postgresql://host/db?user=app&password={PASSWORD}",
    f"postgresql://host/db?pw={PASSWORD}",
    f"postgresql://host/db?p%61ssword={PASSWORD}",
    f"postgresql://host/db?host=h password={PASSWORD}",
    f"postgresql://host/db#{PASSWORD}",
    f"postgresql://user:a/{PASSWORD}@host/db",
    f"postgresql://user:a?{PASSWORD}@host/db",
    f"postgresql://user:a {PASSWORD}@host,other/db",
    f"redis://host:6379/:{PASSWORD}",
    f"amqp://user:{PASSWORD}@host:not-a-port//",
    f"sentinel://host:1,host:2/service?sentinel_password={PASSWORD}",
    f"user:{PASSWORD}://host",
    f"{PASSWORD}@",
)

MESSAGES = (
    (f"postgresql://user:a/{PASSWORD}@host/db", f'invalid integer value "a/{PASSWORD}" for "port"'),
    (f"postgresql://user:{PASSWORD}/db", f'invalid integer value "{PASSWORD}" for "port"'),
    (f"postgresql:/user:{PASSWORD}@h", f'missing "=" after "postgresql:/user:{PASSWORD}@h"'),
    (f"postgresql://user:{PASSWORD}@host/db", f'cannot read "{PASSWORD}"'),
    ("postgresql://user:%68unter2@host/db", f'cannot read "{PASSWORD}"'),
    (f"host=db password='{PASSWORD}'", f'cannot read "{PASSWORD}"'),
    (f"postgresql://host/db?password={PASSWORD}", f'cannot read "{PASSWORD}"'),
)


class Hidden(str):
    """A URL whose string form is masked, as applications often keep it."""

    __slots__ = ()

    def __str__(self):
        return "***"

    __repr__ = __str__


@pytest.mark.parametrize("url", URLS)
def test_url_is_shown_without_its_password(url):
    assert PASSWORD not in without_password(url)
    assert without_password(Hidden(url)) == without_password(url)


def test_hidden_url_can_be_revealed():
    url = Hidden(URLS[0])

    assert (reveal(url), type(reveal(url))) == (URLS[0], str)


def test_url_without_a_password_is_shown_unchanged():
    for url in (
        "redis://host:6379/0", "unix:///run/redis.sock?db=0", "", "localhost:6379",
        "postgresql://a:5432,b:5433/jobs?sslmode=require", "host=db port=5432 dbname=jobs",
        "sentinel://[::1]:26379/service/0", "pinlater+socket:///tmp/r.sock?virtual_host=1",
    ):  # fmt: skip
        assert without_password(url) == url


@pytest.mark.parametrize(("url", "message"), MESSAGES)
def test_message_of_a_library_is_shown_without_the_password(url, message):
    assert PASSWORD not in without_login(message, url)


@pytest.mark.parametrize("url", [f"redis://:{PASSWORD}@host:port", f"http://a:{PASSWORD}@host"])
def test_error_for_an_invalid_address_does_not_show_its_password(url):
    for refusing in (connect, lambda url: connect_shards([url])):
        with pytest.raises(InvalidConfig) as refused:
            refusing(url)

        assert PASSWORD not in "".join(traceback.format_exception(refused.value))


def test_error_connecting_to_postgresql_does_not_show_the_password():
    with pytest.raises(ConnectionError) as lost:
        PostgresLink(f"postgresql://user:{PASSWORD}@127.0.0.1:1/db", 1)

    assert PASSWORD not in "".join(traceback.format_exception(lost.value))


def test_command_does_not_show_the_password_of_its_broker():
    ran = CliRunner().invoke(main, ["--broker", f"http://user:{PASSWORD}@host", "list"])

    assert ran.exit_code == 1
    assert "is not one of pinlater" in ran.output
    assert PASSWORD not in ran.output + repr(Broker(URLS[0], (URLS[1],)))
    assert pickle.loads(pickle.dumps(Broker(URLS[0], ()))).broker_url == URLS[0]
