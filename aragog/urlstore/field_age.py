"""
Computes the age of a field's value, and describes it as text. No I/O.

The age of an extracted field is the time since a fetch or a 304 last confirmed its page. The age of
any other field is the time since its value was written.
"""

from __future__ import annotations

from collections.abc import Collection

from aragog.observability.formatting import format_duration
from aragog.urlstore.field_formats import is_extracted
from aragog.urlstore.records import FieldInfo


def comes_from_fetches(name: str, extractors: Collection[str] = ()) -> bool:
    """
    Return True if fetches write the field with this name.

    Args:
        name: the field's name.
        extractors: name prefixes of the operator's own extractors, in addition to the Rich Pin's.
    """
    return is_extracted(name) or name.partition(".")[0] in extractors


def true_at_ms(
    name: str,
    info: FieldInfo | None,
    confirmed_at_ms: int | None,
    extractors: Collection[str] = (),
) -> int | None:
    """
    Return when a field's value was last known to be true; None if unknown.

    Args:
        name: the field's name.
        extractors: as in `comes_from_fetches`.
        info: when the value was written; None if unknown.
        confirmed_at_ms: when the page was last confirmed; None if never.
    """
    instants = [] if info is None else [info.at_ms]
    if confirmed_at_ms is not None and comes_from_fetches(name, extractors):
        instants.append(confirmed_at_ms)
    return max(instants, default=None)


def age_text(
    name: str,
    info: FieldInfo | None,
    confirmed_at_ms: int | None,
    now_ms: int,
    extractors: Collection[str] = (),
) -> str:
    """
    Return a value's source and age as text, such as `from json-ld #1, confirmed 2 h ago`.

    Takes the arguments of `true_at_ms`. For written values, returns text such as `written 3 d ago`.
    Empty if neither source nor age is known. The source is untrusted text.
    """
    at_ms = true_at_ms(name, info, confirmed_at_ms, extractors)
    if at_ms is None:
        return ""
    confirmed = at_ms == confirmed_at_ms and comes_from_fetches(name, extractors)
    source = f"from {info.provenance}, " if info is not None and info.provenance else ""
    verb = "confirmed" if confirmed else "written"
    return f"{source}{verb} {format_duration(max(0, now_ms - at_ms))} ago"
