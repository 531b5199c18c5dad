"""
The names that the library zengraph had as a part of aragog, for one release.

`aragog.zen.tables.sqlite` is the module `zengraph.tables.sqlite`: both have the same classes.
The engines that take a server have other arguments now.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

__path__: list[str] = []  # it has modules, which the finder below finds

_PRESENT = {"tables": "zengraph.tables", "node_ids": "aragog.urlstore.node_ids"}
_NAMES = {
    "application_graphs": {"ApplicationGraph": "zengraph.Graph"},
    "codec": {"IN": "zengraph.IN", "OUT": "zengraph.OUT"},
    "edges": {
        "Edge": "zengraph.Edge",
        "Edges": "zengraph.Edges",
        "LINK": "aragog.urlstore.link_edges.LINK",
    },
    "graph": {"Zen": "zengraph.MultiGraph"},
    "indexes": {"Schema": "zengraph.Schema"},
    "pair_edges": {"NewEdge": "zengraph.NewEdge", "PairEdge": "zengraph.EdgeKey"},
}
"""By former module the public names that it had, and what they are now."""


class _FormerNames(MetaPathFinder, Loader):
    """Finds modules by their former names."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """See `importlib`; None for every other module."""
        del path, target
        first = name.removeprefix(f"{__name__}.").partition(".")[0]
        known = first in _PRESENT or first in _NAMES
        return ModuleSpec(name, self) if name.startswith(f"{__name__}.") and known else None

    def exec_module(self, module: ModuleType) -> None:
        """Put the module itself in place of the new, empty one, or the names that it had in it."""
        first, _, rest = module.__name__.removeprefix(f"{__name__}.").partition(".")
        if first in _PRESENT:
            name = ".".join(filter(None, (_PRESENT[first], rest)))
            sys.modules[module.__name__] = import_module(name)
            return
        for old, new in _NAMES[first].items():
            owner, _, name = new.rpartition(".")
            setattr(module, old, getattr(import_module(owner), name))


sys.meta_path.insert(0, _FormerNames())
warnings.warn(
    "aragog.zen is the library zengraph now: import zengraph; this name ends with the next release",
    DeprecationWarning,
    stacklevel=2,
)
