"""Settings for signing in to sites."""

import pytest

from aragog.errors import ConfigError
from aragog.settings import build_settings, load_settings, plain

GOOD = """
[fetch.sign_in."https://members.example"]
form = "/login"
fields = { user = "env:MEMBERS_USER", password = "file:/run/secrets/members", remember = "text:1" }
crawls = ["members"]
"""


def loaded(tmp_path, text):
    file = tmp_path / "aragog.toml"
    file.write_text(text)
    return load_settings(file, {})


def test_sign_in_round_trips(tmp_path):
    settings = loaded(tmp_path, GOOD)

    assert settings.fetch.sign_in["https://members.example"].fields["remember"] == "text:1"
    assert build_settings(plain(settings)) == settings


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (("/login", "https://other.example/login"), "form: must be a path"),
        (("/login", "//other.example/login"), "form: must be a path"),
        (("https://members.example", "ftp://members.example"), "key 1 is not an origin"),
        (("env:MEMBERS_USER", "s3cret"), "'user' must be env:NAME"),
        (("fields =", "field ="), "did you mean"),
        (('"env:MEMBERS_USER"', '["s3cret"]'), "a table of strings, got a hidden value"),
    ],
)
def test_invalid_sign_in_is_reported_without_values(tmp_path, changes, expected):
    with pytest.raises(ConfigError) as caught:
        loaded(tmp_path, GOOD.replace(*changes))

    assert expected in str(caught.value)
    assert "s3cret" not in str(caught.value)
