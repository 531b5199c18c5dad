"""
Parse JSON in property values: `content='[{"@type":"HowToStep","text":"Stir."}]'`.

Some templates write a JSON-LD list or item where a string is expected. Such JSON is used as text
only in prose, such as descriptions.
"""

from __future__ import annotations

import re
from typing import Any

from richpins.structured_data import lenient_json

MAX_CHARS = 200_000

_QUOTE = r"(?:[\"']|&quot;|&#(?:0?34|x22);|\\\")"
_OBJECT_START = re.compile(
    rf"\s{{0,99}}+(?:\[\s{{0,99}}+\{{|\{{\s{{0,99}}+(?:{_QUOTE}|\}}))", re.IGNORECASE
)
_STRING_LIST = re.compile(
    rf"\s{{0,99}}+\[\s{{0,99}}+{_QUOTE}.*\]\s{{0,99}}+", re.IGNORECASE | re.DOTALL
)


def is_json(text: str) -> bool:
    """Return True for a JSON object, the start of one, or a list of strings."""
    if text[:1] not in {"[", "{", " ", "\n", "\t", "\r"}:
        return False
    return _OBJECT_START.match(text) is not None or _STRING_LIST.fullmatch(text) is not None


def parse_values(text: str) -> list[Any]:
    """Return the values in a JSON string; none if it is unreadable or too long."""
    if len(text) > MAX_CHARS:
        return []
    try:
        return lenient_json.loads(text)[0]
    except lenient_json.UnreadableJson:
        return []
