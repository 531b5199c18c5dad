"""
The old name of the library `urlspelling`, for one release.

Importing it warns. `aragog.urls.canonical`, `aragog.urls.domain` and `aragog.urls.link_header` work
as well.
"""

from __future__ import annotations

import sys
import warnings
from importlib import import_module

from urlspelling import *  # noqa: F403 - whatever was here

warnings.warn(
    "aragog.urls is the library urlspelling now: import it from there",
    DeprecationWarning,
    stacklevel=2,
)

for _name in ("canonical", "domain", "link_header"):
    sys.modules[f"{__name__}.{_name}"] = import_module(f"urlspelling.{_name}")
