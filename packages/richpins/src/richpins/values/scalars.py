"""Parsers of individual raw values. Each returns a typed value or None."""

from __future__ import annotations

import re
from typing import Any

from richpins._plain_text import clean
from richpins.structured_data.graph import Node

MAX_NAMES = 100
MAX_NAME_CHARS = 80
"""Longer text is not the name of a person."""


def text(value: Any) -> str | None:
    """Return one line of text. A node's text is its name."""
    if isinstance(value, Node):
        value = value.first("name", "text", "headline", "value", "title", "url") or value.id
    if isinstance(value, Node):
        value = value.first("name", "text", "value")
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return repr(value)
    return clean(value) or None if isinstance(value, str) else None


def texts(value: Any) -> tuple[str, ...] | None:
    """Return several strings in order, without duplicates."""
    values = value if isinstance(value, list) else [value]
    result = dict.fromkeys(filter(None, map(text, values[: 10 * MAX_NAMES])))
    return tuple(result)[: 10 * MAX_NAMES] or None


def words(value: Any) -> tuple[str, ...] | None:
    """Return strings split at commas or semicolons, such as keywords and categories."""
    values = value if isinstance(value, list) else [value]
    result: dict[str, None] = {}
    for item in values[:MAX_NAMES]:
        joined = text(item)
        for part in re.split(r"[,;|]", joined or ""):
            if part.strip():
                result[part.strip()] = None
    return tuple(result)[:MAX_NAMES] or None


_NOT_A_NAME = re.compile(r"https?://|www\.|^\W*$|^[/#]|\.html?$|^\S+@\S+$")
_BYLINE_PREFIX = re.compile(
    r"^(?:written\s+by|posted\s+by|by|von|par|por|di|door|av)[:\s]\s*", re.IGNORECASE
)


def name(value: Any) -> str | None:
    """Return the name of a person or organization; a URL is rejected."""
    if isinstance(value, Node):
        result = value.first("name", "alternatename", "legalname")
        if result is None:
            given_name, family_name = value.first("givenname"), value.first("familyname")
            result = " ".join(
                filter(None, map(text, (given_name, family_name)))
            ) or _read_role_name(value)
        value = result
    result = text(value)
    if not result or len(result) > 200 or _NOT_A_NAME.search(result):
        return None
    return _BYLINE_PREFIX.sub("", result).strip(" ,;|") or None


def _read_role_name(node: Node) -> str | None:
    """Return the name in a schema.org Role, which nests the value under the same property again."""
    inner = node.first(node.role) if node.role else None
    return text(inner.first("name")) if isinstance(inner, Node) else None


def names(value: Any) -> tuple[str, ...] | None:
    """Return names in order, without duplicates."""
    values = value if isinstance(value, list) else [value]
    return tuple(dict.fromkeys(filter(None, map(name, values[:MAX_NAMES])))) or None


def flag(value: Any) -> bool | None:
    """Return a bool from a bool, a string, or schema.org's True and False."""
    if isinstance(value, bool):
        return value
    word = str(value).rpartition("/")[2].strip().lower() if isinstance(value, str | int) else ""
    return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}.get(word)


_LANGUAGE_TAG = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8}){0,3}")


def language(value: Any) -> str | None:
    """Return the first BCP 47 language tag, as written but with hyphens."""
    if isinstance(value, Node):
        value = value.first("alternatename", "name")
    if not isinstance(value, str):
        return None
    first = re.split(r"[,;\s]", value.strip(), maxsplit=1)[0]
    return first.replace("_", "-") if _LANGUAGE_TAG.fullmatch(first) else None
