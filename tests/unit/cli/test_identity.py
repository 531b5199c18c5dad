"""`aragog identity` creates and rotates keys, and never shows them."""

from __future__ import annotations

import json
import stat
import time

import pytest
from click.testing import CliRunner

from aragog.cli import main
from aragog.crawl.identity.keys import encode_base64url, read_keys

DAY_S = 86_400


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(*arguments, code=0, **environ):
        ran = CliRunner().invoke(main, ["identity", *arguments], env=environ)
        assert ran.exit_code == code, ran.output
        return ran

    return call


def test_key_is_created_rotated_and_listed_without_showing_its_private_part(run, tmp_path):
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
    assert second.start_s - time.time() == pytest.approx(3 * DAY_S, abs=60)
    assert first.end_s == second.start_s + 3 * DAY_S

    shown = run("show", "--json", **environ).output
    assert [(row["kid"], row["state"]) for row in json.loads(shown)] == [
        (first.thumbprint, "signs"),
        (second.thumbprint, "next"),
    ]
    table = run("show", **environ).output

    dropped = run("rotate", "--now", **environ).output
    (third,) = read_keys(path)
    assert f"{third.thumbprint} signs from now on" in dropped
    assert third.start_s <= time.time()
    for key in (first, second, third):
        private = encode_base64url(key.private_key.private_bytes_raw())
        assert private in path.read_text() or key is not third
        assert private not in made + rotated + shown + table + dropped


def test_existing_key_file_is_not_replaced(run, tmp_path):
    assert "set identity.key to that file" in run("new", "mine.jwks").output
    before = (tmp_path / "mine.jwks").read_bytes()

    assert "already exists" in run("new", "mine.jwks", code=1).stderr

    assert (tmp_path / "mine.jwks").read_bytes() == before


def test_site_files_are_written_with_their_headers(run, tmp_path):
    path = tmp_path / "identity.jwks"
    run("new", str(path))
    run(
        "files",
        "site",
        ARAGOG_IDENTITY__KEY=str(path),
        ARAGOG_IDENTITY__AGENT="https://bot.test/.well-known/http-message-signatures-directory",
        ARAGOG_IDENTITY__NETWORKS="203.0.113.0/28",
    )

    site = tmp_path / "site"
    names = {each.relative_to(site).as_posix() for each in site.rglob("*") if each.is_file()}
    assert names == {
        ".well-known/http-message-signatures-directory",
        "addresses.json",
        "bot.html",
        "nginx.conf",
    }
    published = json.loads((site / ".well-known/http-message-signatures-directory").read_bytes())
    assert [key["kid"] for key in published["keys"]] == [read_keys(path)[0].thumbprint]
    private = encode_base64url(read_keys(path)[0].private_key.private_bytes_raw())
    assert not any(private in each.read_text() for each in site.rglob("*") if each.is_file())
    configuration = (site / "nginx.conf").read_text()
    assert "location = /.well-known/http-message-signatures-directory {" in configuration
    assert "add_header Signature 'sig1=:" in configuration


def test_site_files_need_the_agent_setting(run):
    assert "identity.agent: is not set" in run("files", "site", code=1).stderr


def test_missing_key_file_error_names_the_setting(run):
    assert "identity.key: is not set" in run("rotate", code=1).stderr


def test_invalid_duration_exits_with_2(run):
    assert "write 2d or 12h" in run("rotate", "x", "--overlap", "soon", code=2).stderr
