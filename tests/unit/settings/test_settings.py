from pathlib import Path

import pytest

from aragog.errors import ConfigError
from aragog.settings import Settings, load_settings


def load(text: str, tmp_path: Path, **environ: str) -> Settings:
    file = tmp_path / "aragog.toml"
    file.write_text(text)
    return load_settings(file, environ)


def test_no_file_and_no_environment_give_the_defaults(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    assert load_settings(environ={}) == Settings()


def test_environment_overrides_the_file(tmp_path):
    settings = load("[fetch]\ndeadline_s = 3\n", tmp_path, ARAGOG_FETCH__DEADLINE_S="4.5")

    assert settings.fetch.deadline_s == 4.5


def test_lists_and_tables_can_come_from_the_environment(tmp_path):
    settings = load(
        "",
        tmp_path,
        ARAGOG_FETCH__ALLOWED_PORTS="80,8080",
        ARAGOG_FETCH__HOST_MAP="a.test=127.0.0.1:1",
    )

    assert settings.fetch.allowed_ports == (80, 8080)
    assert settings.fetch.host_map == {"a.test": "127.0.0.1:1"}


def test_one_error_lists_every_bad_key(tmp_path):
    with pytest.raises(ConfigError) as caught:
        load(
            "nope = 1\n[fetch]\nconcurrency = 0\n[store]\nengine = 'pg'\n[redis]\nhost = 'x'\n",
            tmp_path,
            ARAGOG_SERVING__HTTP_PORT="many",
        )

    reported = str(caught.value)
    for name in ("nope", "store.engine", "redis.host", "ARAGOG_SERVING__HTTP_PORT"):
        assert name in reported
    assert "'pg'" in reported
    assert "sqlite, postgres, hbase, memory" in reported


def test_limit_of_connections_by_address_can_be_turned_off():
    unlimited = load_settings(environ={"ARAGOG_SERVING__MAX_CONNECTIONS_PER_ADDRESS": "0"})

    assert unlimited.serving.max_connections_per_address == 0
    with pytest.raises(ConfigError, match="max_connections_per_address: must be above 0, got -1"):
        load_settings(environ={"ARAGOG_SERVING__MAX_CONNECTIONS_PER_ADDRESS": "-1"})


def test_value_out_of_bounds_is_reported(tmp_path):
    with pytest.raises(ConfigError, match=r"fetch\.concurrency: must be above 0, got 0"):
        load("[fetch]\nconcurrency = 0\n", tmp_path)


def test_documented_zeros_turn_features_off(tmp_path):
    text = "[serving]\nmax_connections_per_address = 0\nread_cache_s = 0.0\nthrift_port = 0\n"

    serving = load(text, tmp_path).serving

    assert (serving.max_connections_per_address, serving.read_cache_s) == (0, 0.0)


@pytest.mark.parametrize("value", ["0.5", "101"])
def test_latency_slowdown_out_of_bounds_is_reported(tmp_path, value):
    with pytest.raises(ConfigError, match=r"max_latency_slowdown: must be from 1 to 100, got"):
        load(f"[politeness]\nmax_latency_slowdown = {value}\n", tmp_path)


@pytest.mark.parametrize("number", ["nan", "inf", "-inf"])
def test_number_that_is_not_finite_is_reported(tmp_path, number):
    with pytest.raises(ConfigError, match=r"politeness\.qps: must be a number"):
        load(f"[politeness]\nqps = {number}\n", tmp_path)
    with pytest.raises(ConfigError, match="ARAGOG_FETCH__DEADLINE_S: must be a number"):
        load("", tmp_path, ARAGOG_FETCH__DEADLINE_S=number)


@pytest.mark.parametrize("gateways", ["hbase1", "hbase1:", "hbase1:9090,hbase2:thrift"])
def test_gateway_without_a_port_is_reported(tmp_path, gateways):
    with pytest.raises(ConfigError, match=r"store\.hbase_gateways: must be host:port"):
        load("", tmp_path, ARAGOG_STORE__HBASE_GATEWAYS=gateways)
    with pytest.raises(ConfigError, match=r"serving\.standby_gateways: must be host:port"):
        load("", tmp_path, ARAGOG_SERVING__STANDBY_GATEWAYS=gateways)


def test_hbase_store_needs_a_gateway(tmp_path):
    with pytest.raises(ConfigError, match=r"store\.hbase_gateways: is required"):
        load("[store]\nengine = 'hbase'\nhbase_gateways = []\n", tmp_path)


def test_empty_data_folder_is_not_the_current_one(tmp_path):
    with pytest.raises(ConfigError, match="ARAGOG_DATA_DIR: must be a path"):
        load("", tmp_path, ARAGOG_DATA_DIR="")


@pytest.mark.parametrize("text", ["[fetch", "fetch = 3"])
def test_broken_file_is_reported(tmp_path, text):
    with pytest.raises(ConfigError, match=r"aragog\.toml|fetch"):
        load(text, tmp_path)


def test_missing_file_given_by_name_is_an_error(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read"):
        load_settings(tmp_path / "none.toml", {})


def test_unsupported_broker_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="use pinlater://"):
        load("[broker]\nurl = 'kafka://x'\n", tmp_path)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('key = "k"', "identity.agent: is required"),
        ("serve = true", "identity.serve: needs identity.key"),
        ('agent = "http://bot.test/keys"', "identity.agent: must be an https:// URL"),
        ('agent = "https://bot.test"', "identity.agent: must be an https:// URL"),
        ('agent = "https://a@bot.test/keys"', "identity.agent: must be an https:// URL"),
        ('agent = "https://bot.test/keys#a"', "identity.agent: must be an https:// URL"),
        ('agent = "https://bot.test/../keys"', "identity.agent: must be an https:// URL"),
        ('agent = "https://bot.test/"', "identity.agent: must be an https:// URL"),
        ('networks = ["203.0.113.1/28"]', "identity.networks: '203.0.113.1/28' is not a network"),
        ('contact = "nobody"', "identity.contact: must be a mail address"),
        ('contact = "javascript:x@y"', "identity.contact: must be a mail address"),
        ("agent = 'https://bot.test/\"'", "identity.agent: must be an https:// URL"),
        ('draft = "draft-ietf-webbotauth-httpsig-protocol-99"', "identity.draft: must be one of"),
        ("lifetime_s = 86401.0", "identity.lifetime_s: must be at most 86400"),
        ("lifetime_s = 0.0", "identity.lifetime_s: must be above 0"),
        ('components = ["@method"]', "identity.components: must have @authority"),
        ('components = ["@authority", "cookie"]', "identity.components: must be one of"),
        (
            'components = ["@authority", "@authority"]',
            "identity.components: contains a component twice",
        ),
        (
            'key = "k"\nagent = "https://bot.test/k"\n[fetch]\nheaders = { signature-agent = "x" }',
            "fetch.headers: signature-agent is set",
        ),
        (
            (
                'key = "k"\nagent = "https://bot.test/k"\n[fetch]\n'
                'origin_headers = { "https://a.test" = "Signature: x" }'
            ),
            "fetch.origin_headers: Signature is set",
        ),
    ],
)
def test_incomplete_identity_is_refused(tmp_path, text, problem):
    with pytest.raises(ConfigError, match=problem):
        load(f"[identity]\n{text}\n", tmp_path)


def test_key_and_the_url_of_its_public_key_are_an_identity(tmp_path):
    text = '[identity]\nkey = "~/k"\nagent = "https://bot.test:8443/keys"\n'

    settings = load(text, tmp_path)

    assert settings.identity.key == Path("~/k").expanduser()
