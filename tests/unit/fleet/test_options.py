"""Options of the fleet are checked before anything starts."""

import pytest

from tests.fleet.__main__ import parse_options


@pytest.mark.parametrize("hosts", ["4", "0", "-1", "61"])
def test_fleet_with_too_few_or_too_many_machines_is_refused(hosts, capsys):
    with pytest.raises(SystemExit, match="2"):
        parse_options([f"--hosts={hosts}"])

    assert f"HOSTS: use 5 to 60 machines, got {hosts}: 2 run the API" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--urls=0", "--domains=0", "--cut-s=-1", "--rate=0"])
def test_option_that_must_be_positive_is_named(option, capsys):
    with pytest.raises(SystemExit, match="2"):
        parse_options([option])

    name, _, value = option.partition("=")
    assert f"{name}: use a number above 0, got {value}" in capsys.readouterr().err


@pytest.mark.parametrize("hosts", [5, 60])
def test_smallest_and_largest_fleet_are_accepted(hosts):
    assert parse_options(["--hosts", str(hosts)]).hosts == hosts
