"""Secrets in settings are not shown: not by repr, not in an error about them, not malformed."""

import copy
import dataclasses
import pickle

import pytest

from aragog.errors import ConfigError
from aragog.secret import Secret, SecretUrl, reveal, without_password
from aragog.settings import BrokerSettings, FetchSettings, RedisSettings, Settings, load_settings

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
)


@pytest.mark.parametrize("url", URLS)
def test_a_url_is_shown_without_its_password(url):
    secret = SecretUrl(url)

    for shown in (repr(secret), str(secret), f"{secret}", f"{secret!r}"):
        assert PASSWORD not in shown
    assert reveal(secret) == url
    assert type(reveal(secret)) is str


def test_a_url_without_a_password_is_shown_whole():
    for url in ("redis://host:6379/0", "unix:///run/redis.sock?db=0", "", "smtp://x"):
        assert without_password(url) == url


@pytest.mark.parametrize("kind", [Secret, SecretUrl])
def test_a_secret_survives_copies_and_pickles(kind):
    secret = kind(URLS[0])

    for other in (kind(secret), copy.deepcopy(secret), pickle.loads(pickle.dumps(secret))):
        assert type(other) is kind
        assert reveal(other) == URLS[0]


def test_the_repr_of_settings_holds_no_secret_however_they_were_made():
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


def test_settings_hold_the_secret_itself_however_often_they_are_copied():
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
def test_an_error_about_a_url_does_not_echo_its_password(name, url):
    try:
        reported = repr(load_settings(environ={f"ARAGOG_{name}": url}).resolved())
    except ConfigError as error:
        reported = str(error)

    assert PASSWORD not in reported


@pytest.mark.parametrize(
    "value", [PASSWORD, f"a.test={PASSWORD}", f"={PASSWORD}", f"a b={PASSWORD}"]
)
@pytest.mark.parametrize("name", ["BASIC_AUTH", "ORIGIN_HEADERS"])
def test_malformed_credentials_are_refused_and_not_echoed(name, value):
    with pytest.raises(ConfigError) as caught:
        load_settings(environ={f"ARAGOG_FETCH__{name}": value})

    assert PASSWORD not in str(caught.value)
    assert f"fetch.{name.lower()}" in str(caught.value).replace(
        f"ARAGOG_FETCH__{name}", f"fetch.{name.lower()}"
    )


def test_a_secret_of_the_wrong_type_is_not_echoed(tmp_path):
    file = tmp_path / "aragog.toml"
    file.write_text(f'[redis]\nurl = ["{PASSWORD}"]\n[fetch]\nbasic_auth = "{PASSWORD}"\n')

    with pytest.raises(ConfigError) as caught:
        load_settings(file, {})

    assert PASSWORD not in str(caught.value)
