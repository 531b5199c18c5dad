"""`aragog --help` lists commands without importing them, and says what their own help says."""

from importlib import import_module

import click
import pytest
from click.testing import CliRunner

from aragog.cli import COMMANDS, main


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
