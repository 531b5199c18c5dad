"""
The exit statuses of all commands; docs/cli.md lists them.

A 404 or a refusal by robots.txt is an outcome, so a command that reports it succeeds.
"""

from __future__ import annotations

DONE = 0
FAILED = 1
"""Something failed on our side: invalid settings, an unresponsive server, a faulty component."""
UNUSABLE = 2
"""An option, file or value is invalid, or there is nothing to do."""
WAITING = 3
"""URLs are still waiting, so there is no result yet."""
BAD_LINES = 4
"""Some lines of the input were unusable; the others were processed."""
ABSENT = 5
"""There is no such page, or the URL may not be fetched."""
INTERRUPTED = 130
SIGNALED = 128
"""Added to the number of the signal that stopped the command."""
