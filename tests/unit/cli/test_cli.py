"""`aragog --help` lists commands without importing them, with the summaries of their own help."""

import os
import signal
import socket
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from aragog.bootstrap.stores import url_store
from aragog.cli import main
from aragog.cli.one_line_errors import OneLineErrors
from aragog.settings import load_settings
from tests.support.forked import printed
from tests.support.missing_parts import ROOT, skip_without


@pytest.mark.parametrize("name", main.lazy_commands)
def test_summary_of_a_command_is_the_first_line_of_its_help(name):
    lazy = main.lazy_commands[name]
    command = getattr(import_module(lazy.module), lazy.attribute)

    assert (command.name, command.get_short_help_str(limit=200)) == (name, lazy.summary)


def test_help_lists_every_command_as_click_does():
    listed = CliRunner().invoke(main, ["--help"]).output
    context = click.Context(main)
    names = main.list_commands(context)
    plain = click.Group(commands={name: main.get_command(context, name) for name in names})

    by_click = plain.get_help(click.Context(plain, terminal_width=80)).partition("Commands:")[2]

    assert listed.partition("Commands:")[2].split() == by_click.split()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["crawl", "list", "--nonsense"], "No such option"),
        (["store", "list", "--since", "bogus"], "is not a time"),
        (["show", "http://a.test/", "--wait", "9999h"], "at most 60 s"),
        (["changes", "--host", "http://a.test/"], "is a URL"),
    ],
)
def test_errors_of_every_command_start_with_the_program_name(arguments, text, tmp_path):
    """Regression: depending on the command, errors started with `Error:`, `aragog:` or nothing."""
    ran = CliRunner().invoke(main, arguments, env={"ARAGOG_DATA_DIR": str(tmp_path)})

    assert ran.exit_code
    assert any(line.startswith("aragog: ") and text in line for line in ran.output.splitlines())


def test_unknown_command_is_a_usage_error():
    result = CliRunner().invoke(main, ["nothing-like-it"])

    assert result.exit_code == 2
    assert "No such command 'nothing-like-it'" in result.output


def aragog(*arguments, folder, **options):
    return subprocess.Popen(
        [sys.executable, "-m", "aragog.cli", *arguments],
        env=os.environ | {"ARAGOG_DATA_DIR": str(folder)},
        text=True,
        **options,
    )


