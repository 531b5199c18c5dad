"""
Property values with the times at which they were true.

A property's name includes its family: `m:` for properties set by applications, `s:` for system
properties, `p:` for those of edges, `i:` for values stored with an index entry.
"""

from __future__ import annotations

from aragog.zen.tables import Cell, Row, Salvaged, newest_ms

__all__ = ["Cell", "Row", "Salvaged", "newest_ms"]
