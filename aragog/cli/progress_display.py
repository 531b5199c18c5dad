"""The progress of a command that takes long, for somebody who watches."""

from __future__ import annotations

from rich.progress import Progress, ProgressColumn

from aragog.terminal import SafeConsole


def progress_display(*columns: ProgressColumn) -> Progress:
    """A display on standard error; it shows nothing where that is no terminal but a log."""
    console = SafeConsole(stderr=True)
    return Progress(*columns, console=console, disable=not console.is_terminal)
