"""Terminal output: no control characters, and unwrapped lines when piped."""

import json

import pytest
from rich.table import Table

from pinlater.terminal import echo_json, print_table, printable


def test_one_long_value_does_not_pad_every_line_of_piped_output(capsys):
    table = Table(box=None)
    for name in ("field", "value"):
        table.add_column(name)
    table.add_row("title", "word " * 2_000 + "end")
    table.add_row("price", "1.10")

    print_table(table)

    lines = capsys.readouterr().out.split("\n")
    assert [line for line in lines if line != line.rstrip()] == []
    assert max(map(len, lines)) > 10_000


STEERING = [chr(c) for c in (*range(9), *range(11, 32), *range(0x7F, 0xA0), 0x202E, 0x2066)]


@pytest.mark.parametrize("character", STEERING)
def test_control_characters_are_escaped(character, capsys):
    text = f"a{character}b"
    table = Table(text)
    table.add_row(text)

    print_table(table)
    echo_json({text: text})
    table_text, _, json_text = capsys.readouterr().out.rstrip("\n").rpartition("\n")

    assert character not in printable(text)
    assert character not in table_text + json_text
    assert json.loads(json_text) == {text: text}
