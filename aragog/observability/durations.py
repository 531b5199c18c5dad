"""Format durations for people. Pure."""

from __future__ import annotations

_STEPS = (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000))


def span(ms: float) -> str:
    """A duration in its two largest units: `850 ms`, `12.5 s`, `3 min 20 s`, `2 d 4 h`."""
    whole = round(ms)
    if abs(whole) < 1000:
        return f"{whole} ms"
    if abs(whole) < 60_000:
        return f"{whole / 1000:.1f}".removesuffix(".0") + " s"
    sign = "-" if whole < 0 else ""
    left, parts = abs(whole), list[str]()
    for unit, size_ms in _STEPS:
        if left >= size_ms or parts:
            parts.append(f"{left // size_ms} {unit}")
            left %= size_ms
        if len(parts) == 2:
            break
    return sign + " ".join(part for part in parts if not part.startswith("0 "))
