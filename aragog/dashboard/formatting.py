"""Format times, durations and untrusted text for people. Pure; all times are UTC."""

from __future__ import annotations

from datetime import UTC, datetime

_STEPS = (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000))
# The last millisecond that datetime can hold.
_LAST_MS = 253_402_300_799_999


def span(ms: float) -> str:
    """A duration in its two largest units: `850 ms`, `12.5 s`, `3 min 20 s`, `2 d 4 h`."""
    whole = round(ms)
    if abs(whole) < 1000:
        return f"{whole} ms"
    if abs(whole) < 60_000:
        return f"{whole / 1000:.1f}".removesuffix(".0") + " s"
    sign = "-" if whole < 0 else ""
    left, told = abs(whole), list[str]()
    for unit, size_ms in _STEPS:
        if left >= size_ms or told:
            told.append(f"{left // size_ms} {unit}")
            left %= size_ms
        if len(told) == 2:
            break
    return sign + " ".join(part for part in told if not part.startswith("0 "))


def at(ms: int) -> str:
    """A time: `2026-01-31 08:05:00 UTC`; the number itself if no calendar date exists for it."""
    if not 0 <= ms <= _LAST_MS:
        return str(ms)
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def moment(ms: int, now_ms: int) -> str:
    """A time and its distance from now."""
    away_ms = ms - now_ms
    return f"{at(ms)} ({'in ' if away_ms > 0 else ''}{span(abs(away_ms))}{_ago(away_ms)})"


def _ago(away_ms: int) -> str:
    return "" if away_ms > 0 else " ago"


def plain(text: str, limit: int = 300) -> str:
    """
    Put `text` on one line of at most `limit` characters, without terminal control characters.

    The result is still untrusted: escape it before it becomes HTML.
    """
    cut = text[: limit + 1]
    line = "".join(c if c.isprintable() else " " for c in cut)
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
