"""The contract of cell tables, now in `zengraph.testing`. This module will be removed in 0.3.0."""

import warnings

from zengraph.testing.cell_table import CellTableContract

__all__ = ["CellTableContract"]

warnings.warn(
    "aragog.testing.cell_table is zengraph.testing.cell_table now", DeprecationWarning, stacklevel=2
)
