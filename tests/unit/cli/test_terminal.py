"""Output to a pipe: unwrapped lines without padding."""

from rich.table import Table

from aragog.cli.terminal import print_table


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