@pytest.mark.parametrize(
    ("arguments", "size"),
    [(["plan", "--urls", "1e9", "--domains", "1e6"], 10), (["--help"], 0), (["-h"], 100)],
)
def test_reader_that_closes_the_pipe_early_is_not_an_error(tmp_path, arguments, size):
    """Regression: some commands exited with 1, as if a server did not respond, others with 0."""
    running = aragog(*arguments, folder=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert len(running.stdout.read(size)) == size
    running.stdout.close()

    errors = running.stderr.read()
    assert (running.wait(), errors) == (0, "")
    running.stderr.close()


def test_other_broken_pipe_is_an_error():
    def breaks():
        reading, writing = socket.socketpair()
        reading.close()
        with writing:
            writing.sendall(b"x")

    group = OneLineErrors(lazy_commands={}, commands={"go": click.Command("go", callback=breaks)})

    assert CliRunner().invoke(group, ["go"]).exit_code == 1


def test_return_value_of_a_command_is_not_an_exit_code():
    group = OneLineErrors(
        lazy_commands={}, commands={"go": click.Command("go", callback=lambda: 7)}
    )

    assert CliRunner().invoke(group, ["go"]).exit_code == 0


@pytest.mark.parametrize("arguments", [["--help"], ["plan", "--urls", "9", "--domains", "1"]])
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_do_not_fail_a_command(tmp_path, arguments, closed):
    command = [sys.executable, "-m", "aragog.cli", *arguments]
    ended = subprocess.run(
        ["sh", "-c", f'"$@" {closed}', "sh", *command],
        env=os.environ | {"ARAGOG_DATA_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (ended.returncode, ended.stderr) == (0, "")


WAITING = """
import click, signal, sys
from aragog.cli.one_line_errors import OneLineErrors
# What runs in the background of a shell ignores it, and so do its children.
signal.signal(signal.SIGINT, signal.default_int_handler)
def wait():
    print("waits", flush=True)
    sys.stdin.read()
OneLineErrors(lazy_commands={}, commands={"go": click.Command("go", callback=wait)}).main(["go"])
"""


def test_interrupted_command_exits_with_130():
    """Regression: it exited with 1, the status for a server that does not respond."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    running = subprocess.Popen([sys.executable, "-c", WAITING], text=True, **pipes)
    assert running.stdout.readline() == "waits\n"

    running.send_signal(signal.SIGINT)
    _, errors = running.communicate()

    assert (running.returncode, errors.strip()) == (130, "")


def test_verbose_adds_a_traceback_and_keeps_the_exit_code(tmp_path):
    empty, filled = tmp_path / "empty", tmp_path / "filled"
    url_store(load_settings(environ={"ARAGOG_DATA_DIR": str(filled)})).close()
    for folder, expected in ((filled, 2), (empty, 1)):
        environ, arguments = {"ARAGOG_DATA_DIR": str(folder)}, ["show", "nonsense"]
        short = CliRunner().invoke(main, arguments, env=environ)
        long = CliRunner().invoke(main, ["-v", *arguments], env=environ)

        assert short.exit_code == long.exit_code == expected
        assert "Traceback" not in short.output
        assert long.output.startswith("Traceback")
        assert long.output.endswith(short.output)


def test_unanswered_prompt_refers_to_the_help(tmp_path):
    ran = CliRunner().invoke(
        main, ["store", "takedown", "http://a.test/"], env={"ARAGOG_DATA_DIR": str(tmp_path)}
    )

    assert ran.exit_code == 1
    assert "see the command's --help" in ran.output


@pytest.mark.parametrize(
    "arguments",
    [
        ["plan", "--urls", "1e9", "--domains", "1e6"],
        ["plan", "--urls", "1e9", "--domains", "1e6", "--json"],
        ["store", "export", "--format", "jsonl", "/dev/full"],
        ["--help"],
    ],
    ids=["table", "json", "file", "help"],
)
def test_full_disk_gives_a_one_line_error(tmp_path, arguments):
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


def test_user_without_a_name_may_change_a_domain():
    code = (
        "import os\n"
        "from aragog.cli.domain import _current_user\n"
        "for name in ('LOGNAME', 'USER', 'LNAME', 'USERNAME'): os.environ.pop(name, None)\n"
        "os.setuid(54321)\n"
        "print(_current_user().partition('@')[0])"
    )
    if os.getuid() != 0:
        skip_without(ROOT)

    assert printed(code) == "uid 54321\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["changes", "--host", "http://a.test/"], "is a URL: pass only its host\n"),
        (["store", "list", "--since", "bogus"], "'bogus' is not a time; write 1h (s, m, h, d), "),
        (["show", "http://a.test/", "--wait", "9999h"], "'--wait': at most 60 s"),
        (["limiter", "add", "bogus"], "'NODE': 'bogus' is not a Redis URL"),
        (["limiter", "show", "http://a.test/"], "'DOMAIN': 'http://a.test/' is a URL: pass only"),
        (["enqueue", ""], "a SOURCE is empty; pass a URL, a file, or - for standard input"),
        (
            ["watch", "http://a.test/", "--owner", ""],
            "'--owner': '' is not a valid owner: it is blank",
        ),
        (["store", "lift-takedown", "http://a.test/"], "http://a.test/ is not taken down; see"),
    ],
)
def test_invalid_value_is_shown_as_entered(tmp_path, arguments, message):
    environ = {"ARAGOG_DATA_DIR": str(tmp_path)}
    url_store(load_settings(environ=environ)).close()

    ran = CliRunner().invoke(main, arguments, env=environ)

    assert ran.exit_code == 2
    assert message in ran.output


def test_url_that_was_taken_down_has_a_separate_exit_code(tmp_path):
    environ = {"ARAGOG_DATA_DIR": str(tmp_path)}
    store = url_store(load_settings(environ=environ))
    store.takedowns.take_down(url="http://a.test/")
    store.close()

    for command in ("show", "content"):
        ran = CliRunner().invoke(main, [command, "http://a.test/"], env=environ)
        assert (ran.exit_code, "was taken down" in ran.output) == (5, True)


def test_port_in_use_is_reported_with_its_option(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        ran = CliRunner().invoke(
            main, ["mcp", "--port", port], env={"ARAGOG_DATA_DIR": str(tmp_path)}
        )

    assert ran.exit_code == 1
    assert ran.output == f"aragog: --port: {port} cannot be used: Address already in use\n"
