"""
Page types with their own metadata, one module each.

A module defines the type's record, how to read it from a page, and `PAGE_TYPE` (see `_page_type`).
The module's name is the type's name and the prefix of its fields (`recipe.yields`). No other module
lists the types. For a new type, increment `rich_pins.EXTRACTOR_VERSION`, so that programs that
store fields read their pages again. Reading `NAMES` imports no parser.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module, resources

from richpins.page_types._page_type import PageType

__all__ = ["NAMES", "PageType", "page_types"]

NAMES = tuple(
    sorted(
        entry.name.removesuffix(".py")
        for entry in resources.files(__package__).iterdir()
        if entry.name.endswith(".py") and not entry.name.startswith("_")
    )
)
"""All page types, in alphabetical order."""


@cache
def page_types() -> tuple[PageType, ...]:
    """
    Return all page types, highest weight first. The first call imports their modules.

    Raises:
        TypeError: a module has no `PAGE_TYPE`, or one with another name than the module.
    """
    types = [_load(name) for name in NAMES]
    return tuple(sorted(types, key=lambda page_type: -page_type.weight))


def _load(name: str) -> PageType:
    page_type = getattr(import_module(f"{__package__}.{name}"), "PAGE_TYPE", None)
    if not isinstance(page_type, PageType) or page_type.name != name:
        raise TypeError(f"{__package__}.{name} must define PAGE_TYPE, a PageType named {name!r}")
    return page_type
