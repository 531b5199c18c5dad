"""Sites from a Python file outside of the project, such as a set whose author has not seen the rules."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from bench.traps.site import Site

NAMES = ("trapped_sites", "harmless_sites")


def sites_of_file(path: Path) -> tuple[list[Site], list[Site]]:
    """
    Return the trapped and the harmless sites of a Python file.

    The file has `trapped_sites` and `harmless_sites`, each a list of sites (`bench.traps.site.Site`)
    or a function without arguments that returns one. Either may be missing. The file may import
    files beside it.

    Raises:
        SystemExit: it cannot be read, or has neither name.
    """
    module = _module(path.resolve())
    found = [getattr(module, name, None) for name in NAMES]
    if found == [None, None]:
        sys.exit(f"{path}: has neither {' nor '.join(NAMES)}")
    trapped, harmless = (list(one() if callable(one) else one or ()) for one in found)
    return trapped, harmless


def _module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        sys.exit(f"{path}: not a Python file")
    sys.path.insert(0, str(path.parent))
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module
