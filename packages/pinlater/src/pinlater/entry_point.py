"""
Entry point that registers `pinlater://` in every process that imports kombu.

When kombu is imported, it loads no transports from entry points, but it loads serializers (the
group `kombu.serializers`). Loading such an entry point imports this package, which registers the
schemes.
"""

from __future__ import annotations

import json

# An unused serializer as kombu expects it: name, functions and content type.
serializer = (json.dumps, json.loads, "application/x-pinlater+json", "utf-8")
