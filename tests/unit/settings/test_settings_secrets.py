"""Secrets in settings are never shown: not by repr, not in errors, and not when malformed."""

import copy
import dataclasses
import pickle
import traceback

import pytest

from aragog.client import connect
from aragog.errors import ConfigError, TransientError
from aragog.runtime.secret import Secret, SecretUrl, reveal, without_login, without_password
from aragog.settings import BrokerSettings, FetchSettings, RedisSettings, Settings, load_settings
from pinlater.postgres.link import PostgresLink
from zengraph.tables.postgres.connection import ConnectionLost, PostgresConnection, ServerError

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


@pytest.mark.parametrize("url", URLS)
def test_url_is_shown_without_its_password(url):
    secret = SecretUrl(url)

    for shown in (repr(secret), str(secret), f"{secret}", f"{secret!r}"):
        assert PASSWORD not in shown
    assert reveal(secret) == url
    assert type(reveal(secret)) is str


def test_url_without_a_password_is_shown_whole():
    for url in (
        "redis://host:6379/0", "unix:///run/redis.sock?db=0", "", "smtp://x", "localhost:6379",
        "postgresql://a:5432,b:5433/pages?sslmode=require", "host=db port=5432 dbname=pages",
        "sentinel://[::1]:26379/service/0", "pinlater+socket:///tmp/r.sock?virtual_host=1",
    ):  # fmt: skip
        assert without_password(url) == url


BROKERS = (
    f"amqp://user:{PASSWORD}", f"amqp://user:{PASSWORD}/", f"pinlater://user:a/{PASSWORD}@host",
    f"redis://user:{PASSWORD}", f"amqp://ok//;amqp://user:{PASSWORD}//", f"user:{PASSWORD}://host",
)  # fmt: skip


@pytest.mark.parametrize("url", BROKERS)
def test_malformed_broker_url_is_refused_without_its_password(tmp_path, url):
    environ = {"ARAGOG_DATA_DIR": str(tmp_path), "ARAGOG_BROKER__URL": url}
    with pytest.raises(ConfigError) as refused:
        load_settings(environ=environ)

    assert PASSWORD not in "".join(traceback.format_exception(refused.value))


ADDRESSES = ("http://user:{}@127.0.0.1:1", "thrift://user:{}@127.0.0.1:1", "http://user:{}",
             "ftp://user:{}@127.0.0.1", "http://user:a/{}@127.0.0.1")  # fmt: skip


@pytest.mark.parametrize("address", ADDRESSES)
def test_client_shows_its_address_without_the_password(address):
    with (
        pytest.raises((ConfigError, TransientError)) as failed,
        connect(address.format(PASSWORD), deadline_s=0.2) as client,
    ):
        client.token_view()

    assert PASSWORD not in str(failed.value)


MESSAGES = (
    (f"postgresql://user:a/{PASSWORD}@host/db", f'invalid integer value "a/{PASSWORD}" for "port"'),
    (f"postgresql://user:{PASSWORD}/db", f'invalid integer value "{PASSWORD}" for "port"'),
    (f"postgresql:/user:{PASSWORD}@h", f'missing "=" after "postgresql:/user:{PASSWORD}@h"'),
    (f"postgresql://user:{PASSWORD}@host/db", f'cannot read "{PASSWORD}"'),
    ("postgresql://user:%68unter2@host/db", f'cannot read "{PASSWORD}"'),
    (f"host=db password='{PASSWORD}'", f'cannot read "{PASSWORD}"'),
    (f"postgresql://host/db?password={PASSWORD}", f'cannot read "{PASSWORD}"'),
)


@pytest.mark.parametrize(("url", "message"), MESSAGES)
def test_library_message_is_shown_without_the_password(url, message):
    assert PASSWORD not in without_login(message, url)


def test_library_message_about_a_valid_address_is_unchanged():
    text = "connection refused: is the server at db:5432 running?"

    assert without_login(text, f"postgresql://user:{PASSWORD}@db/pages") == text


