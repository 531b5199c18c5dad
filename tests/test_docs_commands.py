"""Every command that the documentation names exists, with its options."""

import re
import shlex
from contextlib import suppress
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from aragog.cli import main

ROOT = Path(__file__).resolve().parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "examples").glob("*.md")),
]
OURS = r"(?:\.venv/bin/)?(?:aragog|python -m (?:bench|deploy|tests)\.\w+|make) (?!it )"


def commands():
    """(page, command) of each line of code and each piece of inline code that starts with ours."""
    for page in PAGES:
        text = page.read_text()
        fence = re.compile(r"^```\w*\n(.*?)^```", re.DOTALL | re.MULTILINE)
        fenced, text = fence.findall(text), fence.sub("", text)
        indented = re.findall(r"\n\n((?:    .+\n)+)", text)
        lines = [
            line.strip().removeprefix("$ ")
            for block in [*fenced, *indented]
            for line in re.sub(r"\\\n\s*", "", block).splitlines()
        ]
        inline = [" ".join(each.split()) for each in re.findall(r"`([^`]+)`", text)]
        for command in dict.fromkeys([*lines, *inline]):
            for part in command.split(" | "):
                if re.match(OURS, f"{part} "):
                    yield pytest.param(part, id=f"{page.name}: {part[:60]}")


def words_of(command):
    """The words of a command without comments, brackets and what stands for output."""
    return shlex.split(re.sub(r"[\[\]]|\s#.*|…", " ", command))


def parsed(command, words):
    """Parse words as click does, without converting them to values."""
    context = click.Context(command, info_name=command.name)
    if isinstance(command, click.Group):
        _, rest, _ = command.make_parser(context).parse_args(list(words))
        if rest and rest[0] != "COMMAND":
            found = command.get_command(context, rest[0])
            assert found is not None, f"{rest[0]} is not a command"
            parsed(found, rest[1:])
    else:
        with suppress(click.BadOptionUsage):  # the text names an option without a value
            command.make_parser(context).parse_args(list(words))


@pytest.mark.parametrize("command", list(commands()))
def test_a_command_of_the_documentation_exists(command):
    program, *words = words_of(command)
    if program.endswith("aragog"):
        parsed(main, words)
    elif program == "make":
        targets = re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert words == [] or words[0] in targets
    else:
        path = ROOT / words[1].replace(".", "/")
        sources = [path.with_suffix(".py"), *path.glob("*.py")]
        text = "".join(source.read_text() for source in sources if source.is_file())
        options = [word for word in words[2:] if word.startswith("--")]
        assert [option for option in options if f'"{option}"' not in text] == []


def test_the_page_about_robots_prints_what_it_says(tmp_path):
    page = (ROOT / "docs" / "robots.md").read_text()
    ((body, url, printed),) = re.findall(
        r"\$ printf '(.+)' > robots.txt\n\$ aragog robots test (\S+) --file robots.txt\n(.*?)```",
        page,
        re.DOTALL,
    )
    file = tmp_path / "robots.txt"
    file.write_text(body.replace("\\n", "\n"))

    result = CliRunner().invoke(main, ["robots", "test", url, "--file", str(file)])

    assert result.output.split() == printed.split()
