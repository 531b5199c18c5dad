"""Format times, in UTC, and untrusted text for display."""

from __future__ import annotations

from datetime import UTC, datetime

# The last millisecond that datetime supports.
_MAX_MS = 253_402_300_799_999


def format_time(ms: int) -> str:
    """Return a time as `2026-01-31 08:05:00 UTC`, or the number if datetime does not support it."""
    if not 0 <= ms <= _MAX_MS:
        return str(ms)
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def format_time_and_distance(ms: int, now_ms: int) -> str:
    """Return a time, and how far it is from now."""
    return f"{format_time(ms)} ({format_distance(ms, now_ms)})"


def format_distance(ms: int, now_ms: int) -> str:
    """Return how far a time is from now, such as `in 3 min` or `5 s ago`."""
    distance_ms = ms - now_ms
    return (
        f"in {format_duration(distance_ms)}"
        if distance_ms > 0
        else f"{format_duration(-distance_ms)} ago"
    )


def to_one_line(text: str, limit: int = 300) -> str:
    """
    Put `text` on one line of at most `limit` characters, without terminal control characters.

    The result is still untrusted. Escape it in HTML.
    """
    start = text[: limit + 1]
    line = "".join(c if c.isprintable() else " " for c in start)
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


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


def pluralize(count: int, noun: str) -> str:
    """Return a count with its noun, such as `1 item` or `2,000 items`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