@pytest.mark.parametrize("url", [url for url in URLS if "postgres" in url or "host=db" in url])
def test_connecting_to_a_malformed_postgresql_url_shows_no_password(url):
    with pytest.raises((ServerError, ConnectionLost)) as refused:
        PostgresConnection(url.replace("host", "127.0.0.1:1"), timeout_s=1, pooler=False)
    with pytest.raises(ConnectionError) as lost:
        PostgresLink(url.replace("host", "127.0.0.1:1"), 1)

    for error in (refused.value, lost.value):
        assert PASSWORD not in "".join(traceback.format_exception(error))


@pytest.mark.parametrize("kind", [Secret, SecretUrl])
def test_secret_survives_copying_and_pickling(kind):
    secret = kind(URLS[0])

    for other in (kind(secret), copy.deepcopy(secret), pickle.loads(pickle.dumps(secret))):
        assert type(other) is kind
        assert reveal(other) == URLS[0]


def test_repr_of_settings_has_no_secrets():
    settings = Settings(
        redis=RedisSettings(url=URLS[0]),
        broker=BrokerSettings(url=f"pinlater://:{PASSWORD}@host", shards=(URLS[0],)),
        fetch=FetchSettings(
            proxy=f"http://user:{PASSWORD}@proxy",
            basic_auth={"https://a.test": f"user:{PASSWORD}"},
            origin_headers={"https://a.test": f"Authorization: Bearer {PASSWORD}"},
        ),
    )

    for shown in (repr(settings), repr(settings.resolved()), str(dataclasses.asdict(settings))):
        assert PASSWORD not in shown


def test_copies_of_settings_keep_the_secret():
    auth = {"https://a.test": f"user:{PASSWORD}"}
    settings = Settings(
        redis=RedisSettings(url=URLS[0]), fetch=FetchSettings(proxy=URLS[0], basic_auth=auth)
    )
    fetch = dataclasses.replace(settings.fetch, max_redirects=5)
    resolved = dataclasses.replace(settings, fetch=fetch).resolved().resolved()

    assert reveal(resolved.redis.url) == URLS[0]
    assert reveal(resolved.politeness.limiter_urls[0]) == URLS[0]
    assert reveal(resolved.fetch.proxy) == URLS[0]
    assert reveal(resolved.fetch.basic_auth["https://a.test"]) == f"user:{PASSWORD}"


@pytest.mark.parametrize("name", ["BROKER__URL", "REDIS__URL", "POLITENESS__LIMITER_URLS"])
@pytest.mark.parametrize("url", URLS)
def test_error_about_a_url_does_not_show_its_password(name, url):
    try:
        reported = repr(load_settings(environ={f"ARAGOG_{name}": url}).resolved())
    except ConfigError as error:
        reported = str(error)

    assert PASSWORD not in reported


@pytest.mark.parametrize(
    "value", [PASSWORD, f"a.test={PASSWORD}", f"={PASSWORD}", f"a b={PASSWORD}"]
)
@pytest.mark.parametrize("name", ["BASIC_AUTH", "ORIGIN_HEADERS"])
def test_malformed_credentials_are_refused_and_not_shown(name, value):
    with pytest.raises(ConfigError) as caught:
        load_settings(environ={f"ARAGOG_FETCH__{name}": value})

    assert PASSWORD not in str(caught.value)
    assert f"fetch.{name.lower()}" in str(caught.value).replace(
        f"ARAGOG_FETCH__{name}", f"fetch.{name.lower()}"
    )


def test_secret_of_the_wrong_type_is_not_shown(tmp_path):
    file = tmp_path / "aragog.toml"
    file.write_text(f'[redis]\nurl = ["{PASSWORD}"]\n[fetch]\nbasic_auth = "{PASSWORD}"\n')

    with pytest.raises(ConfigError) as caught:
        load_settings(file, {})

    assert PASSWORD not in str(caught.value)
