"""The option `--extractor`, which adds functions from Python files to the crawler."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import click

from aragog.errors import ConfigError
from aragog.settings import load_settings
from aragog.settings.extractor_names import is_file_name
from aragog.settings.in_use import settings_in_use

VARIABLE = "ARAGOG_PIPELINE__EXTRACTORS"

extractor_option = click.option(
    "--extractor",
    multiple=True,
    metavar="FILE:FUNCTION",
    help="Also extract fields with a function in a Python file; repeatable.",
)


def use_extractors(names: Sequence[str]) -> None:
    """
    Add extractors to the settings, also for the crawler that this process starts.

    Raises:
        ConfigError: an extractor cannot be loaded, or aragog is running with other extractors.
    """
    if not names:
        return
    from aragog.pages.extractors import load  # noqa: PLC0415 - it imports the parsers

    chosen = (*load_settings().pipeline.extractors, *map(_make_absolute, names))
    load(chosen)
    os.environ[VARIABLE] = ",".join(dict.fromkeys(chosen))
    in_use = settings_in_use()
    if "pipeline.extractors" in in_use.differing:
        raise ConfigError(in_use.difference("--extractor"))


def _make_absolute(name: str) -> str:
    if not is_file_name(name):
        raise ConfigError(f"--extractor: {name!r} must be file.py:function")
    path, _, function = name.rpartition(":")
    return f"{Path(path).absolute()}:{function}"
