"""Every documented command exists, with its options."""

import re
import shlex
from contextlib import suppress

import click
import pytest
from celery.bin.celery import celery

from aragog.cli import main
from pinlater.__main__ import main as pinlater
from tests.support.documented import PAGES, ROOT, all_blocks

OURS = (
    r"(?:\.venv/bin/)?"
    r"(?:aragog|celery|pinlater|python -m (?:aragog|bench|deploy|tests)\.\w+|make) (?!it )"
)
GROUPS = {"aragog": main, "celery": celery, "pinlater": pinlater}


def commands():
    """(page, command) of each line of code and inline code that starts with our commands."""
    fence = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
    for page in [name for name in PAGES if "/adr/" not in name]:
        lines = [
            line.strip().removeprefix("$ ")
            for block in all_blocks([page])
            for line in re.sub(r"\\\n\s*", "", block.text).splitlines()
        ]
        text = fence.sub("", (ROOT / page).read_text())
        inline = [" ".join(each.split()) for each in re.findall(r"`([^`]+)`", text)]
        for command in dict.fromkeys([*lines, *inline]):
            for part in command.split(" | "):
                if re.match(OURS, f"{part} "):
                    yield pytest.param(part, id=f"{page}: {part[:60]}")


def words_of(command):
    """The words of a command without comments, brackets and placeholders for output."""
    return shlex.split(re.sub(r"[\[\]]|\s#.*|…", " ", command))


def parsed(command, words):
    """Parse words as click does, without converting their values."""
    context = click.Context(command, info_name=command.name)
    if isinstance(command, click.Group):
        _, rest, _ = command.make_parser(context).parse_args(list(words))
        if rest and rest[0] != "COMMAND":
            subcommand = command.get_command(context, rest[0])
            assert subcommand is not None, f"{rest[0]} is not a command"
            parsed(subcommand, rest[1:])
    else:
        with suppress(click.BadOptionUsage):  # the text names an option without a value
            command.make_parser(context).parse_args(list(words))


@pytest.mark.parametrize("command", list(commands()))
def test_documented_command_exists(command):
    program, *words = words_of(command)
    if group := GROUPS.get(program.rpartition("/")[2]):
        parsed(group, words)
    elif program == "make":
        targets = re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert words == [] or words[0] in targets
    else:
        path = ROOT / words[1].replace(".", "/")
        sources = [path.with_suffix(".py"), *path.glob("*.py")]
        text = "".join(source.read_text() for source in sources if source.is_file())
        options = [word for word in words[2:] if word.startswith("--")]
        assert [option for option in options if f'"{option}"' not in text] == []
