"""The command `aragog repair-redis`."""

from __future__ import annotations

from pathlib import Path

import click

from aragog.cli.terminal import echo, note
from aragog.errors import ConfigError
from aragog.settings import Settings, load_settings
from aragog.settings.in_use import running_pid
from aragog.standalone.append_only_files import AppendOnlyFiles

_SET_ASIDE_QUESTION = (
    "Redis will start empty: queued URLs, rates and robots.txt rules are lost; "
    "stored pages and their refreshes are not. Continue?"
)


@click.command("repair-redis")
@click.option("--set-aside", is_flag=True, help="Rename the files, so that Redis starts empty.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def repair_redis(*, set_aside: bool, yes: bool) -> None:
    """
    Repair the files of the private Redis, which holds the queued jobs.

    Stop the system first. This command adds files that are missing from the manifest, and truncates
    a damaged file where its damage begins, because the rest cannot be read. It keeps a copy of what
    it changes. Use `--set-aside` for files that Redis still cannot read, such as a damaged
    snapshot.
    """
    settings = load_settings()
    files = AppendOnlyFiles(_redis_folder(settings))
    if set_aside:
        if not files.folder.is_dir() and not files.are_lost():
            raise ConfigError(f"data_dir: there is no {files.folder}")
        if not yes:
            click.confirm(_SET_ASIDE_QUESTION, abort=True)
        backup = files.set_aside()
        echo(f"the files are in {backup}; Redis starts empty" if backup else "Redis starts empty")
        return
    changes = files.repair()
    for line in changes:
        echo(line)
    if not changes:
        note(f"no problems found in {files.folder}")


def _redis_folder(settings: Settings) -> Path:
    data_dir = settings.data_dir.absolute()
    if not settings.private_redis:
        raise ConfigError("redis.url: is your own server; repair it with its own tools")
    if pid := running_pid(data_dir / "run"):
        raise ConfigError(
            f"data_dir: aragog is running in {data_dir} (process {pid}); run `aragog down` first"
        )
    return data_dir / "redis"
