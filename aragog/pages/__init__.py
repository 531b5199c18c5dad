"""
What a crawl reads of pages beside their facts, which the library `richpins` has. No I/O.

Sitemaps and feeds; what pages may be used for; fields of one's own, by functions and by rules for
single sites; main texts as fields. The names that moved to the library work here for one release,
and warn: `aragog.pages.document` is `richpins.document`.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

_MOVED = frozenset(
    f"{__name__}.{name}"
    for name in (
        "canonical_evidence", "document", "extraction", "field_types", "links", "page_types",
        "provenance", "rich_pins", "robots_meta",
    )
)  # fmt: skip


class _OldNames(MetaPathFinder, Loader):
    """Imports a module of the library under the name that it had; asked after all others."""

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname in _MOVED else None

    def exec_module(self, module: ModuleType) -> None:
        old = module.__name__
        new = old.replace(__name__, "richpins", 1)
        warnings.warn(f"{old} is {new} now: import it from there", DeprecationWarning, stacklevel=2)
        sys.modules[old] = import_module(new)


sys.meta_path.append(_OldNames())
