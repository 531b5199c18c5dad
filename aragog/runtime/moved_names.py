"""
Make modules importable under the names in the documentation of version 0.1.

For one release, old names still work and emit a warning with the new name. Both names refer to the
same module object, so old paths of classes in settings work, too.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import CodeType, ModuleType

_OLD_PACKAGE = "aragog."
MOVED = {
    "fetcher.causes": "aragog.fetch_record.causes",
    "fetcher.outcome": "aragog.fetch_record.outcome",
    "fetcher": "aragog.crawl.fetcher",
    "pages.canonical_evidence": "richpins.canonical_evidence",
    "pages.document": "richpins.document",
    "pages.extraction": "richpins.extraction",
    "pages.field_types": "richpins.field_types",
    "pages.links": "richpins.links",
    "pages.page_types": "richpins.page_types",
    "pages.provenance": "richpins.provenance",
    "pages.rich_pins": "richpins.rich_pins",
    "pages.robots_meta": "richpins.robots_meta",
    "pinlater.policy": "pinlater.retry_policy",
    "pinlater": "pinlater",
    "pipeline": "aragog.crawl.pipeline",
    "politeness": "aragog.crawl.politeness",
    "scrapy": "aragog.addons.scrapy",
    "testing.memory_queue": "pinlater.testing.memory_queue",
    "testing.memory_shard": "pinlater.testing.memory_shard",
    "testing.shard": "pinlater.testing.shard",
    "testing.shard_histories": "pinlater.testing.shard_histories",
    "testing.shard_world": "pinlater.testing.shard_world",
    "urls": "urlspelling",
    "zen.node_ids": "aragog.urlstore.node_ids",
    "zen": "zengraph",
}
"""Old names (without `aragog.`) and new names. The first match applies."""


def new_name(name: str) -> str | None:
    """Return the new name of a module, or None if it was not renamed."""
    if not name.startswith(_OLD_PACKAGE):
        return None
    old = name.removeprefix(_OLD_PACKAGE)
    for module, new in MOVED.items():
        if old == module or old.startswith(f"{module}."):
            return new + old.removeprefix(module)
    return None


class _MovedNames(MetaPathFinder, Loader):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        return ModuleSpec(fullname, self) if new_name(fullname) else None

    def exec_module(self, module: ModuleType) -> None:
        old = module.__name__
        new = new_name(old) or old
        # The import system returns what is in sys.modules, not the empty module.
        sys.modules[old] = import_module(new)
        warnings.warn(
            f"{old} was renamed to {new}; the next release removes the old name",
            DeprecationWarning,
            stacklevel=2,
        )

    def get_code(self, fullname: str) -> CodeType:
        """Return code for `python -m`."""
        program = f"import runpy; runpy.run_module({new_name(fullname)!r}, run_name='__main__')"
        return compile(program, fullname, "exec")


def install() -> None:
    """Install the import hook before Python's own finders."""
    if not any(isinstance(finder, _MovedNames) for finder in sys.meta_path):
        sys.meta_path.insert(0, _MovedNames())
