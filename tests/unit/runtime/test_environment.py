"""Environment variables whose values end with a line break, as secrets in files do."""

import pytest

from aragog.crawl.egress.routes import _read_login
from aragog.crawl.stages.sign_in import _field_value
from aragog.runtime.environment import variable
from aragog.runtime.secret import reveal
from aragog.settings import load_settings

ENDS = ("", "\n", "\r\n", "\n\n")
TYPED = [
    ("ARAGOG_FETCH__USER_AGENT", "bot/1.0 (+https://example.com/bot)", "bot/1.0 (+https://example.com/bot)"),
    ("ARAGOG_FETCH__VERIFY_TLS", "false", False),
    ("ARAGOG_FETCH__MAX_REDIRECTS", "3", 3),
    ("ARAGOG_FETCH__DEADLINE_S", "20", 20.0),
    ("ARAGOG_FETCH__ALLOWED_PORTS", "80,443", (80, 443)),
    ("ARAGOG_REDIS__URL", "redis://:p%22w@redis.test:6379/0", "redis://:p%22w@redis.test:6379/0"),
]  # fmt: skip


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize(("name", "text", "expected"), TYPED)
def test_setting_does_not_contain_the_line_break_at_its_end(name, text, expected, end):
    """A password from a mounted secret, with a line break that the server refused."""
    section, _, key = name.removeprefix("ARAGOG_").lower().partition("__")

    settings = load_settings(environ={name: text + end})

    value = getattr(getattr(settings, section), key)
    assert (reveal(value) if isinstance(value, str) else value) == expected


@pytest.mark.parametrize("end", ENDS)
def test_settings_file_may_be_named_with_a_line_break(tmp_path, end):
    file = tmp_path / "a.toml"
    file.write_text("[fetch]\nmax_redirects = 3\n")

    settings = load_settings(environ={"ARAGOG_SETTINGS": str(file) + end})

    assert settings.fetch.max_redirects == 3


@pytest.mark.parametrize("end", ENDS)
def test_logins_from_variables_do_not_contain_it_either(monkeypatch, end):
    monkeypatch.setenv("LOGIN", f"me:pass word{end}")

    assert reveal(_read_login("egress.ways.a.login", "env:LOGIN")) == "me:pass word"
    assert _field_value("https://a.test", "password", "env:LOGIN") == "me:pass word"
    assert variable("LOGIN") == "me:pass word"


def test_spaces_and_inner_line_breaks_stay():
    assert variable("A", {"A": " a\nb \n"}) == " a\nb "
    assert variable("B", {"A": "a"}) is None
