"""
The names in `pipeline.extractors`: entry points, or functions of files. Pure.

Both are known without importing a parser, for those who only decode fields.
"""

from __future__ import annotations

SITE = "site"
"""The prefix of the fields that rules for single sites read."""


ITEMS = "items"
"""The prefix of the fields that hold a page's items, one for each kind."""


def is_of_file(name: str) -> bool:
    """Whether a name is that of a file's function, as `folder/file.py:function`."""
    return name.rpartition(":")[0].endswith(".py")


def prefix_of(name: str) -> str:
    """The prefix of the fields of an extractor: the name of its entry point or function."""
    return name.rpartition(":")[2] if is_of_file(name) else name
