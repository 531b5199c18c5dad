"""
Entry point that registers `pinlater://` in every process that imports kombu.

kombu loads no transports from entry points, but it loads the entry points `kombu.serializers` when
it is imported. Loading this one imports the package, which registers the schemes.
"""

from __future__ import annotations

import json

# A name, functions and a content type, as kombu expects of a serializer. Nobody uses them.
serializer = (json.dumps, json.loads, "application/x-pinlater+json", "utf-8")
