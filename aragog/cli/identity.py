"""The commands `aragog identity …`, for the keys that sign requests."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from aragog.cli.arguments import as_json
from aragog.cli.data_folder import command_settings
from aragog.cli.terminal import echo, echo_json, print_table
from aragog.crawl.identity.keys import (
    SigningKey,
    new_key,
    published_keys,
    read_keys,
    rotate_keys,
    signing_key,
    write_keys,
)
from aragog.crawl.identity.published_files import nginx_locations, published_files
from aragog.errors import ConfigError
from aragog.observability.formatting import format_duration
from aragog.settings import IdentitySettings, duration_s

FILE = click.argument("file", required=False, type=click.Path(dir_okay=False, path_type=Path))
DEFAULT_OVERLAP = "2d"


class Overlap(click.ParamType):  # type: ignore[type-arg] # generic since click 8.3
    """A duration such as `2d` (s, m, h, d), in seconds."""

    name = "duration"

    def convert(
        self, value: str | int, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        if isinstance(value, int):
            return value
        try:
            return int(duration_s(value))
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is not a duration; write 2d or 12h", param, ctx)


@click.group()
def identity() -> None:
    """Create and rotate the keys that sign requests, and write the files to publish."""


@identity.command("new")
@FILE
def new(file: Path | None) -> None:
    """
    Create the key file FILE (default: identity.key) with one new key; only its owner may read it.

    An existing file is never replaced.
    """
    settings = command_settings().identity
    path = _key_file(file, settings)
    key = new_key(int(time.time()))
    write_keys(path, [key], overwrite=False)
    echo(f"{path} contains the key {key.thumbprint}")
    if settings.key is None:
        echo("set identity.key to that file, and identity.agent to the URL of your public keys")


@identity.command("rotate")
@FILE
@click.option(
    "--overlap",
    type=Overlap(),
    default=DEFAULT_OVERLAP,
    show_default=True,
    help="How long to publish the new key before it signs, and the old one afterward.",
)
@click.option("--now", is_flag=True, help="Sign with the new key at once, and remove all others.")
def rotate(file: Path | None, overlap: int, *, now: bool) -> None:
    """
    Add a key to FILE (default: identity.key), which starts to sign after the overlap.

    Publish the new key within that time; verifiers cache the directory for as long as its
    Cache-Control allows. Use --now if somebody else knows the old key: sites refuse requests until
    they have read the new directory. Running workers notice the new file within 30 s.
    """
    path = _key_file(file, command_settings().identity)
    now_s = int(time.time())
    overlap_s = 0 if now else overlap
    keys = rotate_keys(read_keys(path), new_key(now_s + overlap_s), now_s, overlap_s)
    write_keys(path, keys, overwrite=True)
    new_signing_key = keys[-1]
    if now:
        echo(f"{new_signing_key.thumbprint} signs from now on; publish it at once")
    else:
        wait = format_duration(overlap_s * 1000)
        echo(f"{new_signing_key.thumbprint} signs in {wait}; publish it before then")


@identity.command("show")
@FILE
@as_json
def show(file: Path | None, *, as_json: bool) -> None:
    """Show the public keys of FILE (default: identity.key) and their times."""
    keys = read_keys(_key_file(file, command_settings().identity))
    now_s = time.time()
    rows = [{"state": _key_state(key, keys, now_s)} | key.public_jwk() for key in keys]
    if as_json:
        echo_json(rows, indent=True)
        return
    table = Table("key", "state", "signs from", "published until")
    for row in rows:
        table.add_row(
            row["kid"], row["state"], _format_time(row["nbf"]), _format_time(row.get("exp"))
        )
    print_table(table)


@identity.command("files")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
def files(folder: Path) -> None:
    """
    Write the files for the host of identity.agent to FOLDER: keys, a page, an address list.

    nginx.conf contains the headers that each file needs, among them the signature of the key
    directory, which expires after 30 days. Run this again after a rotation, and every few weeks.
    """
    settings = command_settings()
    if not settings.identity.agent:
        raise ConfigError("identity.agent: is not set; set it to the URL of your public keys")
    published = published_files(
        settings, read_keys(_key_file(None, settings.identity)), int(time.time())
    )
    for file in published:
        path = folder.joinpath(*file.path.split("/"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.body)
        echo(str(path))
    (folder / "nginx.conf").write_text(nginx_locations(published))
    echo(f"{folder / 'nginx.conf'}: include it in the server block of {settings.identity.agent}")


def _key_file(file: Path | None, settings: IdentitySettings) -> Path:
    """
    Return the key file to use.

    Raises:
        ConfigError: the file is neither an argument nor in the settings.
    """
    path = file or settings.key
    if path is None:
        raise ConfigError("identity.key: is not set; set it, or pass a FILE")
    return path


def _key_state(key: SigningKey, keys: list[SigningKey], now_s: float) -> str:
    if key not in published_keys(keys, now_s):
        return "over"
    if key.start_s > now_s:
        return "next"
    return "signs" if key == signing_key(keys, now_s) else "retired"


def _format_time(at_s: Any) -> str:
    if at_s is None:
        return "replaced"
    return datetime.fromtimestamp(at_s, UTC).isoformat(timespec="seconds")
