"""The types of the fields that a crawl stores for a page: the Rich Pin and the main text."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from aragog.pages import main_text
from aragog.pages.rules_version import VERSION_FIELD as RULES_VERSION
from richpins.field_types import TEXT, FieldType, extracted_types


@cache
def stored_types() -> Mapping[str, FieldType]:
    """Return the type of each field by name. Imports all page types."""
    versions = main_text.VERSION_FIELD, RULES_VERSION
    texts = dict.fromkeys((*main_text.FIELDS.values(), *versions), TEXT)
    return {**extracted_types(), **texts}
