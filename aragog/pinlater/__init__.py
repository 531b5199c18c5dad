"""
A kombu transport that keeps jobs on the Redis server until they are due.

Importing this package registers `pinlater://`: kombu refuses module paths in broker URLs, so the
alias must exist before the first connection is opened.
"""

from __future__ import annotations

from kombu.transport import TRANSPORT_ALIASES

for scheme in ("pinlater", "pinlaters"):
    TRANSPORT_ALIASES[scheme] = "aragog.pinlater.transport.kombu_transport:Transport"
