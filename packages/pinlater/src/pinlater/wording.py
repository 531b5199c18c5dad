"""Format times, durations and untrusted text for display. All times are UTC."""

from __future__ import annotations

from datetime import UTC, datetime

_UNITS = (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000))


def format_duration(ms: float) -> str:
    """Return a duration in its two largest units: `850 ms`, `12.5 s`, `3 min 20 s`, `2 d 4 h`."""
    rounded_ms = round(ms)
    if abs(rounded_ms) < 1000:
        return f"{rounded_ms} ms"
    if abs(rounded_ms) < 60_000:
        return f"{rounded_ms / 1000:.1f}".removesuffix(".0") + " s"
    sign = "-" if rounded_ms < 0 else ""
    remaining_ms, parts = abs(rounded_ms), list[str]()
    for unit, size_ms in _UNITS:
        if remaining_ms >= size_ms or parts:
            parts.append(f"{remaining_ms // size_ms} {unit}")
            remaining_ms %= size_ms
        if len(parts) == 2:
            break
    return sign + " ".join(part for part in parts if not part.startswith("0 "))


# The last millisecond that datetime can hold.
_MAX_DATETIME_MS = 253_402_300_799_999


def format_time(ms: int) -> str:
    """Return a time as `2026-01-31 08:05:00 UTC`, or the number itself if out of range."""
    if not 0 <= ms <= _MAX_DATETIME_MS:
        return str(ms)
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def format_time_and_distance(ms: int, now_ms: int) -> str:
    """Return a time with its distance from now."""
    return f"{format_time(ms)} ({format_relative_time(ms, now_ms)})"


def format_relative_time(ms: int, now_ms: int) -> str:
    """Return a time relative to now: `in 3 min` or `5 s ago`."""
    difference_ms = ms - now_ms
    return (
        f"in {format_duration(difference_ms)}"
        if difference_ms > 0
        else f"{format_duration(-difference_ms)} ago"
    )


def one_line(text: str, limit: int = 300) -> str:
    """
    Return `text` as one line of at most `limit` characters, without control characters.

    The result is still untrusted: escape it before it becomes HTML.
    """
    prefix = text[: limit + 1]
    line = "".join(c if c.isprintable() else " " for c in prefix)
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
