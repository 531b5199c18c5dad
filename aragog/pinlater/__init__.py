"""
Jobs that wait on the server until they are due, as a kombu transport.

Importing this package registers `pinlater://`: kombu refuses module paths in broker URLs, so the
alias must be there before the first connection is made.
"""

from __future__ import annotations

from kombu.transport import TRANSPORT_ALIASES

for scheme in ("pinlater", "pinlaters"):
    TRANSPORT_ALIASES[scheme] = "aragog.pinlater.transport.kombu_transport:Transport"
