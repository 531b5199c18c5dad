"""The progress display of long commands, on a terminal."""

from __future__ import annotations

from rich.progress import Progress, ProgressColumn

from aragog.terminal import SafeConsole


def progress_display(*columns: ProgressColumn) -> Progress:
    """A display on standard error; it shows nothing if that is not a terminal."""
    console = SafeConsole(stderr=True)
    return Progress(*columns, console=console, disable=not console.is_terminal)
