"""Evaluate the options of `aragog run`."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from aragog.cli.data_folder import command_settings
from aragog.cli.run_output import RunOutput
from aragog.crawl.pipeline.messages import PRIORITY_DEFAULT
from aragog.errors import ConfigError


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The evaluated options of a run."""

    depth: int
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    refresh: bool
    priority: int = PRIORITY_DEFAULT
    output: RunOutput | None = None
    """The file that pages are written to."""
    crawl: str = "run"
    """The name of the crawl that the URLs belong to."""
    reports_changes: bool = False
    """True if the run fetches every stored page of the crawl and reports what changed."""
    changes: Path | None = None
    """The file that the changes are written to."""


def changes_path(file: str | None, *, refresh: bool) -> Path | None:
    """
    Return the path in `--changes`.

    Raises:
        UsageError: the run does not refresh pages, so it cannot find changes.
        ConfigError: the file's folder is not writable.
    """
    if file is None:
        return None
    if not refresh:
        raise click.UsageError("--changes needs --refresh")
    path = Path(file)
    if not os.access(path.absolute().parent, os.W_OK):
        raise ConfigError(f"the folder of {file} does not exist or cannot be written")
    return path


def open_output(
    output: str | None,
    append: str | None,
    fields: tuple[str, ...] | None,
    items: tuple[str, ...] | None = None,
) -> RunOutput | None:
    """
    Return the run's output file, or None.

    Raises:
        UsageError: the options contradict each other. See also `RunOutput`.
    """
    if output and append:
        raise click.UsageError("use either -O (replace the file) or -o (append to it)")
    file = output or append
    if file is None:
        if fields or items:
            option = "--fields" if fields else "--items"
            raise click.UsageError(f"{option} needs -O or -o")
        return None
    return RunOutput(file, fields, command_settings(), items=items, append=append is not None)


def crawl_name(file: str | None, depth: int, include: Sequence[str], exclude: Sequence[str]) -> str:
    """Return the name of a run's crawl. Equal arguments result in the same name."""
    if file is None:
        return "demo"
    file_path = str(Path(file).absolute()) if file != "-" else file
    text = repr((file_path, depth, tuple(include), tuple(exclude)))
    stem = re.sub(r"[^A-Za-z0-9-]+", "-", Path(file).stem).strip("-")[:40] or "run"
    return f"{stem}-{hashlib.sha256(text.encode()).hexdigest()[:6]}"
