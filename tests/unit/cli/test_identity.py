"""`aragog identity`: keys are made and rotated, and never shown."""

from __future__ import annotations

import json
import stat
import time

import pytest
from click.testing import CliRunner

from aragog.cli import main
from aragog.identity.keys import encoded, read_keys

DAY_S = 86_400


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(*arguments, code=0, **environ):
        ran = CliRunner().invoke(main, ["identity", *arguments], env=environ)
        assert ran.exit_code == code, ran.output
        return ran

    return call


def test_a_key_is_made_rotated_and_listed_and_its_private_half_is_never_shown(run, tmp_path):
    path = tmp_path / "identity.jwks"
    environ = {
        "ARAGOG_IDENTITY__KEY": str(path),
        "ARAGOG_IDENTITY__AGENT": "https://bot.test/keys",
    }
    made = run("new", **environ).output
    (first,) = read_keys(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert first.thumbprint in made

    rotated = run("rotate", "--overlap", "3d", **environ).output
    first, second = read_keys(path)
    assert f"{second.thumbprint} signs in 3 d" in rotated
    assert second.from_s - time.time() == pytest.approx(3 * DAY_S, abs=60)
    assert first.until_s == second.from_s + 3 * DAY_S

    shown = run("show", "--json", **environ).output
    assert [(row["kid"], row["state"]) for row in json.loads(shown)] == [
        (first.thumbprint, "signs"),
        (second.thumbprint, "next"),
    ]
    table = run("show", **environ).output

    dropped = run("rotate", "--now", **environ).output
    (third,) = read_keys(path)
    assert f"{third.thumbprint} signs from now on" in dropped
    assert third.from_s <= time.time()
    for key in (first, second, third):
        private = encoded(key.private.private_bytes_raw())
        assert private in path.read_text() or key is not third
        assert private not in made + rotated + shown + table + dropped


def test_a_file_can_be_named_and_is_not_replaced(run, tmp_path):
    assert "set identity.key to that file" in run("new", "mine.jwks").output
    before = (tmp_path / "mine.jwks").read_bytes()

    assert "exists already" in run("new", "mine.jwks", code=1).stderr

    assert (tmp_path / "mine.jwks").read_bytes() == before


def test_without_a_file_the_setting_is_named(run):
    assert "identity.key: is not set" in run("rotate", code=1).stderr


def test_a_duration_that_is_none_ends_with_2(run):
    assert "write 2d or 12h" in run("rotate", "x", "--overlap", "soon", code=2).stderr
