"""
Commands in a private folder, as a shell runs them, and settings as processes read them.

Input, one of:

    run       a list of commands, each a list of arguments of `aragog`; the last one counts. `files`
              are written first, by name (`latin` for bytes in Latin-1), and `records` of URLs are
              in the store. For the last command: `stdin`, `environ` (an empty value removes),
              `reads`, bytes of output after which the reader closes it, `interrupted` after that
              many bytes, `into` a device. `{folder}` is the folder
    settings  environment variables, and `file`, a settings file; `value` is the name of one

The answers: `exit`, whether it `failed`, `out`, `err`, `lines` of the output, and whether each of
them is `json`; for settings `is`, or `refused` and `why`.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import redis

from aragog.bootstrap.stores import url_store
from aragog.errors import ConfigError
from aragog.settings import load_settings
from pinlater.brokers import of_socket
from tests.reports.doors import _servers

LIMIT_S = 120


def answer(given: Mapping[str, Any]) -> dict[str, Any]:
    """The output of the last command, or the value of a setting."""
    return _settings(given["settings"]) if "settings" in given else _commands(given)


def _settings(given: Mapping[str, Any]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="ar") as name:
        path = None
        if "file" in given:
            path = Path(name, "aragog.toml")
            path.write_bytes(given["file"].encode(given.get("encoding", "utf-8")))
        try:
            settings = load_settings(path, given.get("environ", {}))
        except ConfigError as error:
            return {"refused": True, "why": str(error)}
        except Exception as error:
            return {"refused": f"{type(error).__name__}", "why": str(error)}
        found = {"shown": repr(settings) + str(settings)}
        if "value" in given:
            found["is"] = functools.reduce(getattr, given["value"].split("."), settings)
        return found


def _commands(given: Mapping[str, Any]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="ar") as name:
        folder = Path(name)
        environ = _environ(folder, given)
        for file, text in given.get("files", {}).items():
            (folder / file).write_text(text, encoding="utf-8", newline="")
        for file, text in given.get("latin", {}).items():
            (folder / file).write_bytes(text.encode("latin-1"))
        if count := given.get("records", 0):
            note = given.get("note", "Käse 猫 ") + "x" * 200
            settings = load_settings(environ=environ).resolved()
            with contextlib.closing(url_store(settings)) as store:
                for number in range(count):
                    store.put(f"http://a.test/{number}", {"team.note": note.encode()})
        done = {}
        for command in given["run"]:
            is_last = command is given["run"][-1]
            arguments = [each.replace("{folder}", name) for each in command]
            done = _run(arguments, folder, environ, given if is_last else {})
        return done


def _environ(folder: Path, given: Mapping[str, Any]) -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("ARAGOG_")}
    own |= {
        "ARAGOG_DATA_DIR": str(folder / "data"), "HOME": str(folder),
        "ARAGOG_FETCH__USER_AGENT": "examplebot/1.0 (+https://example.com/bot)",
        "PYTHONPATH": str(Path(__file__).parents[3]),
    }  # fmt: skip
    if given.get("broker"):
        server = _servers.redis_server()
        with redis.Redis.from_url(server.url) as client:
            client.flushall()
        own |= {"ARAGOG_REDIS__URL": server.url}
        own |= {"ARAGOG_BROKER__URL": of_socket(server.socket, 1)}
    for name, value in given.get("environ", {}).items():
        own.pop(name, None)
        if value:
            own[name] = value.replace("{folder}", str(folder))
    return own


def _take_interrupts() -> None:
    """A shell that starts the tests in the background makes its children ignore interrupts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _run(
    arguments: list[str], folder: Path, environ: Mapping[str, str], given: Mapping[str, Any]
) -> dict[str, Any]:
    command = [sys.executable, "-m", "aragog.cli", *arguments]
    stdin = given.get("stdin", "").encode(given.get("stdin_encoding", "utf-8"))
    with (folder / "err").open("wb") as err, (folder / "in").open("w+b") as source:
        source.write(stdin)
        source.seek(0)
        into = Path(given["into"]).open("wb") if "into" in given else subprocess.PIPE  # noqa: SIM115
        process = subprocess.Popen(
            command, cwd=folder, env=environ, stdin=source, stdout=into, stderr=err,
            preexec_fn=_take_interrupts,  # noqa: PLW1509 - the tests have one thread
        )  # fmt: skip
        out = _output(process, given) if into is subprocess.PIPE else b""
        code = process.wait(LIMIT_S)
        if into is not subprocess.PIPE:
            into.close()
    err = (folder / "err").read_bytes().decode("utf-8", "replace")
    text = out.decode("utf-8", "replace")
    lines = text.splitlines()
    return {
        "exit": code, "failed": code != 0, "out": text.replace(str(folder), "{folder}"), "lines": len(lines),
        "err": err.replace(str(folder), "{folder}"), "json": all(map(_is_json, lines)),
        "files": sorted(path.name for path in folder.iterdir()),
    }  # fmt: skip


def _output(process: subprocess.Popen[bytes], given: Mapping[str, Any]) -> bytes:
    if "reads" in given:
        data = process.stdout.read(given["reads"])
        process.stdout.close()
        return data
    data = b""
    if "interrupted" in given:
        data = process.stdout.read(given["interrupted"])
        process.send_signal(signal.SIGINT)
    data += process.stdout.read()
    process.stdout.close()
    return data


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True
