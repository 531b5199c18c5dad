"""
The names in `pipeline.extractors`, which are entry points or functions in files.

This module imports no parser, for programs that only decode fields.
"""

from __future__ import annotations

SITE = "site"
"""The prefix of fields from rules for individual sites."""


ITEMS = "items"
"""The prefix of the fields with a page's items, one per kind."""


def is_file_name(name: str) -> bool:
    """Return True if a name refers to a function in a file, such as `folder/file.py:function`."""
    return name.rpartition(":")[0].endswith(".py")


def field_prefix(name: str) -> str:
    """Return the prefix of an extractor's fields: the name of its entry point or function."""
    return name.rpartition(":")[2] if is_file_name(name) else name
