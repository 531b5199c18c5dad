"""
The exit statuses of all commands; docs/cli.md has the table.

A refusal by robots.txt and a 404 are outcomes: the command that learned of them has done its work.
"""

from __future__ import annotations

DONE = 0
FAILED = 1
"""A failure on our side: invalid settings, a server that does not respond, an unhealthy part."""
UNUSABLE = 2
"""The call cannot be carried out as it is: no such option, file or value; or nothing to do."""
WAITING = 3
"""The answer is not known yet, because URLs still wait."""
BAD_LINES = 4
"""Some of the input could not be used; the rest was."""
ABSENT = 5
"""The answer is no: there is no such page, or the URL may not be fetched."""
INTERRUPTED = 130
SIGNALED = 128
"""The number of the signal is added."""
