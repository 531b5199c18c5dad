"""
The exit statuses of all commands; docs/cli.md lists them.

A refusal by robots.txt or a 404 is an outcome, so a command that reports it has succeeded.
"""

from __future__ import annotations

DONE = 0
FAILED = 1
"""Something failed on our side: invalid settings, an unresponsive server, a faulty component."""
UNUSABLE = 2
"""The call is invalid: an unknown option, file or value; or there is nothing to do."""
WAITING = 3
"""The result is not known yet, because URLs are still waiting."""
BAD_LINES = 4
"""Some of the input could not be used; the rest was processed."""
ABSENT = 5
"""The result is negative: there is no such page, or the URL may not be fetched."""
INTERRUPTED = 130
SIGNALED = 128
"""Added to the number of the signal that stopped the command."""
