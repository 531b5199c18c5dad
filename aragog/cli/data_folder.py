"""Choose a command's settings: the running system's, or else the command's own."""

from __future__ import annotations

import click

from aragog.cli.terminal import echo, verbosity
from aragog.settings import Settings
from aragog.settings.in_use import SettingsInUse, settings_in_use

_REPORTED_KEY = "aragog.differing_settings_reported"


def command_settings() -> Settings:
    """
    Return the settings of the system running in the data folder, or else this process's settings.

    If this process's settings differ from those in use, prints the differences once to standard
    error.

    Raises:
        ConfigError: a setting is invalid.
    """
    in_use = settings_in_use()
    if in_use.differing and not verbosity.quiet:
        _report(in_use)
    return in_use.settings


def _report(in_use: SettingsInUse) -> None:
    context = click.get_current_context(silent=True)
    reported = context.find_root().meta if context else {}
    if _REPORTED_KEY not in reported:
        reported[_REPORTED_KEY] = True
        echo(f"aragog: {in_use.difference('this command')}", err=True)
