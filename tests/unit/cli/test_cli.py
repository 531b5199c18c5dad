"""`aragog --help` lists commands without importing them, and says what their own help says."""

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from aragog.bootstrap.stores import url_store
from aragog.cli import COMMANDS, main
from aragog.settings import load_settings
from tests.support.forked import printed
from tests.support.missing_parts import ROOT, skip_without


@pytest.mark.parametrize("name", COMMANDS)
def test_the_summary_of_a_command_is_the_first_line_of_its_help(name):
    lazy = COMMANDS[name]
    command = getattr(import_module(lazy.module), lazy.attribute)

    assert (command.name, command.get_short_help_str(limit=200)) == (name, lazy.summary)


def test_help_lists_every_command_as_click_does():
    listed = CliRunner().invoke(main, ["--help"]).output
    context = click.Context(main)
    plain = click.Group(commands={name: main.get_command(context, name) for name in COMMANDS})

    by_click = plain.get_help(click.Context(plain, terminal_width=80)).partition("Commands:")[2]

    assert listed.partition("Commands:")[2].split() == by_click.split()


def test_an_unknown_command_is_a_usage_error():
    result = CliRunner().invoke(main, ["nothing-like-it"])

    assert result.exit_code == 2
    assert "No such command 'nothing-like-it'" in result.output


@pytest.mark.parametrize(
    "arguments",
    [
        ["plan", "--urls", "1e9", "--domains", "1e6"],
        ["plan", "--urls", "1e9", "--domains", "1e6", "--json"],
        ["store", "export", "--format", "jsonl", "/dev/full"],
    ],
    ids=["table", "json", "file"],
)
def test_a_full_disk_ends_a_command_with_one_line(tmp_path, arguments):
    store = url_store(load_settings(environ={"ARAGOG_DATA_DIR": str(tmp_path)}))
    store.put("http://a.example/", {"team.a": b"x" * 100_000})
    store.close()

    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(
            [sys.executable, "-P", "-m", "aragog.cli", *arguments],
            env={**os.environ, "ARAGOG_DATA_DIR": str(tmp_path)},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=100,
            check=False,
        )

    assert (ended.returncode, ended.stderr) == (1, "aragog: No space left on device\n")


def test_a_user_without_a_name_may_change_a_domain():
    code = (
        "import os\n"
        "from aragog.cli.domain import _who\n"
        "for name in ('LOGNAME', 'USER', 'LNAME', 'USERNAME'): os.environ.pop(name, None)\n"
        "os.setuid(54321)\n"
        "print(_who().partition('@')[0])"
    )
    if os.getuid() != 0:
        skip_without(ROOT)

    assert printed(code) == "uid 54321\n"
