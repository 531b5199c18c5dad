"""
Property values with the times at which they were true.

A property's name carries its family: `m:` for what applications set, `s:` for system properties,
`p:` for those of edges, `i:` for what an index keeps beside an entry.
"""

from __future__ import annotations

from aragog.zen.tables import Cell, Row, Salvaged, newest_ms

__all__ = ["Cell", "Row", "Salvaged", "newest_ms"]
